// Flags of verbs that load an encoder.
#pragma once
#include <string>

#include "apps/quern/cli/args.h"
#include "quern/kernels/quant/quant_format.h"

namespace quern::cli {

struct EncoderFlags {
  std::string format = "f32";
  template <class V>
  void visit(V& v) {
    v("quant", format,
      "encoder weights in memory: f32, bf16, q8 (int8 weights), q4, or q8a8 (int8 weights and activations)",
      {.value = "FORMAT", .flag = "--encoder-quant"});
  }
  kernels::QuantFormat parsed() const { return kernels::parse_format(format, "--encoder-quant"); }
};

}  // namespace quern::cli
