#include "quern/learn/action_centric/vae.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "quern/base/error.h"
#include "quern/base/rng.h"

namespace quern {
namespace {

constexpr const char* kNames[] = {"reconstruction", "action", "bottleneck"};
constexpr double kMostLogVariance = 8;

std::vector<int64_t> widths(int64_t in, int64_t hidden, int64_t layers, int64_t out) {
  std::vector<int64_t> w{in};
  w.insert(w.end(), static_cast<size_t>(layers), hidden);
  w.push_back(out);
  return w;
}

// Rows of k logits to log probabilities, in place.
template <class T>
void log_softmax(std::span<T> x, int64_t k) {
  for (size_t at = 0; at < x.size(); at += static_cast<size_t>(k)) {
    const std::span<T> row = x.subspan(at, static_cast<size_t>(k));
    const T top = *std::max_element(row.begin(), row.end());
    T sum = 0;
    for (T v : row) sum += std::exp(v - top);
    for (T& v : row) v -= top + std::log(sum);
  }
}

template <class T>
int64_t largest(std::span<const T> x, int64_t row, int64_t k) {
  const auto at = x.begin() + row * k;
  return std::max_element(at, at + k) - at;
}

std::vector<int64_t> shuffled(int64_t n, uint64_t seed, uint64_t epoch) {
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  Rng rng(seed, epoch);
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[rng.below(i)]);
  return order;
}

// f(first, rows' pixels, which images) for every batch of an epoch.
template <class F>
void each_batch(const Images& images, const std::vector<int64_t>& order, int64_t batch, F&& f) {
  std::vector<float> x;
  for (int64_t at = 0; at < images.size(); at += batch) {
    const std::span<const int64_t> which =
        std::span(order).subspan(static_cast<size_t>(at), static_cast<size_t>(std::min(batch, images.size() - at)));
    x.clear();
    for (int64_t i : which)
      x.insert(x.end(), images.x.begin() + i * images.pixels, images.x.begin() + (i + 1) * images.pixels);
    f(x, which);
  }
}

}  // namespace

CodeLoss parse_code_loss(const std::string& name) {
  for (int i = 0; i < 3; ++i)
    if (name == kNames[i]) return static_cast<CodeLoss>(i);
  fail("loss '{}': expected {}", name, fmt::join(kNames, ", "));
}
const char* code_loss_name(CodeLoss l) { return kNames[static_cast<size_t>(l)]; }

template <class T>
ImageCode<T>::ImageCode(CodeShape s, CodeLoss loss, double beta, Mlp<T>* query, uint64_t seed)
    : shape_(s),
      loss_(loss),
      beta_(beta),
      query_(query),
      encoder_(widths(s.pixels, s.hidden, s.layers, 2 * s.latent), mix64(seed)),
      decoder_(loss == CodeLoss::bottleneck ? std::vector<int64_t>{s.latent, s.classes}
                                            : widths(s.latent, s.hidden, s.layers, s.pixels),
               mix64(seed + 1)) {
  QUERN_CHECK(loss == CodeLoss::reconstruction || query, "{} needs a query network", code_loss_name(loss));
  if (!(beta >= 0)) fail("beta {}: expected 0 or more", beta);
}

