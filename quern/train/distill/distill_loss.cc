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

// Loss and gradient by entries; group: of a word, its entry; without one, words are entries.
double loss_of_entries(const DistillConfig& c, std::span<const Entry> entries, const std::vector<uint32_t>* group,
                       std::span<float> student, int32_t target) {
  const double t = c.temperature, by = 1 / t, of_q = log_sum(student, by);
  const bool forward = c.direction == "forward";
  const double kl = divergence(forward, entries), whole = log_sum(student, 1);
  const auto at = static_cast<size_t>(target);
  const double loss = c.weight * t * t * kl + (1 - c.weight) * (whole - static_cast<double>(student[at]));
  for (size_t v = 0; v < student.size(); ++v) {
    const double logit = static_cast<double>(student[v]);
    double g = c.weight * t * std::exp(by * logit - of_q) * slope(forward, entries[group ? (*group)[v] : v], kl);
    if (c.weight < 1) g += (1 - c.weight) * (std::exp(logit - whole) - (v == at ? 1 : 0));
    student[v] = static_cast<float>(g);
  }
  return loss;
}

}  // namespace

void top_words(std::span<const float> logits, int64_t top, double temperature, TopWords& out) {
  const auto k = static_cast<size_t>(top);
  QUERN_CHECK(top > 0 && k + 1 < logits.size(), "top {} of {} words", top, logits.size());
  const double by = 1 / temperature, whole = log_sum(logits, by);
  out.words.resize(logits.size()), std::iota(out.words.begin(), out.words.end(), 0u);
  std::partial_sort(out.words.begin(), out.words.begin() + static_cast<std::ptrdiff_t>(k), out.words.end(),
                    [&](uint32_t a, uint32_t b) { return logits[a] != logits[b] ? logits[a] > logits[b] : a < b; });
  out.words.resize(k), out.log_p.clear();
  double sum = 0;
  for (const uint32_t w : out.words) {
    out.log_p.push_back(by * static_cast<double>(logits[w]) - whole);
    sum += std::exp(out.log_p.back());
  }
  out.log_p.push_back(left_over(sum));
}

double distill_token(const DistillConfig& c, const TopWords& teacher, std::span<float> student, int32_t target) {
  const double by = 1 / c.temperature, of_q = log_sum(student, by);
  const size_t top = teacher.words.size();
  thread_local std::vector<Entry> entries;
  thread_local std::vector<uint32_t> group;
  entries.clear(), group.assign(student.size(), static_cast<uint32_t>(top));
  double q = 0;
  for (size_t i = 0; i < top; ++i) {
    const uint32_t w = teacher.words[i];
    entries.push_back({teacher.log_p[i], by * static_cast<double>(student[w]) - of_q});
    group[w] = static_cast<uint32_t>(i), q += std::exp(entries.back().log_q);
  }
  entries.push_back({teacher.log_p[top], left_over(q)});
  return loss_of_entries(c, entries, &group, student, target);
}

double distill_token(const DistillConfig& c, std::span<const float> teacher, std::span<float> student,
                     int32_t target) {
  const size_t vocab = student.size();
  if (c.top > 0 && static_cast<size_t>(c.top) + 1 < vocab) {
    thread_local TopWords top;
    top_words(teacher, c.top, c.temperature, top);
    return distill_token(c, top, student, target);
  }
  const double by = 1 / c.temperature, of_p = log_sum(teacher, by), of_q = log_sum(student, by);
  thread_local std::vector<Entry> entries;
  entries.clear();
  for (size_t v = 0; v < vocab; ++v)
    entries.push_back({by * static_cast<double>(teacher[v]) - of_p, by * static_cast<double>(student[v]) - of_q});
  return loss_of_entries(c, entries, nullptr, student, target);
}

double distill_rows(View<float, 2> student, std::span<const int32_t> targets, double share, const DistillRow& token) {
  const int64_t rows = student.shape[0];
  QUERN_CHECK(targets.size() == static_cast<size_t>(rows), "{} rows, {} targets", rows, targets.size());
  std::vector<double> losses(static_cast<size_t>(rows), 0.0);
  parallel_for(rows, 1, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const std::span<float> row(student.row(r), static_cast<size_t>(student.shape[1]));
      const int32_t target = targets[static_cast<size_t>(r)];
      if (target < 0) {
        std::fill(row.begin(), row.end(), 0.0f);
        continue;
      }
      losses[static_cast<size_t>(r)] = token(r, row, target);
      for (float& g : row) g = static_cast<float>(static_cast<double>(g) * share);
    }
  });
  return share * std::accumulate(losses.begin(), losses.end(), 0.0);
}

double distill_rows(const DistillConfig& c, View<const float, 2> teacher, View<float, 2> student,
                    std::span<const int32_t> targets, double share) {
  QUERN_CHECK(teacher.shape == student.shape, "teacher [{}, {}], student [{}, {}]", teacher.shape[0],
              teacher.shape[1], student.shape[0], student.shape[1]);
  return distill_rows(student, targets, share, [&](int64_t r, std::span<float> row, int32_t target) {
    return distill_token(c, std::span<const float>(teacher.row(r), row.size()), row, target);
  });
}

}  // namespace quern::train
