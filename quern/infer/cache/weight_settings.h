// How a model is kept in memory: the format of its weights, of its head and of its KV cache. The flags of verbs and the
// load options of the C interface both are these settings; only the format of the weights has names of their own there.
#pragma once
#include <optional>
#include <string>

#include "quern/base/setting.h"
#include "quern/models/checkpoint.h"

namespace quern::infer {

struct WeightSettings {
  std::string format = "bf16";  // f32, bf16, or quantized at load: q8, q4, q8a8
  std::optional<std::string> head = {}, kv = {};
  template <class V>
  void visit(V& v) {
    v("head", head, "with quantized weights: format of embedding and LM head: f32, bf16, q8 or q4",
      {.value = "FORMAT", .shown_default = "q8 with q8, q4 or q8a8, else as the weights"});
    v("kv", kv, "KV cache type: bf16, f32, or q8 (int8, one scale per token and head, about half the memory)",
      {.value = "TYPE", .shown_default = "bf16; f32 with f32 weights"});
  }

  struct Names {  // of the settings, for messages
    std::string format = "format", head = "head", kv = "kv";
  };
  // These throw Error naming the setting.
  models::LoadOptions load_options(const Names& names) const;
  DType kv_type(const Names& names) const;
  std::string name() const;  // for people and fingerprints: "bf16", "q4", "q4 with q8 head"
};

}  // namespace quern::infer
