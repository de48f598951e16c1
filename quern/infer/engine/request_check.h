// Checks of a request before it is queued: what an engine can never serve is refused at once, and the error says what
// to change.
#pragma once
#include <cstdint>

#include "quern/infer/engine/request.h"

namespace quern::infer {

struct RequestLimits {
  int64_t max_positions = 0, vocab_size = 0;  // of the model
  bool tokenizer = false;                     // the engine has one: stop strings are possible
  bool draft_model = false;                   // the engine has one
  bool sharded_cache = false;                 // KV cache sharded over ranks: it cannot be rolled back
};

// Throw Error.
void check_request(const Request& r, const RequestLimits& limits);
void check_speculation(const SpeculationOptions& g, const RequestLimits& limits);

}  // namespace quern::infer
