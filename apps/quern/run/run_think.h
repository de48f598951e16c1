// quern run --think: test-time compute on one question; progress on stderr, the chosen response on stdout.
#pragma once
#include <string>

#include "quern/reason/think.h"

namespace quern::cli {

struct ThinkingRun {
  std::string question, system;
  reason::ThinkPlan plan;
  infer::GenerateOptions options;
  infer::EngineOptions engine;  // its tokenizer is there; sessions follow the plan
  bool json = false;
};

int answer_by_thinking(models::Model& model, const text::ChatTemplate& chat_template, const ThinkingRun& run);

}  // namespace quern::cli
