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

// --encoder DIR of verbs that search.
struct EncoderFolder {
  std::string encoder;
  EncoderFlags weights;
  template <class V>
  void visit(V& v) {
    v("encoder", encoder,
      "hybrid retrieval: words (the encoder that ships), the folder of another one (BERT, MiniLM, DeBERTa, "
      "ModernBERT), "
      "or none [that of the index; words for a new one in English]",
      {.value = "DIR"});
    weights.visit(v);
  }
};

}  // namespace quern::cli
