#include "lab/action_centric/study.h"

#include <algorithm>
#include <cmath>

#include "quern/base/error.h"
#include "quern/base/rng.h"

namespace quern::lab {
namespace {

constexpr int64_t kAtOnce = 500;  // images, where nothing is learned

template <class T>
void append(std::vector<T>& to, std::span<const T> x) {
  to.insert(to.end(), x.begin(), x.end());
}

std::vector<float> normals(int64_t n, Rng& rng) {
  std::vector<float> v;
  for (int64_t i = 0; i < n; ++i) v.push_back(static_cast<float>(rng.normal()));
  return v;
}

int64_t active_dimensions(const std::vector<float>& mean, int64_t latent) {
  int64_t active = 0;
  const auto n = static_cast<double>(mean.size()) / static_cast<double>(latent);
  for (int64_t j = 0; j < latent; ++j) {
    double sum = 0, square = 0;
    for (auto i = static_cast<size_t>(j); i < mean.size(); i += static_cast<size_t>(latent)) {
      const double m = static_cast<double>(mean[i]);
      sum += m, square += m * m;
    }
    active += square / n - sum / n * (sum / n) > 0.01;
  }
  return active;
}

// Bits: ln q(z|x) − ln mean over all x' of q(z|x'), for the first few hundred images.
double information(const CodedImages& c, int64_t latent) {
  const int64_t n = static_cast<int64_t>(c.mean.size()) / latent, drawn = std::min<int64_t>(n, 500);
  std::vector<double> density(static_cast<size_t>(n));
  double told = 0;
  for (int64_t i = 0; i < drawn; ++i) {
    for (int64_t k = 0; k < n; ++k) {
      double s = 0;
      for (int64_t j = 0; j < latent; ++j) {
        const auto other = static_cast<size_t>(k * latent + j);
        const double lv = static_cast<double>(c.log_variance[other]),
                     d = static_cast<double>(c.z[static_cast<size_t>(i * latent + j)]) -
                         static_cast<double>(c.mean[other]);
        s -= 0.5 * (d * d * std::exp(-lv) + lv);
      }
      density[static_cast<size_t>(k)] = s;
    }
    const double top = *std::max_element(density.begin(), density.end());
    double sum = 0;
    for (double d : density) sum += std::exp(d - top);
    told += density[static_cast<size_t>(i)] - top - std::log(sum / static_cast<double>(n));
  }
  return told / (static_cast<double>(drawn) * std::log(2.0));
}

}  // namespace

void train_code(ImageCode<float>& code, const Images& train, const TrainCode& how) {
  std::vector<float> target, mine;  // what the queries say of the images themselves never changes
  each_image_batch(train, in_order(train.size()), kAtOnce,
                   [&](const std::vector<float>& x, std::span<const int64_t> which) {
                     append(target, std::span<const float>(code.targets(x, static_cast<int64_t>(which.size()))));
                   });
  Rng rng(how.seed, 1u << 20);
  for (int64_t e = 0; e < how.epochs; ++e)
    each_image_batch(train, image_order(train.size(), how.seed, static_cast<uint64_t>(e)), how.batch,
                     [&](const std::vector<float>& x, std::span<const int64_t> which) {
                       const auto n = static_cast<int64_t>(which.size());
                       mine.clear();
                       for (int64_t i : which)
                         append(mine, std::span<const float>(target).subspan(static_cast<size_t>(i * code.answers()),
                                                                             static_cast<size_t>(code.answers())));
                       code.batch(x, n, normals(n * code.shape().latent, rng), mine, BatchPass::loss_and_gradients);
                       code.encoder().step(how.lr);
                       code.decoder().step(how.lr);
                     });
}

CodedImages code_images(ImageCode<float>& code, const Images& images, uint64_t seed) {
  CodedImages out;
  const int64_t L = code.shape().latent;
  constexpr auto kMax = static_cast<float>(kMaxLogVariance);
  Rng rng(seed);
  each_image_batch(
      images, in_order(images.size()), kAtOnce, [&](const std::vector<float>& x, std::span<const int64_t> which) {
        const auto n = static_cast<int64_t>(which.size());
        const std::vector<float> noise = normals(n * L, rng);
        code.batch(x, n, noise, code.targets(x, n), BatchPass::loss);
        out.bits += code.nats() / std::log(2.0) * static_cast<double>(n) / static_cast<double>(images.size());
        for (int64_t r = 0; r < n; ++r)
          for (int64_t j = 0; j < L; ++j) {
            const float mean = code.code()[static_cast<size_t>(r * 2 * L + j)],
                        lv = std::clamp(code.code()[static_cast<size_t>(r * 2 * L + L + j)], -kMax, kMax);
            out.mean.push_back(mean), out.log_variance.push_back(lv);
            out.z.push_back(mean + std::exp(lv / 2) * noise[static_cast<size_t>(r * L + j)]);
          }
        append(out.image, code.image());
        append(out.answer, code.answer());
      });
  return out;
}

double answer_accuracy(Query<float>& query, std::span<const float> pictures, const Images& truth) {
  QUERN_CHECK(static_cast<int64_t>(pictures.size()) == truth.size() * truth.pixels);
  Images seen = truth;
  seen.x.assign(pictures.begin(), pictures.end());
  return query_accuracy(query, seen);
}

CodeFigures measure_code(const CodedImages& c, int64_t latent, Query<float>& query, const Images& test) {
  CodeFigures f{.bits = c.bits, .information = information(c, latent)};
  f.active = active_dimensions(c.mean, latent);
  const double n = static_cast<double>(test.size());
  if (c.image.empty()) {
    for (int64_t i = 0; i < test.size(); ++i)
      f.accuracy += largest_of_row(c.answer, i, test.classes) == test.label[static_cast<size_t>(i)];
    f.accuracy /= n;
    return f;
  }
  f.accuracy = answer_accuracy(query, c.image, test);
  for (size_t i = 0; i < test.x.size(); ++i) {
    const double d = static_cast<double>(c.image[i] - test.x[i]);
    f.squared_error += d * d / n;
  }
  return f;
}

}  // namespace quern::lab
