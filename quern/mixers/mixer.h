// A token mixer: reads and writes along time. Input and output are token rows [T, D] of a ragged batch.
// Without states a segment starts from nothing; with states it continues where its sequence stopped, and the mixer
// appends what later tokens need. One-token decode is the same call with segments of one row.
#pragma once
#include <cstdint>
#include <vector>

#include "quern/mixers/state.h"
#include "quern/nn/module.h"

namespace quern {

struct Batch {
  std::vector<int32_t> offsets;        // [segments + 1], rows of each segment (sequence or document)
  std::vector<int32_t> positions;      // [T] absolute, from 0 in every sequence
  std::vector<SequenceState*> states;  // one a segment, or empty (no state in or out; required for training)

  int64_t segments() const { return static_cast<int64_t>(offsets.size()) - 1; }
  int64_t tokens() const { return offsets.back(); }
  void advance_states() const {  // once per forward, after every site was fed
    for (size_t s = 0; s < states.size(); ++s) states[s]->advance(offsets[s + 1] - offsets[s]);
  }
  static Batch documents(std::vector<int64_t> lengths);  // stateless, positions restart in each
  static Batch single(int64_t n_tokens) { return documents({n_tokens}); }
  static Batch resume(const std::vector<SequenceState*>& states, const std::vector<int64_t>& lengths);
};

class Mixer : public Module {
 public:
  virtual StateSpec state_spec(DType kv) const = 0;
  // site: index into the model's sites(), used only with states.
  virtual Var forward(Tape& tape, const Var& x_TD, const Batch& batch, int site) = 0;
};

}  // namespace quern
