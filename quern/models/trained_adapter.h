// A LoRA adapter that learns beside a frozen model: A is drawn (uniform in ±1/√K, as PEFT draws it), B is zero, so that
// the first step starts from the base. Its parameters have PEFT's names: base_model.model.MODULE.lora_A.weight.
//
//   TrainedAdapter adapter({.rank = 16}, seed);
//   auto model = load_model(registry, folder, {.scheme = q4, .trained = &adapter});   // asks for its paths
//   … tape.backward(model->loss(…)) …                                                 // fills adapter's gradients alone
//   adapter.save(out, folder);                                                        // a PEFT folder
#pragma once
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "quern/models/lora_settings.h"
#include "quern/nn/low_rank.h"
#include "quern/nn/module.h"
#include "quern/tensor/safetensors.h"

namespace quern::models {

class TrainedAdapter : public nn::Module, public nn::LowRankSource {
 public:
  TrainedAdapter(LoraSettings settings, uint64_t seed);
  TrainedAdapter(const TrainedAdapter&) = delete;
  TrainedAdapter& operator=(const TrainedAdapter&) = delete;

  nn::LowRank find(const std::string& matrix, int64_t n, int64_t k) override;
  void finish() const;  // throws Error naming a target that no matrix has
  void visit(const std::string& prefix, const nn::ParameterVisitor& v) override;

  // Elements that the next forward passes drop follow from `key`; 0: none are, as in evaluation.
  void draw(uint64_t key) { *draw_ = key; }
  size_t paths() const { return pairs_.size(); }
  void save(const std::filesystem::path& folder, const std::string& base_model);  // f32

 private:
  bool targeted(const std::string& module) const;

  LoraSettings settings_;
  uint64_t seed_;
  std::shared_ptr<uint64_t> draw_ = std::make_shared<uint64_t>(0);
  std::map<std::string, std::shared_ptr<nn::LowRankPair>> pairs_;  // by module
  std::set<std::string> seen_;                                     // every module that was asked for
};

// A PEFT folder: adapter_config.json and adapter_model.safetensors. `tensors` are named as there; modules that PEFT shall
// adapt follow from their names.
void save_peft(const std::filesystem::path& folder, const LoraSettings& settings, const std::string& base_model,
               const NamedTensors& tensors);

}  // namespace quern::models
