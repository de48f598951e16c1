// Thinking budget: after `tokens` tokens of thinking, the thinking is closed token by token and the answer begins.
// Wraps another constraint, or none.
#pragma once
#include <memory>
#include <vector>

#include "quern/infer/sampling/constraint.h"
#include "quern/text/tokenizer/tokenizer.h"

namespace quern::infer {

struct ThinkBudgetOptions {
  int64_t tokens = 0;
  bool opened = false;  // by the prompt; else the answer may open its thinking with <think>
};

// What closes a thinking before the model does.
std::vector<int32_t> thinking_close(const text::Tokenizer& tokenizer);

std::shared_ptr<const ConstraintSource> think_budget(const text::Tokenizer& tokenizer, ThinkBudgetOptions options,
                                                     std::shared_ptr<const ConstraintSource> inner = {});

}  // namespace quern::infer
