// Options of quern_load_with.
#pragma once
#include <optional>
#include <string>

#include "quern/base/config.h"
#include "quern/infer/engine/engine.h"
#include "quern/models/checkpoint.h"

namespace quern::capi {

struct LoadSettings {
  std::string format = "bf16";
  std::optional<std::string> head = {}, kv = {}, adapter = {};
  int64_t cache_mib = infer::EngineOptions().cache_bytes >> 20;
  template <class V>
  void visit(V& v) {
    v("format", format, "weights in memory: f32, bf16, or quantized at load: q8, q4, q8a8");
    v("head", head, "with a quantized format: format of embedding and LM head");
    v("kv", kv, "KV cache type: f32, bf16 or q8");
    v("adapter", adapter, "folder of a LoRA adapter");
    v("cache_mib", cache_mib, "size of the prefix cache");
  }
  models::LoadOptions load_options() const;  // throws Error naming the field
  DType kv_type() const;
  std::string weights() const;  // for the fingerprint, as the command line names them: "bf16", "q4 with q8 head"
};

}  // namespace quern::capi
