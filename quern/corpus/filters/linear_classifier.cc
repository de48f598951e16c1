#include "quern/corpus/filters/linear_classifier.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "quern/base/error.h"
#include "quern/base/mmap.h"
#include "quern/corpus/bytes/hashing.h"
#include "quern/data/shuffle.h"

namespace quern::corpus {
namespace {

constexpr std::string_view kMagic = "quern-linear-1\n";
constexpr size_t kHeldOut = 10;

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

}  // namespace

const TextFeatures& FeatureMaker::make(std::string_view utf8) {
  normalize(TextNormalizer::slimpajama, utf8, tokens_, scratch_);
  hashes_.clear(), features_.clear();
  uint64_t before = 0;
  for (size_t i = 0; i < tokens_.size(); ++i) {
    const uint64_t h = token_hash(tokens_.text.data() + tokens_.begin[i], tokens_[i].size());
    hashes_.push_back(static_cast<uint32_t>(h >> (64 - kBits)));
    if (i > 0) hashes_.push_back(static_cast<uint32_t>(fold64(before ^ kFoldC, h ^ kFoldB) >> (64 - kBits)));
    before = h;
  }
  std::sort(hashes_.begin(), hashes_.end());
  double squares = 0;
  for (size_t i = 0; i < hashes_.size();) {
    size_t end = i;
    while (end < hashes_.size() && hashes_[end] == hashes_[i]) ++end;
    const auto n = static_cast<double>(end - i);
    features_.emplace_back(hashes_[i], static_cast<float>(n));
    squares += n * n;
    i = end;
  }
  const auto scale = static_cast<float>(squares > 0 ? 1 / std::sqrt(squares) : 0);
  for (auto& [index, value] : features_) value *= scale;
  return features_;
}

double LinearClassifier::probability(const TextFeatures& f) const {
  double x = static_cast<double>(bias_);
  for (const auto& [index, value] : f) x += static_cast<double>(weights_[index]) * static_cast<double>(value);
  return logistic(x);
}

LinearClassifier LinearClassifier::train(const std::vector<TextFeatures>& good, const std::vector<TextFeatures>& bad,
                                         const ClassifierTraining& t, ClassifierReport& report) {
  if (good.size() < kHeldOut || bad.size() < kHeldOut)
    fail("{} good and {} bad texts: expected at least {} of each", good.size(), bad.size(), kHeldOut);
  if (t.passes < 1 || t.passes > 1000) fail("{} training passes: expected 1 to 1000", t.passes);
  LinearClassifier c;
  struct Example {
    const TextFeatures* f;
    double good;
  };
  std::vector<Example> seen, held;
  const auto deal = [&](const std::vector<TextFeatures>& texts, double label) {
    for (size_t i = 0; i < texts.size(); ++i) (i % kHeldOut == 0 ? held : seen).push_back({&texts[i], label});
  };
  deal(good, 1), deal(bad, 0);
  // The rarer kind weighs as much as the other.
  const auto n = static_cast<double>(good.size() + bad.size());
  const double weight[2] = {n / (2 * static_cast<double>(bad.size())), n / (2 * static_cast<double>(good.size()))};
  std::vector<float> squares(c.weights_.size(), 1e-6f);
  double bias_squares = 1e-6;
  for (int pass = 0; pass < t.passes; ++pass) {
    const data::Permutation order(seen.size(), t.seed, static_cast<uint64_t>(pass));
    for (uint64_t i = 0; i < seen.size(); ++i) {
      const Example& e = seen[order(i)];
      const double slope = weight[e.good > 0.5] * (c.probability(*e.f) - e.good);
      for (const auto& [index, value] : *e.f) {
        float& w = c.weights_[index];
        const auto g = static_cast<float>(slope * static_cast<double>(value) + t.decay * static_cast<double>(w));
        squares[index] += g * g;
        w -= static_cast<float>(t.rate) * g / std::sqrt(squares[index]);
      }
      bias_squares += slope * slope;
      c.bias_ -= static_cast<float>(t.rate * slope / std::sqrt(bias_squares));
    }
  }
  report.good = good.size(), report.bad = bad.size();
  std::vector<std::pair<double, int>> scores;
  for (const Example& e : held) {
    const double p = c.probability(*e.f);
    scores.emplace_back(p, e.good > 0.5);
    report.accuracy += (p >= 0.5) == (e.good > 0.5);
    ++(e.good > 0.5 ? report.held_out_good : report.held_out_bad);
  }
  report.accuracy /= static_cast<double>(held.size());
  std::sort(scores.begin(), scores.end());
  double below = 0, wins = 0;  // bad ones below, equal ones half
  for (size_t i = 0; i < scores.size();) {
    size_t end = i;
    double bad_here = 0, good_here = 0;
    for (; end < scores.size() && scores[end].first == scores[i].first; ++end)
      (scores[end].second ? good_here : bad_here) += 1;
    wins += good_here * (below + bad_here / 2);
    below += bad_here;
    i = end;
  }
  report.auc = wins / (static_cast<double>(report.held_out_good) * static_cast<double>(report.held_out_bad));
  return c;
}

void LinearClassifier::save(const std::filesystem::path& file) const {
  std::string s(kMagic);
  s.append(reinterpret_cast<const char*>(&bias_), sizeof bias_);
  s.append(reinterpret_cast<const char*>(weights_.data()), weights_.size() * sizeof(float));
  write_file(file, s);
}

LinearClassifier LinearClassifier::load(const std::filesystem::path& file) {
  const std::string s = read_file(file);
  LinearClassifier c;
  const size_t bytes = kMagic.size() + sizeof(float) * (1 + c.weights_.size());
  if (!s.starts_with(kMagic)) fail("{} is not a classifier written by quern corpus train-classifier", file.string());
  if (s.size() != bytes) fail("{} is {} bytes long, expected {}", file.string(), s.size(), bytes);
  std::memcpy(&c.bias_, s.data() + kMagic.size(), sizeof c.bias_);
  std::memcpy(c.weights_.data(), s.data() + kMagic.size() + sizeof c.bias_, c.weights_.size() * sizeof(float));
  return c;
}

}  // namespace quern::corpus
