// LoRA adapters in PEFT format (adapter_config.json, adapter_model.safetensors or .bin), beside the weights: y = x·Wᵀ + s·(x·Aᵀ)·Bᵀ
// (nn/low_rank.h). W stays as it is, quantized or not, unless it is asked to take the product in (merge_into); a block that
// several layers share has A and B per layer. s is
// alpha / r, or alpha / √r with use_rslora, by matrix where alpha_pattern says so. Merged as tensors are read, because
// they are no matrix of one module here: the LM head, and experts that a checkpoint stores one by one. Modules that were
// trained whole (modules_to_save) replace the checkpoint's. Other kinds (DoRA, trained biases) are refused by name.
#pragma once
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "quern/models/model.h"
#include "quern/nn/low_rank.h"
#include "quern/tensor/safetensors.h"

namespace quern::models {

class Adapter : public nn::LowRankSource {
 public:
  // scale: a factor of its low-rank products.
  explicit Adapter(const std::filesystem::path& folder, double scale = 1);

  // The checkpoint with what is replaced and merged; nothing if the adapter has neither.
  std::optional<TensorFolder> changed(const TensorFolder& weights) const;
  // Then, while the model is packed: by the matrix's current name, or by that of another layout of the family.
  void names_of(const Model& model) { model_ = &model; }
  nn::LowRank find(const std::string& matrix, int64_t n, int64_t k) override;
  // Or without packing: into the plain matrices of the model. Throws Error where a matrix is shared by several layers and
  // each has a pair of its own, which no one matrix can hold.
  void merge_into(Model& model);
  // Whether it only stands beside matrices: nothing of the checkpoint is replaced or merged into.
  bool only_beside() const;
  void finish() const;  // throws Error naming a matrix that the model does not have

  struct Pair {
    Tensor a_RK, b_NR;
    double scale = 1;
  };
  // As find(), the numbers themselves; null: none.
  const Pair* pair(const std::string& matrix, int64_t n, int64_t k);

 private:
  std::filesystem::path file_;
  bool transposed_ = false;
  std::map<std::string, Pair> pairs_;    // by the name of the matrix in a checkpoint
  std::map<std::string, Tensor> saved_;  // whole tensors
  std::set<std::string> used_;
  const Model* model_ = nullptr;
};

}  // namespace quern::models
