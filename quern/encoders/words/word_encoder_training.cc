#include "quern/encoders/words/word_encoder_training.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "quern/base/error.h"
#include "quern/base/rng.h"
#include "quern/data/shuffle.h"
#include "quern/kernels/gemm/gemm.h"

namespace quern::encoders {
namespace {

constexpr float kFirstSquare = 1e-4f;  // of AdaGrad's accumulators
constexpr float kNone = 1e-12f;

using Words = std::span<const uint32_t>;

// One side of a batch: the unit vectors of its texts, and what the loss says about them.
struct Side {
  Tensor vectors, slopes;
  std::vector<float> lengths;
  std::vector<Words> words;
  Side(int64_t n, int64_t width)
      : vectors(Tensor::zeros({n, width}, DType::f32)),
        slopes(Tensor::zeros({n, width}, DType::f32)),
        lengths(static_cast<size_t>(n)),
        words(static_cast<size_t>(n)) {}
};

class Learner {
 public:
  Learner(const WordEncoderTraining& t, const std::vector<float>& weights)
      : t_(t),
        width_(static_cast<size_t>(t.width)),
        rows(weights.size() * width_),
        squares_(rows.size(), kFirstSquare),
        a_(t.batch, t.width),
        b_(t.batch, t.width),
        likeness_(Tensor::zeros({t.batch, t.batch}, DType::f32)) {
    Rng random(t.seed, 1);
    const double scale = 1 / std::sqrt(static_cast<double>(width_));
    for (size_t i = 0; i < rows.size(); ++i)
      rows[i] = static_cast<float>(random.normal() * scale) * weights[i / width_];
  }

  void put(size_t i, Words first, Words second) { a_.words[i] = first, b_.words[i] = second; }

  double step(float rate) {
    embed(a_), embed(b_);
    kernels::gemm<float>(a_.vectors.view<const float, 2>(), b_.vectors.view<const float, 2>(),
                         likeness_.view<float, 2>(), {.trans_b = true});
    const double loss = slope_of_loss();
    kernels::gemm<float>(likeness_.view<const float, 2>(), b_.vectors.view<const float, 2>(),
                         a_.slopes.view<float, 2>());
    kernels::gemm<float>(likeness_.view<const float, 2>(), a_.vectors.view<const float, 2>(),
                         b_.slopes.view<float, 2>(), {.trans_a = true});
    learn(a_, rate), learn(b_, rate);
    return loss;
  }

 private:
  void embed(Side& s) {
    for (size_t i = 0; i < s.words.size(); ++i) {
      float* v = s.vectors.data<float>() + i * width_;
      std::fill_n(v, width_, 0.f);
      for (const uint32_t w : s.words[i])
        for (size_t k = 0; k < width_; ++k) v[k] += rows[w * width_ + k];
      float square = kNone;
      for (size_t k = 0; k < width_; ++k) square += v[k] * v[k];
      s.lengths[i] = std::sqrt(square);
      for (size_t k = 0; k < width_; ++k) v[k] /= s.lengths[i];
    }
  }

  // Turns the products into the loss's slope by them.
  double slope_of_loss() {
    const auto n = static_cast<size_t>(t_.batch);
    float* s = likeness_.data<float>();
    const auto heat = static_cast<float>(1 / t_.temperature);
    for (size_t i = 0; i < n * n; ++i) s[i] = std::exp((s[i] - 1) * heat);
    by_row_.assign(n, 0), by_column_.assign(n, 0);
    for (size_t i = 0; i < n; ++i)
      for (size_t j = 0; j < n; ++j) by_row_[i] += s[i * n + j], by_column_[j] += s[i * n + j];
    double loss = 0;
    for (size_t i = 0; i < n; ++i)
      loss -= 0.5 * (2 * std::log(std::max(s[i * n + i], kNone)) - std::log(by_row_[i]) - std::log(by_column_[i]));
    for (float& x : by_row_) x = 1 / x;
    for (float& x : by_column_) x = 1 / x;
    const float each = 0.5f * heat / static_cast<float>(n);
    for (size_t i = 0; i < n; ++i) {
      for (size_t j = 0; j < n; ++j) s[i * n + j] *= each * (by_row_[i] + by_column_[j]);
      s[i * n + i] -= 2 * each;
    }
    return loss / static_cast<double>(n);
  }

  void learn(const Side& s, float rate) {
    slope_.resize(width_);
    for (size_t i = 0; i < s.words.size(); ++i) {
      const float* v = s.vectors.data<float>() + i * width_;
      const float* g = s.slopes.data<float>() + i * width_;
      float along = 0;
      for (size_t k = 0; k < width_; ++k) along += g[k] * v[k];
      for (size_t k = 0; k < width_; ++k)
        slope_[k] = (g[k] - along * v[k]) * static_cast<float>(t_.batch) / s.lengths[i];
      for (const uint32_t w : s.words[i])
        for (size_t k = 0; k < width_; ++k) {
          float& square = squares_[w * width_ + k];
          square += slope_[k] * slope_[k];
          rows[w * width_ + k] -= rate * slope_[k] / std::sqrt(square);
        }
    }
  }

  const WordEncoderTraining& t_;
  size_t width_;

 public:
  std::vector<float> rows;

