// quern run --think: one question, thought about by a plan; progress on stderr, the chosen response on stdout.
#pragma once
#include <string>

#include "quern/reason/think.h"

namespace quern {

struct ThinkingRun {
  std::string question, system;
  ThinkPlan plan;
  GenerateOptions options;
  DType kv = DType::bf16;
  bool json = false;
};

int answer_by_thinking(Model& model, const Tokenizer& tokenizer, const ChatTemplate& chat_template,
                       const ThinkingRun& run);

}  // namespace quern
