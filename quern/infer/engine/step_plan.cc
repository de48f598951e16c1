// Decode tokens first, then prompts; then their rows, segment after segment.
#include "quern/infer/engine/step_plan.h"

#include <algorithm>

namespace quern::infer {
namespace {

int64_t next_rows(const Sequence& s, const SnapshotRules& rules) {
  const int64_t at = s.fed(), end = std::min(at + s.pending(), (at / rules.chunk + 1) * rules.chunk);
  if (rules.inside_steps) return end - at;
  const auto point = s.snapshot_points.upper_bound(at);
  return (point == s.snapshot_points.end() ? end : std::min(end, point->first)) - at;
}

}  // namespace

std::vector<StepSegment> plan_step(std::span<const std::unique_ptr<Sequence>> running, const SnapshotRules& rules) {
  for (const auto& s : running)
    if (s->alone) return {{s.get(), next_rows(*s, rules)}};
  std::vector<StepSegment> segments;
  for (const auto& s : running)
    if (s->answering()) segments.push_back({s.get(), s->pending()});
  int64_t room = rules.chunk;
  for (const auto& s : running)
    if (const int64_t n = next_rows(*s, rules); !s->answering() && n <= room)
      segments.push_back({s.get(), n}), room -= n;
  std::stable_sort(segments.begin(), segments.end(), [](const StepSegment& a, const StepSegment& b) {
    return a.sequence->variant < b.sequence->variant;
  });
  return segments;
}

bool all_decoding(std::span<const StepSegment> segments) {
  return std::all_of(segments.begin(), segments.end(), [](const StepSegment& g) { return g.sequence->answering(); });
}

int64_t total_rows(std::span<const StepSegment> segments) {
  int64_t rows = 0;
  for (const StepSegment& g : segments) rows += g.all_rows();
  return rows;
}

StepInput step_input(std::span<const StepSegment> segments) {
  StepInput in;
  for (const StepSegment& g : segments) {
    Sequence& s = *g.sequence;
    const auto from = s.tokens.begin() + s.fed();
    in.ids.insert(in.ids.end(), from, from + g.rows);
    in.states.push_back(&s.state);
    in.lengths.push_back(g.all_rows());
    in.adapters.add(g.all_rows(), s.r.options.adapters);
    if (!g.ends()) continue;
    in.ready.push_back(&s);
    in.wanted.push_back(static_cast<int64_t>(in.ids.size()) - 1);
    for (const int32_t token : s.draft()) {
      in.wanted.push_back(static_cast<int64_t>(in.ids.size()));
      in.ids.push_back(token);
    }
  }
  return in;
}

}  // namespace quern::infer
