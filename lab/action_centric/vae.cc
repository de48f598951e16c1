#include "lab/action_centric/vae.h"

#include <algorithm>
#include <cmath>

#include "quern/base/error.h"
#include "quern/base/rng.h"

namespace quern::lab {
namespace {

constexpr const char* kNames[] = {"reconstruction", "action", "bottleneck"};

std::vector<int64_t> widths(int64_t in, int64_t hidden, int64_t layers, int64_t out) {
  std::vector<int64_t> w{in};
  w.insert(w.end(), static_cast<size_t>(layers), hidden);
  w.push_back(out);
  return w;
}

template <class T>
std::vector<int64_t> decoder_widths(const CodeShape& s, CodeLoss loss, const std::vector<Question<T>>& questions) {
  if (loss != CodeLoss::bottleneck) return widths(s.latent, s.hidden, s.layers, s.pixels);
  QUERN_CHECK(questions.size() == 1, "a bottleneck answers one question, not {}", questions.size());
  return {s.latent, questions[0].query->classes()};
}

}  // namespace

CodeLoss parse_code_loss(const std::string& name) {
  for (int i = 0; i < 3; ++i)
    if (name == kNames[i]) return static_cast<CodeLoss>(i);
  fail("loss '{}': expected {}", name, fmt::join(kNames, ", "));
}
const char* code_loss_name(CodeLoss l) { return kNames[static_cast<size_t>(l)]; }

template <class T>
ImageCode<T>::ImageCode(CodeShape s, CodeLoss loss, double beta, std::vector<Question<T>> questions, uint64_t seed)
    : shape_(s),
      loss_(loss),
      beta_(beta),
      questions_(std::move(questions)),
      encoder_(widths(s.pixels, s.hidden, s.layers, 2 * s.latent), mix64(seed)),
      decoder_(decoder_widths(s, loss, questions_), mix64(seed + 1)) {
  QUERN_CHECK(loss == CodeLoss::reconstruction || !questions_.empty(), "{} needs a query", code_loss_name(loss));
  if (loss == CodeLoss::reconstruction) questions_.clear();
  if (!(beta >= 0)) fail("beta {}: expected 0 or more", beta);
}

template <class T>
int64_t ImageCode<T>::answers() const {
  int64_t n = 0;
  for (const Question<T>& q : questions_) n += q.query->classes();
  return n;
}

template <class T>
std::vector<T> ImageCode<T>::targets(std::span<const T> x, int64_t n) {
  const int64_t all = answers();
  std::vector<T> out(static_cast<size_t>(n * all));
  int64_t at = 0;
  for (const Question<T>& q : questions_) {
    const std::span<const T> logits = q.query->forward(x, n);
    std::vector<T> p(logits.begin(), logits.end());
    const int64_t k = q.query->classes();
    log_softmax_rows(std::span<T>(p), k);
    for (int64_t r = 0; r < n; ++r)
      for (int64_t j = 0; j < k; ++j)
        out[static_cast<size_t>(r * all + at + j)] = std::exp(p[static_cast<size_t>(r * k + j)]);
    at += k;
  }
  return out;
}

template <class T>
void ImageCode<T>::decode(std::span<const T> y) {
  image_.clear(), answer_.clear();
  if (loss_ == CodeLoss::bottleneck) {
    answer_.assign(y.begin(), y.end());
    log_softmax_rows(std::span<T>(answer_), questions_[0].query->classes());
  } else {
    for (const T v : y) image_.push_back(1 / (1 + std::exp(-v)));
  }
}

template <class T>
double ImageCode<T>::lost(std::span<const T> x, int64_t n, std::span<const T> y, std::span<const T> target,
                          BatchPass pass) {
  double sum = 0;
  gy_.assign(y.size(), T(0));
  if (loss_ == CodeLoss::reconstruction) {
    for (size_t i = 0; i < y.size(); ++i) {  // ln(1 + e^y) − x·y, without overflow
      sum += static_cast<double>(std::max(y[i], T(0)) + std::log1p(std::exp(-std::abs(y[i]))) - x[i] * y[i]);
      gy_[i] = image_[i] - x[i];
    }
    return sum;
  }
  const int64_t all = answers();
  std::vector<T> said, g;
  int64_t at = 0;
  for (const Question<T>& q : questions_) {
    const int64_t k = q.query->classes();
    if (loss_ == CodeLoss::bottleneck) {
      said = answer_;
    } else {
      const std::span<const T> logits = q.query->forward(image_, n);
      said.assign(logits.begin(), logits.end());
      log_softmax_rows(std::span<T>(said), k);
    }
    g.resize(said.size());
    for (int64_t r = 0; r < n; ++r)
      for (int64_t j = 0; j < k; ++j) {
        const auto i = static_cast<size_t>(r * k + j);
        const T t = target[static_cast<size_t>(r * all + at + j)];
        sum -= q.weight * static_cast<double>(t * said[i]);
        g[i] = static_cast<T>(q.weight) * (std::exp(said[i]) - t);
      }
    at += k;
    if (loss_ == CodeLoss::bottleneck) {
      gy_ = g;
    } else if (pass == BatchPass::loss_and_gradients) {
      const std::span<const T> gi = q.query->backward(g, WeightGradients::frozen);
      for (size_t i = 0; i < gi.size(); ++i) gy_[i] += gi[i] * image_[i] * (1 - image_[i]);
    }
  }
  return sum;
}

template <class T>
double ImageCode<T>::batch(std::span<const T> x, int64_t n, std::span<const T> noise, std::span<const T> target,
                           BatchPass pass) {
  const int64_t L = shape_.latent;
  const auto codes = static_cast<size_t>(n * L);
  QUERN_CHECK(noise.size() == codes && static_cast<int64_t>(target.size()) == n * answers());
  const std::span<const T> h = encoder_.forward(x, n);
  code_.assign(h.begin(), h.end());
  auto clamped = [&](int64_t r, int64_t j) {
    return std::clamp(code_[static_cast<size_t>(r * 2 * L + L + j)], static_cast<T>(-kMaxLogVariance),
                      static_cast<T>(kMaxLogVariance));
  };
  z_.resize(codes);
  double kl = 0;
  for (int64_t r = 0; r < n; ++r)
    for (int64_t j = 0; j < L; ++j) {
      const T mu = code_[static_cast<size_t>(r * 2 * L + j)], lv = clamped(r, j);
      const auto at = static_cast<size_t>(r * L + j);
      z_[at] = mu + std::exp(lv / 2) * noise[at];
      kl += 0.5 * static_cast<double>(mu * mu + std::exp(lv) - 1 - lv);
    }
  nats_ = kl / static_cast<double>(n);
  const std::span<const T> y = decoder_.forward(z_, n);
  decode(y);
  const double rows = static_cast<double>(n), loss = lost(x, n, y, target, pass) / rows + beta_ * nats_;
  if (pass == BatchPass::loss) return loss;
  const T mean = static_cast<T>(1 / rows), price = static_cast<T>(beta_ / rows);
  for (T& g : gy_) g *= mean;
  const std::span<const T> gz = decoder_.backward(gy_);
  gh_.assign(static_cast<size_t>(n * 2 * L), T(0));
  for (int64_t r = 0; r < n; ++r)
    for (int64_t j = 0; j < L; ++j) {
      const auto at = static_cast<size_t>(r * L + j), m = static_cast<size_t>(r * 2 * L + j),
                 s = m + static_cast<size_t>(L);
      const T lv = clamped(r, j), sigma = std::exp(lv / 2);
      gh_[m] = gz[at] + price * code_[m];
      if (code_[s] == lv) gh_[s] = gz[at] * noise[at] * sigma / 2 + price * (sigma * sigma - 1) / 2;
    }
  encoder_.backward(gh_);
  return loss;
}

template class ImageCode<float>;
template class ImageCode<double>;

}  // namespace quern::lab
