#include "quern/plan/search.h"

#include <algorithm>
#include <cmath>

#include "quern/base/error.h"

namespace quern::plan {
namespace {

constexpr double kDay = 86400;
constexpr int64_t kLargestBatch = 16777216, kMinSteps = 5000;

double effective_parameters(const ModelShape& s) {
  const double head = static_cast<double>(s.vocab * s.width);
  return std::sqrt((active_parameters(s) - head) * (static_cast<double>(parameters(s)) - head));
}

// Half a million tokens for models of a hundred million parameters, growing by the square root; whole sequences.
int64_t batch_tokens(const ModelShape& s, const Goal& goal) {
  if (goal.batch_tokens > 0) return goal.batch_tokens;
  const double wanted = 524288 * std::sqrt(active_parameters(s) / 1e8);
  return static_cast<int64_t>(
      std::clamp(std::exp2(std::round(std::log2(wanted))), 4096.0, static_cast<double>(kLargestBatch)));
}

std::vector<int64_t> widths() {
  std::vector<int64_t> v;
  for (int64_t w = 64; w < 512; w += 64) v.push_back(w);
  for (int64_t w = 512; w < 2048; w += 128) v.push_back(w);
  for (int64_t w = 2048; w <= 8192; w += 256) v.push_back(w);
  return v;
}

std::vector<int64_t> depths(int64_t width) {  // around the published proportions of width to depth
  std::vector<int64_t> v;
  for (const double share : {24.0, 36.0, 52.0, 80.0, 128.0}) {
    const auto layers = std::clamp<int64_t>(std::llround(static_cast<double>(width) / share), 2, 96);
    if (v.empty() || v.back() != layers) v.push_back(layers);
  }
  return v;
}

void check(const Goal& goal) {
  if (goal.days <= 0 && goal.tokens <= 0) fail("a plan needs days or tokens");
  if (goal.context < 1 || goal.vocab < 2 || goal.batch_tokens < 0)
    fail("expected a context of at least 1, a vocabulary of at least 2 and a batch of at least 1 token");
}

}  // namespace

double predicted_loss(const ModelShape& s, double tokens) {
  return 1.8172 + 482.01 / std::pow(effective_parameters(s), 0.3478) + 2085.43 / std::pow(tokens, 0.3658);
}

namespace {

std::optional<Planned> plan_batch(const ModelShape& s, const Machine& m, const Goal& goal, int64_t step_tokens) {
  Planned p;
  p.shape = s;
  const int64_t ranks = m.ranks();
  p.batch.context = goal.context;
  p.batch.sequences = (step_tokens + goal.context - 1) / goal.context;
  p.batch.sequences = (p.batch.sequences + ranks - 1) / ranks * ranks;
  const int64_t of_rank = p.batch.sequences / ranks, fits = largest_micro(s, m, p.batch);
  if (fits < 1) return std::nullopt;
  p.accumulation = (of_rank + fits - 1) / fits;
  p.batch.micro = (of_rank + p.accumulation - 1) / p.accumulation;
  p.memory = memory(s, m, p.batch);
  p.step = step_time(s, m, p.batch);
  const double tokens = static_cast<double>(p.batch.tokens());
  const double steps =
      goal.tokens > 0 ? std::ceil(goal.tokens / tokens) : std::floor(goal.days * kDay / p.step.total());
  if (steps < 1) return std::nullopt;
  p.steps = static_cast<int64_t>(steps), p.tokens = steps * tokens;
  p.days = steps * p.step.total() / kDay;
  if (goal.days > 0 && p.days > goal.days * 1.0001) return std::nullopt;
  p.loss = predicted_loss(s, p.tokens);
  return p;
}

}  // namespace

// Where communication shows, larger batches are tried as well, as long as enough steps are left to learn in.
std::optional<Planned> plan_shape(const ModelShape& s, const Machine& m, const Goal& goal) {
  check(goal);
  const int64_t usual = batch_tokens(s, goal);
  std::optional<Planned> best = plan_batch(s, m, goal, usual);
  if (goal.batch_tokens > 0 || !best) return best;
  for (int64_t larger = 2 * usual; larger <= std::min(8 * usual, kLargestBatch) && best->step.exposed > 0;
       larger *= 2) {
    const std::optional<Planned> p = plan_batch(s, m, goal, larger);
    if (!p || p->steps < kMinSteps) break;
    if (p->days / p->tokens < best->days / best->tokens) best = p;
  }
  return best;
}

std::vector<Planned> search(const Machine& m, const Goal& goal, size_t most) {
  std::vector<Planned> all;
  for (const Family family : goal.families) {
    std::vector<Planned> of_family;
    for (const int64_t width : widths())
      for (const int64_t layers : depths(width))
        if (const auto p = plan_shape(proportioned(family, width, layers, goal.vocab), m, goal))
          of_family.push_back(*p);
    std::sort(of_family.begin(), of_family.end(), [](const Planned& a, const Planned& b) { return a.loss < b.loss; });
    if (of_family.size() > most) of_family.resize(most);
    all.insert(all.end(), of_family.begin(), of_family.end());
  }
  std::sort(all.begin(), all.end(), [](const Planned& a, const Planned& b) { return a.loss < b.loss; });
  return all;
}

std::vector<Remedy> remedies(const Machine& m, const Goal& goal, double loss) {
  std::vector<Remedy> v;
  const auto with = [&](const char* change, const Machine& machine, const Goal& g) {
    const std::vector<Planned> found = search(machine, g, 1);
    if (!found.empty() && found[0].loss < loss - 1e-3) v.push_back({change, found[0].loss});
  };
  Machine better = m;
  better.product_tflops *= 2;
  with("products twice as fast", better, goal);
  better = m, better.memory_gbs *= 2;
  with("twice the memory bandwidth", better, goal);
  better = m, better.memory_gib *= 2;
  with("twice the memory", better, goal);
  better = m, better.link_gbs *= 2, better.network_gbs *= 2;
  with("twice the network", better, goal);
  better = m, better.storage_gbs *= 2, better.storage_iops *= 2;
  with("twice the storage", better, goal);
  Goal longer = goal;
  longer.days *= 2, longer.tokens *= goal.days > 0 ? 1 : 2;
  with(goal.days > 0 ? "twice the days" : "twice the tokens", m, longer);
  std::sort(v.begin(), v.end(), [](const Remedy& a, const Remedy& b) { return a.loss < b.loss; });
  return v;
}

}  // namespace quern::plan
