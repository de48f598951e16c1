// Gathers a step's rows, segment after segment.
#include "quern/infer/engine/step_input.h"

namespace quern {

StepInput step_input(std::span<const StepSegment> segments) {
  StepInput in;
  for (const StepSegment& g : segments) {
    Sequence& s = *g.sequence;
    const auto from = s.tokens.begin() + s.fed();
    in.ids.insert(in.ids.end(), from, from + g.rows);
    in.states.push_back(&s.state);
    in.lengths.push_back(g.all_rows());
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

}  // namespace quern
