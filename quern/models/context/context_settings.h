// A longer (or shorter) context than a checkpoint's own: the length that is accepted, the scaling of its rotary
// embeddings, and their base. One place turns the three settings into changes of config.json before a model is built,
// whichever form the file has (rope_parameters, or rope_scaling and rope_theta). How long the context then is says
// context_length.h.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "quern/base/json.h"
#include "quern/base/setting.h"
#include "quern/models/checkpoint.h"

namespace quern::models {

struct ContextSettings {
  std::optional<int64_t> context = {};
  std::optional<std::string> rope_scaling = {};
  std::optional<double> rope_theta = {};
  bool at_least = false;  // of `context`: a model that accepts more already stays as it is
  template <class V>
  void visit(V& v) {
    v("context", context, "context length to accept, in tokens",
      {.value = "N", .shown_default = "as the model says", .range = Bounds::between(1, 2147483647)});
    v("rope_scaling", rope_scaling,
      "scale the rotary positions for a context FACTOR times as long as the trained one: linear, dynamic (NTK), yarn "
      "or llama3; none drops the scaling of the checkpoint",
      {.value = "TYPE[:FACTOR]", .shown_default = "as the model says"});
    v("rope_theta", rope_theta, "base of the rotary frequencies",
      {.value = "X", .shown_default = "as the model says", .range = Bounds::above(0).up_to(1e15)});
  }
  bool any() const { return context || rope_scaling || rope_theta; }
  // Before a model is opened. Throws Error naming the setting, rope_scaling as the caller calls it.
  void check(const char* scaling_name = "rope_scaling") const;
  std::string rope_name()
      const;  // for fingerprints: states are computed with these positions; empty: the model's own
};

// `config` with the settings. What the caller should say goes to `notes`: a setting that changes nothing, a length
// beyond the trained one. Throws Error for what this model cannot do.
Json with_context(const nn::Registry& registry, const Json& config, const ContextSettings& settings,
                  std::vector<std::string>& notes);

// `options` of a model that is loaded with the settings. The registry outlives them.
LoadOptions with_context(const nn::Registry& registry, LoadOptions options, const ContextSettings& settings);

}  // namespace quern::models
