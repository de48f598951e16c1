// Fill in the middle: prompts of models that were trained to write what stands between two texts. Such a model has tokens
// for prefix, suffix and middle; which ones depends on its family.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "quern/serve/models/served_model.h"

namespace quern::serve {

struct FillTokens {
  int32_t prefix = -1, suffix = -1, middle = -1;
  int32_t repo = -1, file = -1;  // around other files of a repository; −1: none
};
std::optional<FillTokens> fill_tokens(const text::Tokenizer& tokenizer);

struct FillText {
  std::string prefix, suffix, begun = {};  // begun: how the middle begins
  struct File {
    std::string name, text;
  };
  std::vector<File> others = {};  // that stand before it
};
// An ApiError when the model has no such tokens.
std::vector<int32_t> fill_prompt(const ServedModel& m, const FillText& t);
// The middle ends where a token of these begins.
std::vector<int64_t> fill_stops(const text::Tokenizer& tokenizer);

FillText read_fill(const Json& body);  // input_prefix, input_suffix, input_extra, prompt

}  // namespace quern::serve