template <class T>
double ImageCode<T>::batch(std::span<const T> x, int64_t n, std::span<const T> noise, bool learn) {
  const int64_t L = shape_.latent, K = shape_.classes;
  const auto codes = static_cast<size_t>(n * L);
  QUERN_CHECK(noise.size() == codes);
  if (loss_ != CodeLoss::reconstruction) {
    const std::span<const T> logits = query_->forward(x, n);
    target_.assign(logits.begin(), logits.end());
    log_softmax(std::span<T>(target_), K);
    for (T& t : target_) t = std::exp(t);
  }
  const std::span<const T> h = encoder_.forward(x, n);  // μ and log σ² of a row side by side
  auto clamped = [&](int64_t r, int64_t j) {
    return std::clamp(h[static_cast<size_t>(r * 2 * L + L + j)], static_cast<T>(-kMostLogVariance),
                      static_cast<T>(kMostLogVariance));
  };
  z_.resize(codes), mean_.resize(codes);
  double kl = 0;
  for (int64_t r = 0; r < n; ++r)
    for (int64_t j = 0; j < L; ++j) {
      const T mu = h[static_cast<size_t>(r * 2 * L + j)], lv = clamped(r, j);
      const auto at = static_cast<size_t>(r * L + j);
      mean_[at] = mu;
      z_[at] = mu + std::exp(lv / 2) * noise[at];
      kl += 0.5 * static_cast<double>(mu * mu + std::exp(lv) - 1 - lv);
    }
  nats_ = kl / static_cast<double>(n);
  const std::span<const T> y = decoder_.forward(z_, n);
  gy_.assign(y.size(), T(0));
  double lost = 0;
  if (loss_ == CodeLoss::bottleneck) {
    image_.clear();
    answer_.assign(y.begin(), y.end());
  } else {
    image_.resize(y.size());
    for (size_t i = 0; i < y.size(); ++i) image_[i] = 1 / (1 + std::exp(-y[i]));
  }
  if (loss_ == CodeLoss::reconstruction) {
    for (size_t i = 0; i < y.size(); ++i) {  // ln(1 + e^y) − x·y, without overflow
      lost += static_cast<double>(std::max(y[i], T(0)) + std::log1p(std::exp(-std::abs(y[i]))) - x[i] * y[i]);
      gy_[i] = image_[i] - x[i];
    }
    answer_.clear();
  } else {
    if (loss_ == CodeLoss::action) {
      const std::span<const T> logits = query_->forward(image_, n);
      answer_.assign(logits.begin(), logits.end());
    }
    log_softmax(std::span<T>(answer_), K);
    std::vector<T> g(answer_.size());
    for (size_t i = 0; i < answer_.size(); ++i) {
      lost -= static_cast<double>(target_[i] * answer_[i]);
      g[i] = std::exp(answer_[i]) - target_[i];
    }
    if (loss_ == CodeLoss::bottleneck) {
      gy_ = g;
    } else if (learn) {
      const std::span<const T> gi = query_->backward(g, true);
      for (size_t i = 0; i < gi.size(); ++i) gy_[i] = gi[i] * image_[i] * (1 - image_[i]);
    }
  }
  const double rows = static_cast<double>(n);
  if (!learn) return lost / rows + beta_ * nats_;
  const T mean = static_cast<T>(1 / rows), price = static_cast<T>(beta_ / rows);
  for (T& g : gy_) g *= mean;
  const std::span<const T> gz = decoder_.backward(gy_);
  gh_.assign(static_cast<size_t>(n * 2 * L), T(0));
  for (int64_t r = 0; r < n; ++r)
    for (int64_t j = 0; j < L; ++j) {
      const auto at = static_cast<size_t>(r * L + j), m = static_cast<size_t>(r * 2 * L + j),
                 s = m + static_cast<size_t>(L);
      const T lv = clamped(r, j), sigma = std::exp(lv / 2);
      gh_[m] = gz[at] + price * h[m];
      if (h[s] == lv) gh_[s] = gz[at] * noise[at] * sigma / 2 + price * (sigma * sigma - 1) / 2;
    }
  encoder_.backward(gh_);
  return lost / rows + beta_ * nats_;
}

template class ImageCode<float>;
template class ImageCode<double>;

Mlp<float> train_query(const Images& train, std::vector<int64_t> hidden, const TrainCode& how) {
  hidden.insert(hidden.begin(), train.pixels);
  hidden.push_back(train.classes);
  Mlp<float> query(hidden, how.seed);
  for (int64_t e = 0; e < how.epochs; ++e)
    each_batch(train, shuffled(train.size(), how.seed, static_cast<uint64_t>(e)), how.batch,
               [&](const std::vector<float>& x, std::span<const int64_t> which) {
                 const auto n = static_cast<int64_t>(which.size());
                 const std::span<const float> y = query.forward(x, n);
                 std::vector<float> g(y.begin(), y.end());
                 log_softmax(std::span<float>(g), train.classes);
                 for (float& v : g) v = std::exp(v) / static_cast<float>(n);
                 for (size_t i = 0; i < which.size(); ++i)
                   g[i * static_cast<size_t>(train.classes) +
                     static_cast<size_t>(train.label[static_cast<size_t>(which[i])])] -= 1 / static_cast<float>(n);
                 query.backward(g);
                 query.step(how.lr);
               });
  return query;
}

