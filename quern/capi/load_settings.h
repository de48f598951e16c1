// Options of quern_load_with: those of weights and engine that a program sets, declared where flags have them from, and
// the two that only this interface has.
#pragma once
#include <optional>
#include <string>

#include "quern/base/config.h"
#include "quern/infer/cache/weight_settings.h"
#include "quern/infer/engine/engine.h"

namespace quern::capi {

struct LoadSettings {
  infer::WeightSettings weights = {};
  std::optional<std::string> adapter = {};
  infer::EngineOptions engine = {};
  template <class V>
  void visit(V& v) {
    v("format", weights.format, "weights in memory: f32, bf16, or quantized at load: q8, q4, q8a8");
    weights.visit(v);
    v("adapter", adapter, "folder of a LoRA adapter");
    engine.visit(v);
  }
  models::LoadOptions load_options() const;  // throws Error naming the field
};

}  // namespace quern::capi
