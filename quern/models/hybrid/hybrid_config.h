// Hybrid model configuration: layers with sequence mixers of any kind. config.json names the mixers, each with its own
// fields, and then lists which one each layer uses.
//   "mixers": {"near": {"type": "attention", "n_head": 4, …, "window": 128}, "far": {"type": "ovq", …}},
//   "layers": ["near", "far", "near", "far"]
// A mixer's width is hidden_size by default.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "quern/base/json.h"

namespace quern::models {

struct HybridConfig {
  std::string model_type = "hybrid";
  int64_t vocab_size = 0, hidden_size = 0, intermediate_size = 0, max_position_embeddings = 4096;
  double rms_norm_eps = 1e-6;
  std::string hidden_act = "silu";
  bool gated = true, tie_word_embeddings = true;
  Json mixers;                      // {name: {"type": …, …}}
  std::vector<std::string> layers;  // names of mixers
  Json source;                      // config.json as read: unknown keys are kept

  template <class V>
  void visit(V& v) {
    v("model_type", model_type, "family: hybrid");
    v("vocab_size", vocab_size, "rows of the embedding and the head");
    v("hidden_size", hidden_size, "width of the residual stream");
    v("intermediate_size", intermediate_size, "inner width of the feed-forward");
    v("max_position_embeddings", max_position_embeddings, "maximum context length");
    v("rms_norm_eps", rms_norm_eps, "epsilon of the norms");
    v("hidden_act", hidden_act, "activation of the feed-forward");
    v("gated", gated, "feed-forward with a gate, or one projection alone");
    v("tie_word_embeddings", tie_word_embeddings, "the head is the embedding");
    v("mixers", mixers, "mixers by name: `{type, …}` with the keys of that type");
    v("layers", layers, "name of each layer's mixer");
  }

  static HybridConfig from_hf(const Json& j);  // throws Error naming the field
  Json to_hf() const;
  // The type of a mixer of `mixers`, and what its maker gets: its fields with the width filled in.
  bool rotary() const;  // whether a layer has rotary positions
  struct Named {
    std::string type;
    Json fields;
  };
  Named mixer(const std::string& name) const;
};

}  // namespace quern::models