double query_accuracy(Mlp<float>& query, const Images& images) {
  const std::span<const float> y = query.forward(images.x, images.size());
  int64_t right = 0;
  for (int64_t i = 0; i < images.size(); ++i)
    right += largest(y, i, images.classes) == images.label[static_cast<size_t>(i)];
  return static_cast<double>(right) / static_cast<double>(images.size());
}

void train_code(ImageCode<float>& code, const Images& train, const TrainCode& how) {
  std::vector<float> noise;
  Rng rng(how.seed, 1u << 20);
  for (int64_t e = 0; e < how.epochs; ++e)
    each_batch(train, shuffled(train.size(), how.seed, static_cast<uint64_t>(e)), how.batch,
               [&](const std::vector<float>& x, std::span<const int64_t> which) {
                 const auto n = static_cast<int64_t>(which.size());
                 noise.clear();
                 for (int64_t i = 0; i < n * code.shape().latent; ++i)
                   noise.push_back(static_cast<float>(rng.normal()));
                 code.batch(x, n, noise, true);
                 code.encoder().step(how.lr);
                 code.decoder().step(how.lr);
               });
}

CodeFigures measure_code(ImageCode<float>& code, Mlp<float>& query, const Images& test, uint64_t seed) {
  const int64_t n = test.size(), L = code.shape().latent;
  Rng rng(seed);
  std::vector<float> noise;
  for (int64_t i = 0; i < n * L; ++i) noise.push_back(static_cast<float>(rng.normal()));
  code.batch(test.x, n, noise, false);
  CodeFigures f{.bits = code.nats() / std::log(2.0)};
  const std::vector<float> h = [&] {
    const std::span<const float> s = code.encoder().forward(test.x, n);
    return std::vector<float>(s.begin(), s.end());
  }();
  auto log_variance = [&](int64_t i, int64_t j) {
    return std::clamp(static_cast<double>(h[static_cast<size_t>(i * 2 * L + L + j)]), -kMostLogVariance,
                      kMostLogVariance);
  };
  for (int64_t j = 0; j < L; ++j) {
    double sum = 0, square = 0;
    for (int64_t i = 0; i < n; ++i) {
      const double m = static_cast<double>(h[static_cast<size_t>(i * 2 * L + j)]);
      sum += m, square += m * m;
    }
    const double mean = sum / static_cast<double>(n);
    f.active += square / static_cast<double>(n) - mean * mean > 0.01;
  }
  // ln q(z|x) − ln mean over all x' of q(z|x'), for the first few hundred images.
  const int64_t drawn = std::min<int64_t>(n, 500);
  std::vector<double> density(static_cast<size_t>(n));
  for (int64_t i = 0; i < drawn; ++i) {
    for (int64_t k = 0; k < n; ++k) {
      double s = 0;
      for (int64_t j = 0; j < L; ++j) {
        const double lv = log_variance(i, j),
                     z = static_cast<double>(h[static_cast<size_t>(i * 2 * L + j)]) +
                         std::exp(lv / 2) * static_cast<double>(noise[static_cast<size_t>(i * L + j)]),
                     other = log_variance(k, j), d = z - static_cast<double>(h[static_cast<size_t>(k * 2 * L + j)]);
        s -= 0.5 * (d * d * std::exp(-other) + other);
      }
      density[static_cast<size_t>(k)] = s;
    }
    const double top = *std::max_element(density.begin(), density.end());
    double sum = 0;
    for (double d : density) sum += std::exp(d - top);
    f.information += density[static_cast<size_t>(i)] - top - std::log(sum / static_cast<double>(n));
  }
  f.information /= static_cast<double>(drawn) * std::log(2.0);
  std::vector<float> answer(code.answer().begin(), code.answer().end());
  if (code.loss() != CodeLoss::bottleneck) {
    const std::span<const float> y = query.forward(code.image(), n);
    answer.assign(y.begin(), y.end());
    for (size_t i = 0; i < test.x.size(); ++i) {
      const double d = static_cast<double>(code.image()[i] - test.x[i]);
      f.squared_error += d * d;
    }
    f.squared_error /= static_cast<double>(n);
  }
  for (int64_t i = 0; i < n; ++i)
    f.accuracy += largest(std::span<const float>(answer), i, test.classes) == test.label[static_cast<size_t>(i)];
  f.accuracy /= static_cast<double>(n);
  return f;
}

}  // namespace quern
