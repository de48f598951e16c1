// Scaled rotary embeddings as config.json states them (rope_parameters, or rope_scaling in older files), computed as
// transformers' modeling_rope_utils does:
//   default        ω_i = θ^(−2i/d), d rotary dims, i < d/2
//   linear         ω_i / factor
//   llama3         long wavelengths divided by `factor`, short ones kept, those between blended
//   yarn           the same with a ramp over i between `beta_fast` and `beta_slow` turns of the original context; queries
//                  and keys also grow by an attention factor
//   dynamic        the base grows with the length of the sequence beyond max_position_embeddings (mixers/ranks/rotary.h)
//   quern_factors  ω_i / factors[i]: ours, for the tables of GGUF files
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "quern/base/json.h"
#include "quern/mixers/ranks/rotary.h"

namespace quern::models {

// What the rest of config.json says.
struct RopeBase {
  int64_t rotary_dims = 0;
  double theta = 1e4;
  int64_t context = 0;  // max_position_embeddings
  // original_max_position_embeddings outside of rope_parameters, which goes before the one inside.
  std::optional<int64_t> original_context = std::nullopt;
};

struct RopeScaling {
  mixers::RopeConfig config;
  int64_t context = 0;  // tokens that the scaled model takes: max_position_embeddings, or more by yarn and dynamic
};

// rope: null for none. Throws Error naming the key for a type or value that is not supported; `where` names the object.
RopeScaling read_rope_scaling(const Json* rope, const RopeBase& base, const std::string& where);

}  // namespace quern::models
