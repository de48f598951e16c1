#include "quern/mixers/mixer.h"

namespace quern {

Batch Batch::documents(std::vector<int64_t> lengths) {
  Batch b;
  b.offsets = {0};
  for (int64_t n : lengths) {
    for (int64_t i = 0; i < n; ++i) b.positions.push_back(static_cast<int32_t>(i));
    b.offsets.push_back(b.offsets.back() + static_cast<int32_t>(n));
  }
  return b;
}

Batch Batch::resume(const std::vector<SequenceState*>& states, const std::vector<int64_t>& lengths) {
  QUERN_CHECK(states.size() == lengths.size());
  Batch b = documents(lengths);
  b.states = states;
  for (size_t s = 0; s < states.size(); ++s)
    for (int32_t t = b.offsets[s]; t < b.offsets[s + 1]; ++t)
      b.positions[static_cast<size_t>(t)] += static_cast<int32_t>(states[s]->length());
  return b;
}

}  // namespace quern
