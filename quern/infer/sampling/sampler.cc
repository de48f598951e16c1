#include "quern/infer/sampling/sampler.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "quern/base/error.h"
#include "quern/base/rng.h"
#include "quern/kernels/softmax/softmax.h"

namespace quern::infer {
namespace {

constexpr float kBanned = -1e29f;  // and below: nobody meant this as a logit

// Candidates less likely than e^-30 of the likeliest (a vocabulary of them is below 1e-7) are never drawn.
constexpr double kNegligible = 30;

// Of the logits that are not banned.
double standard_deviation(std::span<const float> x) {
  double sum = 0, squares = 0, n = 0;
  for (const float v : x)
    if (v > kBanned) sum += static_cast<double>(v), ++n;
  const double mean = sum / std::max(n, 1.0);
  for (const float v : x)
    if (v > kBanned) squares += (static_cast<double>(v) - mean) * (static_cast<double>(v) - mean);
  return std::sqrt(squares / std::max(n, 1.0));
}

// The place of the greatest, the first of equals. A block's greatest is found without branches; only one block is
// looked through for the place.
size_t first_greatest(std::span<const float> x) {
  constexpr size_t kBlock = 256, kLanes = 16;
  size_t best = 0;
  float top = -std::numeric_limits<float>::infinity();
  for (size_t from = 0; from < x.size(); from += kBlock) {
    const size_t end = std::min(from + kBlock, x.size());
    std::array<float, kLanes> maximum;
    maximum.fill(-std::numeric_limits<float>::infinity());
    size_t i = from;
    for (; i + kLanes <= end; i += kLanes)
      for (size_t j = 0; j < kLanes; ++j) maximum[j] = maximum[j] < x[i + j] ? x[i + j] : maximum[j];
    for (; i < end; ++i) maximum[0] = std::max(maximum[0], x[i]);
    if (const float m = *std::max_element(maximum.begin(), maximum.end()); m > top) top = m, best = from;
  }
  const auto at = std::find(x.begin() + static_cast<int64_t>(best), x.end(), top);
  return at == x.end() ? best : static_cast<size_t>(at - x.begin());  // no end but among what are no numbers
}

double log_sum_exp(std::span<const float> logits) {
  float lse = 0;
  kernels::log_sum_exp<float>({logits.data(), {1, static_cast<int64_t>(logits.size())}}, {&lse, {1}});
  return static_cast<double>(lse);
}

}  // namespace

Sampler::Sampler(SamplingOptions o) : o_(std::move(o)) {
  check(o_);
  penalized_ = has(SampleStep::penalties) &&
               (o_.repetition_penalty != 1 || o_.presence_penalty != 0 || o_.frequency_penalty != 0);
  if (o_.dry.on() && has(SampleStep::dry)) repeats_.emplace(o_.dry);
  while (early_ < o_.order.size() &&
         (o_.order[early_] == SampleStep::penalties || o_.order[early_] == SampleStep::dry))
    ++early_;
}

bool Sampler::has(SampleStep step, size_t from) const {
  return std::find(o_.order.begin() + static_cast<int64_t>(from), o_.order.end(), step) != o_.order.end();
}

void Sampler::accept_prompt(std::span<const int32_t> tokens) {
  if (penalized_ && o_.repetition_penalty != 1)
    for (int32_t t : tokens) seen_[t].prompt = true;
  if (repeats_)
    for (int32_t t : tokens) repeats_->push(t);
}

void Sampler::accept_token(int32_t token) {
  if (penalized_) ++seen_[token].answer;
  if (repeats_) repeats_->push(token);
}

// Bias and, where they come first, penalties and DRY touch a few logits of a copy; later in the order they work on
// the candidates left by then.
void Sampler::adjust(std::span<const float> logits, RowSteps steps) {
  adjusted_.assign(logits.begin(), logits.end());
  for (const auto& [token, bias] : o_.logit_bias) {
    if (token >= static_cast<int32_t>(logits.size()))
      fail("logit bias for token {}: ids run from 0 to {}", token, logits.size() - 1);
    adjusted_[static_cast<size_t>(token)] += static_cast<float>(bias);
  }
  if (steps.penalties)
    for (const auto& [token, seen] : seen_) {
      float& x = adjusted_[static_cast<size_t>(token)];
      x = static_cast<float>(penalized(static_cast<double>(x), seen));
    }
  if (steps.dry)
    for (const auto& [token, loss] : repeats_->penalties())
      adjusted_[static_cast<size_t>(token)] -= static_cast<float>(loss);
}

double Sampler::penalized(double logit, const Seen& seen) const {
  logit = logit > 0 ? logit / o_.repetition_penalty : logit * o_.repetition_penalty;
  if (seen.answer > 0) logit -= o_.presence_penalty + o_.frequency_penalty * static_cast<double>(seen.answer);
  return logit;
}

void Sampler::keep_typical() {
  double top = left_[0].logit, total = 0, expected = 0, kept = 0;
  for (const Candidate& c : left_) top = std::max(top, c.logit);
  for (const Candidate& c : left_) total += std::exp(c.logit - top);
  const double whole = top + std::log(total);
  auto surprise = [&](const Candidate& c) { return whole - c.logit; };
  for (const Candidate& c : left_) expected += std::exp(-surprise(c)) * surprise(c);
  auto off = [&](const Candidate& c) { return std::abs(surprise(c) - expected); };
  std::sort(left_.begin(), left_.end(),
            [&](const Candidate& a, const Candidate& b) { return off(a) != off(b) ? off(a) < off(b) : a.id < b.id; });
  size_t n = 0;
  while (n < left_.size() && (kept < o_.typical_p || off(left_[n]) == off(left_[n - 1])))
    kept += std::exp(-surprise(left_[n++]));
  left_.resize(n);
}

void Sampler::exclude_top() {
  double top = left_[0].logit, total = 0, minimum = std::numeric_limits<double>::infinity();
  for (const Candidate& c : left_) top = std::max(top, c.logit);
  for (const Candidate& c : left_) total += std::exp(c.logit - top);
  auto is_top = [&](const Candidate& c) { return std::exp(c.logit - top) >= o_.xtc_threshold * total; };
  for (const Candidate& c : left_)
    if (is_top(c)) minimum = std::min(minimum, c.logit);
  std::erase_if(left_, [&](const Candidate& c) { return is_top(c) && c.logit > minimum; });
}

void Sampler::filter(SampleStep step, bool& sorted, uint64_t at) {
  auto before = [](const Candidate& a, const Candidate& b) {
    return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
  };
  bool off = (step == SampleStep::top_k && (o_.top_k == 0 || o_.top_k >= static_cast<int64_t>(left_.size()))) ||
             (step == SampleStep::typical_p && o_.typical_p >= 1) ||
             (step == SampleStep::xtc && o_.xtc_probability <= 0) || (step == SampleStep::top_p && o_.top_p >= 1) ||
             (step == SampleStep::min_p && o_.min_p <= 0) || (step == SampleStep::penalties && !penalized_) ||
             (step == SampleStep::dry && !repeats_) || (step == SampleStep::top_n_sigma && o_.top_n_sigma <= 0);
  if (off) return;
  if (step == SampleStep::temperature) {
    for (Candidate& c : left_) c.logit /= o_.temperature;
    floor_sigma_ /= o_.temperature;
    return;
  }
  if (step == SampleStep::dry) {
    const auto losses = repeats_->penalties();
    for (Candidate& c : left_)
      if (const auto it = losses.find(c.id); it != losses.end()) c.logit -= it->second;
    sorted = false;
    return;
  }
  if (step == SampleStep::top_n_sigma) {
    double top = left_[0].logit;
    for (const Candidate& c : left_) top = std::max(top, c.logit);
    std::erase_if(left_, [minimum = top - floor_sigma_](const Candidate& c) { return c.logit < minimum; });
    return;
  }
  if (step == SampleStep::penalties) {
    for (Candidate& c : left_) {
      auto it = seen_.find(c.id);
      if (it != seen_.end()) c.logit = penalized(c.logit, it->second);
    }
    sorted = false;
    return;
  }
  if (step == SampleStep::typical_p) {
    keep_typical();
    sorted = false;
    return;
  }
  if (step == SampleStep::xtc) {  // a chance of its own beside the draw's
    if (Rng(mix64(o_.seed) ^ 0x787463u, at).uniform() < o_.xtc_probability) exclude_top();
    return;
  }
  if (step == SampleStep::min_p) {
    double top = left_[0].logit;
    for (const Candidate& c : left_) top = std::max(top, c.logit);
    std::erase_if(left_, [&, minimum = top + std::log(o_.min_p)](const Candidate& c) { return c.logit < minimum; });
    return;
  }
  if (step == SampleStep::top_k) {
    if (!sorted) std::partial_sort(left_.begin(), left_.begin() + o_.top_k, left_.end(), before);
    sorted = true;
    left_.resize(static_cast<size_t>(o_.top_k));
    return;
  }
  double top = left_[0].logit, total = 0, kept = 0;
  for (const Candidate& c : left_) top = std::max(top, c.logit);
  for (const Candidate& c : left_) total += std::exp(c.logit - top);
  if (!sorted) {  // as deep as p reaches: most of a vocabulary lies far below
    auto middle = left_.begin();
    for (double depth = 4; middle != left_.end() && kept < o_.top_p * total; depth *= 2) {
      const auto next =
          std::partition(middle, left_.end(), [&](const Candidate& c) { return c.logit >= top - depth; });
      for (; middle != next; ++middle) kept += std::exp(middle->logit - top);
    }
    std::sort(left_.begin(), middle, before);
    left_.erase(middle, left_.end());
    sorted = true;
  }
  size_t n = 0;
  for (kept = 0; n < left_.size() && kept < o_.top_p * total;) kept += std::exp(left_[n++].logit - top);
  left_.resize(std::max<size_t>(n, 1));
}

bool Sampler::takes_all() const {
  if (penalized_ && has(SampleStep::penalties, early_)) return false;
  if (repeats_ && has(SampleStep::dry, early_)) return false;
  if (o_.top_n_sigma > 0) return false;
  return o_.top_k == 0 && o_.top_p >= 1 && o_.min_p <= 0 && o_.typical_p >= 1 && o_.xtc_probability <= 0;
}

// The token, and its log-probability.
Sampler::Candidate Sampler::sample_from_all(std::span<const float> x, size_t best, uint64_t step) {
  const float by = has(SampleStep::temperature) ? static_cast<float>(std::min(1e30, 1 / o_.temperature)) : 1.0f,
              top = x[best];
  shares_.resize(x.size());
  for (size_t i = 0; i < x.size(); ++i) shares_[i] = (x[i] - top) * by;
  const auto n = static_cast<int64_t>(x.size());
  kernels::softmax<float>({shares_.data(), {1, n}}, {shares_.data(), {1, n}});
  double left = Rng(o_.seed, step).uniform();
  const auto drawn = [&](size_t i) {
    return Candidate{static_cast<int32_t>(i), std::log(static_cast<double>(shares_[i]))};
  };
  constexpr size_t kBlock = 64;
  for (size_t from = 0; from < x.size(); from += kBlock) {
    const size_t end = std::min(from + kBlock, x.size());
    std::array<float, 8> sums{};
    for (size_t i = from; i < end; ++i) sums[i % 8] += shares_[i];
    double block = 0;
    for (const float s : sums) block += static_cast<double>(s);
    if (left >= block) {
      left -= block;
      continue;
    }
    for (size_t i = from; i < end; ++i)
      if (shares_[i] > 0 && (left -= static_cast<double>(shares_[i])) < 0) return drawn(i);
    left = 0;  // the block's sum was rounded up: the next that can be drawn
  }
  // Rounding left the sum a little below 1.
  for (size_t i = x.size(); i-- > 0;)
    if (shares_[i] > 0) return drawn(i);
  return {static_cast<int32_t>(best), 0};  // of infinite logits, which a bias may make, there are no shares
}

TokenLogprob Sampler::next(std::span<const float> logits, uint64_t step) {
  QUERN_CHECK(!logits.empty());
  double lse = log_sum_exp(logits);
  if (!std::isfinite(lse)) fail("the model produced logits that are NaN; the weights may be damaged");
  const auto now = [&](SampleStep s) { return greedy() || !has(s, early_); };  // on the row itself
  std::span<const float> x = logits;
  if (penalized_ || repeats_ || !o_.logit_bias.empty()) {
    adjust(logits, {.penalties = penalized_ && now(SampleStep::penalties), .dry = repeats_ && now(SampleStep::dry)});
    x = adjusted_;
  }
  const size_t best = first_greatest(x);
  auto chosen = [&](int32_t id, double sampled) {
    return TokenLogprob{id, static_cast<double>(logits[static_cast<size_t>(id)]) - lse, sampled};
  };
  if (greedy()) return chosen(static_cast<int32_t>(best), 0);
  if (takes_all()) {
    const Candidate c = sample_from_all(x, best, step);
    TokenLogprob t = chosen(c.id, c.logit);
    const bool untouched = x.data() == logits.data() && (o_.temperature == 1 || !has(SampleStep::temperature));
    if (untouched) t.sampled = t.logprob;
    return t;
  }

  double floor = static_cast<double>(x[best]) - kNegligible * std::max(1.0, o_.temperature);
  left_.clear();
  for (size_t i = 0; i < x.size(); ++i)
    if (static_cast<double>(x[i]) >= floor) left_.push_back({static_cast<int32_t>(i), static_cast<double>(x[i])});
  if (o_.top_n_sigma > 0 && has(SampleStep::top_n_sigma)) floor_sigma_ = o_.top_n_sigma * standard_deviation(x);
  bool sorted = false;
  for (size_t i = early_; i < o_.order.size(); ++i) filter(o_.order[i], sorted, step);

  double top = left_[0].logit, total = 0;
  for (const Candidate& c : left_) top = std::max(top, c.logit);
  for (Candidate& c : left_) total += c.logit = std::exp(c.logit - top);  // from here on its weight
  double sample = Rng(o_.seed, step).uniform() * total;
  size_t at = 0;
  while (at + 1 < left_.size() && sample >= left_[at].logit) sample -= left_[at++].logit;
  return chosen(left_[at].id, std::log(left_[at].logit / total));
}

double logprob_of(std::span<const float> logits, int32_t token) {
  return static_cast<double>(logits[static_cast<size_t>(token)]) - log_sum_exp(logits);
}

std::vector<TokenLogprob> top_logprobs(std::span<const float> logits, int64_t n) {
  std::vector<int32_t> id(logits.size());
  for (size_t i = 0; i < id.size(); ++i) id[i] = static_cast<int32_t>(i);
  auto middle = id.begin() + std::min<int64_t>(n, static_cast<int64_t>(id.size()));
  std::partial_sort(id.begin(), middle, id.end(), [&](int32_t a, int32_t b) {
    float x = logits[static_cast<size_t>(a)], y = logits[static_cast<size_t>(b)];
    return x != y ? x > y : a < b;
  });
  double lse = log_sum_exp(logits);
  std::vector<TokenLogprob> top;
  for (auto i = id.begin(); i != middle; ++i)
    top.push_back({*i, static_cast<double>(logits[static_cast<size_t>(*i)]) - lse});
  return top;
}

}  // namespace quern::infer
