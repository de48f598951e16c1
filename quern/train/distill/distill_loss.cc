#include "quern/train/distill/distill_loss.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "quern/base/error.h"
#include "quern/base/threads.h"

namespace quern::train {
namespace {

// log Σ exp(x·by)
double log_sum(std::span<const float> x, double by) {
  const double top = by * static_cast<double>(*std::max_element(x.begin(), x.end()));
  double sum = 0;
  for (const float v : x) sum += std::exp(by * static_cast<double>(v) - top);
  return top + std::log(sum);
}

// Words, or groups of them, with their log-probabilities under both.
struct Entry {
  double log_p, log_q;
};

double divergence(bool forward, std::span<const Entry> entries) {
  double kl = 0;
  for (const Entry& e : entries) {
    const double from = forward ? e.log_p : e.log_q;
    if (from > -700) kl += std::exp(from) * (forward ? e.log_p - e.log_q : e.log_q - e.log_p);
  }
  return kl;
}

// ∂KL/∂(student logit), divided by q_v, of a word in the entry.
double slope(bool forward, const Entry& e, double kl) {
  return forward ? 1 - std::exp(std::min(e.log_p - e.log_q, 700.0)) : e.log_q - e.log_p - kl;
}

// log(1 − Σ exp(log of the others)), of what is left to all other words
double left_over(double sum) { return std::log(std::max(1 - sum, 1e-12)); }

}  // namespace

double distill_token(const DistillConfig& c, std::span<const float> teacher, std::span<float> student,
                     int32_t target) {
  const size_t vocab = student.size();
  const double t = c.temperature, by = 1 / t, of_p = log_sum(teacher, by), of_q = log_sum(student, by);
  const bool forward = c.direction == "forward";
  const auto entry = [&](size_t v) {
    return Entry{by * static_cast<double>(teacher[v]) - of_p, by * static_cast<double>(student[v]) - of_q};
  };
  const auto top = static_cast<size_t>(c.top);
  const bool grouped = top > 0 && top + 1 < vocab;
  thread_local std::vector<Entry> entries;
  thread_local std::vector<uint32_t> words, group;  // group: of a word, its entry
  entries.clear();
  if (grouped) {
    words.resize(vocab), std::iota(words.begin(), words.end(), 0u);
    std::nth_element(
        words.begin(), words.begin() + static_cast<std::ptrdiff_t>(top), words.end(),
        [&](uint32_t a, uint32_t b) { return teacher[a] != teacher[b] ? teacher[a] > teacher[b] : a < b; });
    group.assign(vocab, static_cast<uint32_t>(top));
    double p = 0, q = 0;
    for (size_t i = 0; i < top; ++i) {
      entries.push_back(entry(words[i])), group[words[i]] = static_cast<uint32_t>(i);
      p += std::exp(entries.back().log_p), q += std::exp(entries.back().log_q);
    }
    entries.push_back({left_over(p), left_over(q)});
  } else {
    for (size_t v = 0; v < vocab; ++v) entries.push_back(entry(v));
  }
  const double kl = divergence(forward, entries), whole = log_sum(student, 1);
  const auto at = static_cast<size_t>(target);
  const double loss = c.weight * t * t * kl + (1 - c.weight) * (whole - static_cast<double>(student[at]));
  for (size_t v = 0; v < vocab; ++v) {
    const double logit = static_cast<double>(student[v]);
    double g = c.weight * t * std::exp(by * logit - of_q) * slope(forward, entries[grouped ? group[v] : v], kl);
    if (c.weight < 1) g += (1 - c.weight) * (std::exp(logit - whole) - (v == at ? 1 : 0));
    student[v] = static_cast<float>(g);
  }
  return loss;
}

double distill_rows(const DistillConfig& c, View<const float, 2> teacher, View<float, 2> student,
                    std::span<const int32_t> targets, double share) {
  const int64_t rows = student.shape[0], vocab = student.shape[1];
  QUERN_CHECK(teacher.shape[0] == rows && teacher.shape[1] == vocab && targets.size() == static_cast<size_t>(rows),
              "teacher [{}, {}], student [{}, {}], {} targets", teacher.shape[0], teacher.shape[1], rows, vocab,
              targets.size());
  std::vector<double> losses(static_cast<size_t>(rows), 0.0);
  parallel_for(rows, 1, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const std::span<float> row(student.row(r), static_cast<size_t>(vocab));
      const int32_t target = targets[static_cast<size_t>(r)];
      if (target < 0) {
        std::fill(row.begin(), row.end(), 0.0f);
        continue;
      }
      losses[static_cast<size_t>(r)] = distill_token(c, {teacher.row(r), row.size()}, row, target);
      for (float& g : row) g = static_cast<float>(static_cast<double>(g) * share);
    }
  });
  return share * std::accumulate(losses.begin(), losses.end(), 0.0);
}

}  // namespace quern::train
