#include "quern/corpus/language/ngram_training.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "quern/base/error.h"
#include "quern/base/rng.h"
#include "quern/corpus/language/letters.h"
#include "quern/data/shuffle.h"

namespace quern::corpus {
namespace {

// The float twin of a classifier while it learns.
class NgramLearner {
 public:
  NgramLearner(const NgramShape& shape, size_t labels, const NgramTraining& t)
      : shape_(shape),
        width_(static_cast<size_t>(shape.width)),
        rows((width_ << shape.bits)),
        weights(labels * width_),
        bias(labels),
        row_squares_(size_t{1} << shape.bits, 1e-8f),
        weight_squares_(labels, 1e-8f),
        x_(width_),
        slope_(width_),
        z_(labels) {
    Rng random(t.seed, 1);
    for (float& r : rows) r = static_cast<float>((random.uniform() - 0.5) / static_cast<double>(width_));
    for (float& w : weights) w = static_cast<float>((random.uniform() - 0.5) / 2);
  }
  void step(std::span<const uint16_t> letters, size_t label, float rate) {
    ngram_buckets(letters, shape_, buckets_);
    if (buckets_.empty()) return;
    std::fill(x_.begin(), x_.end(), 0.f);
    for (uint32_t b : buckets_)
      for (size_t k = 0; k < width_; ++k) x_[k] += rows[b * width_ + k];
    const float mean = 1 / static_cast<float>(buckets_.size());
    for (float& x : x_) x *= mean;
    forward(label);
    backward(rate);
    float square = 0;
    for (float s : slope_) square += s * s;
    square /= static_cast<float>(width_);
    for (uint32_t b : buckets_) {
      row_squares_[b] += square * mean;
      const float step = rate * mean / std::sqrt(row_squares_[b]);
      for (size_t k = 0; k < width_; ++k) rows[b * width_ + k] -= step * slope_[k];
    }
  }

 private:
  void forward(size_t label) {
    float most = -INFINITY, total = 0;
    for (size_t l = 0; l < z_.size(); ++l) {
      float z = bias[l];
      for (size_t k = 0; k < width_; ++k) z += weights[l * width_ + k] * x_[k];
      z_[l] = z, most = std::max(most, z);
    }
    for (float& z : z_) total += z = std::exp(z - most);
    for (float& z : z_) z /= total;
    z_[label] -= 1;  // now the slope of the loss
  }
  void backward(float rate) {
    std::fill(slope_.begin(), slope_.end(), 0.f);
    float squares = 0;
    for (float x : x_) squares += x * x;
    for (size_t l = 0; l < z_.size(); ++l) {
      const float g = z_[l];
      if (std::abs(g) < 1e-6f) continue;
      weight_squares_[l] += g * g * (squares / static_cast<float>(width_) + 1e-3f);
      const float step = rate * g / std::sqrt(weight_squares_[l]);
      for (size_t k = 0; k < width_; ++k) {
        slope_[k] += g * weights[l * width_ + k];
        weights[l * width_ + k] -= step * x_[k];
      }
      bias[l] -= 0.1f * step;
    }
  }

  NgramShape shape_;
  size_t width_;

 public:
  std::vector<float> rows, weights, bias;

 private:
  std::vector<float> row_squares_, weight_squares_, x_, slope_, z_;
  std::vector<uint32_t> buckets_;
};

float scale_of(const std::vector<float>& rows) {
  std::vector<float> sizes(rows.size());
  std::transform(rows.begin(), rows.end(), sizes.begin(), [](float r) { return std::abs(r); });
  const size_t at = sizes.size() - 1 - sizes.size() / 10000;
  std::nth_element(sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(at), sizes.end());
  return std::max(sizes[at], 1e-12f) / 127;
}

}  // namespace

NgramTrainer::Label& NgramTrainer::label(const std::string& name) {
  const auto at = std::ranges::find(labels_, name, &Label::name);
  if (at != labels_.end()) return *at;
  labels_.push_back({name, {}, {0}});
  return labels_.back();
}

void NgramTrainer::add(std::string_view utf8, const std::string& name) {
  read_letters(utf8, scratch_);
  if (scratch_.empty()) return;
  Label& l = label(name);
  l.letters.insert(l.letters.end(), scratch_.begin(), scratch_.end());
  l.begin.push_back(l.letters.size());
}

NgramClassifier NgramTrainer::train(size_t least, const std::function<void(uint64_t, uint64_t)>& progress) {
  std::ranges::sort(labels_, {}, &Label::name);
  std::erase_if(labels_, [&](const Label& l) {
    const bool few = l.begin.size() - 1 < least;
    if (few) left_out_.push_back(l.name);
    return few;
  });
  if (labels_.size() < 2) fail("{} labels with at least {} texts: expected 2 or more", labels_.size(), least);
  const size_t n = labels_.size();
  NgramLearner learner(t_.shape, n, t_);
  const auto pieces = static_cast<uint64_t>(t_.pieces), all = pieces * n * static_cast<uint64_t>(t_.passes);
  Rng random(t_.seed, 2);
  const double ratio = std::log(static_cast<double>(t_.longest) / t_.shortest);
  uint64_t done = 0;
  for (int pass = 0; pass < t_.passes; ++pass) {
    const data::Permutation order(pieces * n, t_.seed, static_cast<uint64_t>(pass));
    for (uint64_t i = 0; i < pieces * n; ++i, ++done) {
      if (progress && done % 1024 == 0) progress(done, all);
      const uint64_t which = order(i), l = which % n;
      const Label& from = labels_[l];
      const uint64_t texts = from.begin.size() - 1, turn = (which / n + static_cast<uint64_t>(pass) * pieces) % texts;
      const uint64_t begin = from.begin[turn], size = from.begin[turn + 1] - begin;
      const auto wanted = static_cast<uint64_t>(t_.shortest * std::exp(ratio * random.uniform()));
      const uint64_t length = std::min(size, wanted), at = begin + random.below(size - length + 1);
      const double rate = t_.rate * (1 - static_cast<double>(done) / static_cast<double>(all));
      learner.step(std::span(from.letters).subspan(at, length), l, static_cast<float>(rate));
    }
  }
  NgramClassifier c;
  c.shape_ = t_.shape;
  for (const Label& l : labels_) c.labels_.push_back(l.name);
  c.scale_ = scale_of(learner.rows);
  for (float r : learner.rows)
    c.rows_.push_back(static_cast<int8_t>(std::lround(std::clamp(r / c.scale_, -127.f, 127.f))));
  c.weights_ = learner.weights, c.bias_ = learner.bias;
  c.set_columns();
  return c;
}

}  // namespace quern::corpus
