// A language model: token rows in, normed hidden rows out, and a head. The forward pass is written once and serves
// training (recording tape) and inference (inference tape, sequence states in the batch). Parameters are named as in
// the current Hugging Face layout of the family; other layouts are a family's own table.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "quern/base/json.h"
#include "quern/mixers/mixer.h"
#include "quern/nn/ops.h"
#include "quern/tensor/safetensors.h"

namespace quern::comm {
class Communicator;  // comm/communicator.h
}

namespace quern::models {

class Model : public nn::Module {
 public:
  virtual std::string family() const = 0;
  virtual int64_t vocab_size() const = 0;  // rows of the head, padding included
  virtual int64_t max_positions() const = 0;
  virtual Json config() const = 0;  // config.json in the current form, unknown keys kept
  // Call sites that carry state between tokens; kv is the element type of per-token parts.
  virtual std::vector<mixers::StateSite> sites(DType kv) const = 0;

  // Final normed hidden rows [T, D].
  virtual grad::Var hidden(grad::Tape& tape, std::span<const int32_t> ids, const mixers::Batch& batch) = 0;
  virtual grad::Var logits(grad::Tape& tape, const grad::Var& hidden_TD) = 0;  // [T, V]
  virtual grad::Var loss(grad::Tape& tape, const grad::Var& hidden_TD,
                         std::span<const int32_t> targets) = 0;  // mean over targets ≥ 0
  // Σ_t f_t(log p_t) over targets ≥ 0: reinforcement learning, preferences, distillation of sampled tokens.
  virtual grad::Var objective(grad::Tape& tape, const grad::Var& hidden_TD, const nn::HeadTerms& terms) = 0;

  // The experts of every mixture, shared by the ranks of `group` from now on: rank r computes its even cut of them for
  // the tokens of all ranks. Null: every rank computes its own tokens again. False: the model has no experts.
  virtual bool share_experts(comm::Communicator* /*group*/) { return false; }
  // Tokens that each expert got since gradients were zeroed, a span for every mixture whose load is balanced; valid
  // until gradients change.
  virtual std::vector<std::span<const float>> expert_loads() { return {}; }

  // Reads one parameter from a checkpoint, whatever the layout there; throws Error naming the tensor.
  virtual Tensor read(const TensorFolder& folder, const std::string& name, const grad::Parameter& p) const;
  // Names of a parameter in other layouts of the family's checkpoints.
  virtual std::vector<std::string> other_names(const std::string& /*name*/) const { return {}; }
  // Of a parameter that several layers share: its names at each of them, the own one first; else empty.
  virtual std::vector<std::string> names_at_layers(const std::string& /*name*/) const { return {}; }
  // Checkpoint tensors that need no reading (tied copies, rotary tables); others left over are reported.
  virtual bool ignorable(const std::string& /*tensor*/) const { return false; }
};

// The tensor `name` of the folder, its shape checked against p's.
Tensor read_checked(const TensorFolder& folder, const std::string& name, const Shape& shape);

// [rows, cols] of E4M3 values times a scale per row [rows, 1] or per matrix [1].
Tensor dequantize_fp8(const Tensor& q, const Tensor& scale, const std::string& name);

}  // namespace quern::models