 private:
  std::vector<float> squares_, by_row_, by_column_, slope_;
  Side a_, b_;
  Tensor likeness_;
};

// The pairs of one pass: runs of pairs of one group, all of them shuffled.
std::vector<uint32_t> order_of(const std::vector<std::vector<uint32_t>>& groups, uint64_t pass,
                               const WordEncoderTraining& t) {
  std::vector<std::vector<uint32_t>> runs;
  for (size_t g = 0; g < groups.size(); ++g) {
    if (groups[g].empty()) continue;
    const data::Permutation inside(groups[g].size(), t.seed, pass << 32 | (g + 1));
    for (uint64_t i = 0; i < groups[g].size(); ++i) {
      if (i % static_cast<uint64_t>(t.together) == 0) runs.emplace_back();
      runs.back().push_back(groups[g][inside(i)]);
    }
  }
  const data::Permutation among(runs.size(), t.seed, pass << 32);
  std::vector<uint32_t> out;
  for (uint64_t i = 0; i < runs.size(); ++i) {
    const std::vector<uint32_t>& run = runs[among(i)];
    out.insert(out.end(), run.begin(), run.end());
  }
  return out;
}

}  // namespace

uint32_t WordEncoderTrainer::number(std::string_view word) {
  const uint64_t raw = recall::word_key(word);
  if (const uint32_t known = as_written_.find(raw); known != recall::KeyMap::kNone) return known;
  std::string form = recall::normal_form(word, word_encoder_tokens());
  if (form.empty()) return as_written_.insert(raw, kDropped);
  const uint32_t n = stems_.insert(recall::word_key(form), static_cast<uint32_t>(words_.size()));
  if (n == words_.size()) words_.push_back(std::move(form)), texts_with_.push_back(0);
  return as_written_.insert(raw, n);
}

void WordEncoderTrainer::add_text(std::string_view text) {
  begin_.push_back(in_texts_.size());
  const auto from = static_cast<std::ptrdiff_t>(in_texts_.size());
  recall::for_each_word(text, [&](size_t b, size_t e) {
    if (const uint32_t n = number(text.substr(b, e - b)); n != kDropped) in_texts_.push_back(n);
  });
  std::sort(in_texts_.begin() + from, in_texts_.end());
  in_texts_.erase(std::unique(in_texts_.begin() + from, in_texts_.end()), in_texts_.end());
  for (size_t i = static_cast<size_t>(from); i < in_texts_.size(); ++i) ++texts_with_[in_texts_[i]];
}

void WordEncoderTrainer::add(std::string_view first, std::string_view second, std::string_view group) {
  add_text(first), add_text(second);
  groups_.push_back(numbers_.try_emplace(std::string(group), static_cast<uint32_t>(numbers_.size())).first->second);
}

WordEncoder WordEncoderTrainer::train(const std::function<void(const Progress&)>& progress) {
  std::vector<uint32_t> kept(words_.size());
  std::iota(kept.begin(), kept.end(), 0u);
  std::sort(kept.begin(), kept.end(), [&](uint32_t x, uint32_t y) {
    return texts_with_[x] != texts_with_[y] ? texts_with_[x] > texts_with_[y] : words_[x] < words_[y];
  });
  if (kept.size() > static_cast<size_t>(t_.rows)) kept.resize(static_cast<size_t>(t_.rows));
  std::sort(kept.begin(), kept.end(), [&](uint32_t x, uint32_t y) { return words_[x] < words_[y]; });
  std::vector<std::string> names;
  std::vector<float> weights;  // rare words count more, as the first guess
  std::vector<uint32_t> row_of(words_.size(), recall::KeyMap::kNone);
  for (const uint32_t n : kept) {
    row_of[n] = static_cast<uint32_t>(names.size());
    names.push_back(words_[n]);
    weights.push_back(static_cast<float>(
        std::log(1 + static_cast<double>(begin_.size()) / static_cast<double>(texts_with_[n])) / 10));
  }
  std::vector<uint32_t> rows;
  std::vector<uint64_t> begin;
  for (size_t i = 0; i < begin_.size(); ++i) {
    begin.push_back(rows.size());
    const uint64_t end = i + 1 < begin_.size() ? begin_[i + 1] : in_texts_.size();
    for (uint64_t at = begin_[i]; at < end; ++at)
      if (const uint32_t row = row_of[in_texts_[at]]; row != recall::KeyMap::kNone) rows.push_back(row);
  }
  begin.push_back(rows.size());
  const auto words = [&](size_t text) {
    return std::span<const uint32_t>(rows).subspan(begin[text], begin[text + 1] - begin[text]);
  };
  std::vector<std::vector<uint32_t>> usable(numbers_.size());
  int64_t pairs = 0;
  for (size_t p = 0; p < groups_.size(); ++p)
    if (!words(2 * p).empty() && !words(2 * p + 1).empty())
      usable[groups_[p]].push_back(static_cast<uint32_t>(p)), ++pairs;
  const int64_t batches = pairs / t_.batch;
  if (batches < 1)
    fail("{} pairs with known words are fewer than a batch of {}: give more pairs, or a smaller batch", pairs,
         t_.batch);
  Learner learner(t_, weights);
  const int64_t all = batches * t_.passes;
  double recent = 0;
  std::vector<uint32_t> order;
  for (int64_t step = 0; step < all; ++step) {
    if (step % batches == 0) order = order_of(usable, static_cast<uint64_t>(step / batches), t_);
    for (int64_t i = 0; i < t_.batch; ++i) {
      const uint32_t p = order[static_cast<size_t>(step % batches * t_.batch + i)];
      learner.put(static_cast<size_t>(i), words(2 * p), words(2 * p + 1));
    }
    const double left = 1 - static_cast<double>(step) / static_cast<double>(all);
    const double loss = learner.step(static_cast<float>(t_.rate * left));
    recent += (loss - recent) / static_cast<double>(std::min<int64_t>(step + 1, 100));
    if (progress) progress({step + 1, all, recent});
  }
  return WordEncoder(std::move(names), learner.rows, t_.width);
}

}  // namespace quern::encoders
