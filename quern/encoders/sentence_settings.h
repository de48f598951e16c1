// What a folder says about turning hidden rows into one vector per text: the files of sentence-transformers
// (modules.json, 1_Pooling/config.json, sentence_bert_config.json, config_sentence_transformers.json) and the limits of
// the tokenizer. A folder without them gives the mean of all tokens, as there.
#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "quern/encoders/layers.h"

namespace quern::encoders {

enum class PoolingMode : uint8_t { cls, mean, max, mean_sqrt_length };

struct SentenceSettings {
  std::vector<PoolingMode> pooling{PoolingMode::mean};  // several: side by side
  int64_t max_tokens = 0;                               // 0: the files set no limit
  bool lowercase = false;
  std::map<std::string, std::string> prompts = {};  // by name
  std::string default_prompt = {};                  // a name; empty: none
};

// Throws Error naming a module or pooling mode that is not supported.
SentenceSettings read_sentence_settings(const std::filesystem::path& folder);

// One row per text, of length 1: [texts, modes · D].
Tensor pool(const Tensor& hidden_TD, const TokenBatch& batch, const std::vector<PoolingMode>& modes);

}  // namespace quern::encoders
