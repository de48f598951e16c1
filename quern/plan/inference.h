// What inference with a model costs on this machine: memory by weight format and context, and the speed that follows from
// memory bandwidth and compute peak. Decode reads every weight that a token meets, and the state of its text; prefill is
// matrix products. Counted from the parameters that the model declares, before any weight is loaded.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "quern/models/model.h"

namespace quern::plan {

struct InferenceSize {                     // in weights
  int64_t body = 0, head = 0;              // matrices of the blocks; embedding and LM head
  int64_t rest = 0;                        // what stays in f32: norms, biases, convolutions
  double active_body = 0;                  // of the body, weights that one token meets, as often as it meets them
  int64_t active_head = 0;                 // of the head: one matrix, for the logits
  int64_t row_bytes = 0, fixed_bytes = 0;  // of a sequence's state: per token, and constant
  int64_t max_positions = 0;
  int64_t layers = 0;  // that keep a state
};
InferenceSize inference_size(models::Model& model, DType kv);

struct FormatCost {
  const char* name;                       // as --quant and --dtype name it
  double body_bytes = 0, head_bytes = 0;  // per weight
};
const std::vector<FormatCost>& format_costs();  // bf16, q8, q4

struct MachineRates {
  double read_gbs = 0, bf16_gflops = 0;  // measured on all threads (quern/host)
};

struct InferenceForecast {
  std::string format;
  double weight_bytes = 0;
  double decode_tokens_per_s = 0, prefill_tokens_per_s = 0;  // 0: the rates are not known
  int64_t context =
      0;  // tokens of one text that fit beside the weights, at most the model's own; 0: not even those do
};
// Decode at `depth` tokens of context; `free_bytes`: memory for weights, state and the process itself.
InferenceForecast forecast(const InferenceSize& size, const FormatCost& format, const MachineRates& rates,
                           int64_t depth, double free_bytes);

}  // namespace quern::plan
