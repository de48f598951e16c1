// Llama and its like (Mistral, Qwen2, Qwen3): pre-norm blocks of attention and a dense FFN.
#pragma once
#include "quern/models/llama/llama_config.h"
#include "quern/models/pre_norm_model.h"

namespace quern::models {

class LlamaModel : public PreNormModel {
 public:
  explicit LlamaModel(LlamaConfig config);

  std::string family() const override { return "llama"; }
  int64_t max_positions() const override { return context_; }
  Json config() const override { return config_.to_hf(); }
  bool ignorable(const std::string& tensor) const override;

 private:
  LlamaConfig config_;
  int64_t context_;
};

}  // namespace quern::models
