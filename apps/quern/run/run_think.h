// quern run --think: test-time compute on one question; progress on stderr, the chosen response on stdout.
#pragma once
#include <string>

#include "quern/reason/think.h"

namespace quern {

struct ThinkingRun {
  std::string question, system;
  ThinkPlan plan;
  GenerateOptions options;
  EngineOptions engine;  // its tokenizer is there; sessions follow the plan
  bool json = false;
};

int answer_by_thinking(Model& model, const ChatTemplate& chat_template, const ThinkingRun& run);

}  // namespace quern
