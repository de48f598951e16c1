// A chat request, read and checked. Every chat API converts its own fields into this form.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "quern/serve/models/served_model.h"
#include "quern/serve/tools/tool_format.h"
#include "quern/serve/wire/generation_fields.h"
#include "quern/text/chat/chat_prompt.h"

namespace quern::serve {

struct ChatRequest {
  Json messages;  // as the template was given them
  ToolUse tools;
  const ToolFormat* format = nullptr;  // how calls are written; null: nobody may call
  bool continues = false;              // the answer goes on from a given beginning, the last message
  std::vector<int32_t> prompt;
  infer::ThinkStart think_start = infer::ThinkStart::may_open;
  bool thinking_off = false;  // asked for, of a template that cannot: the engine has to see to it
  infer::GenerateOptions options;
  int64_t n = 1;
  bool stream = false, include_usage = false, logprobs = false;
  bool progress = false;  // the stream tells how much of the prompt is read
  double seconds = 0;     // the answer ends as it is after so long; 0 = when it ends
  std::optional<reason::ThinkPlan> plan;

  // Where what the answer is held to begins.
  infer::ThinkStart form_start() const {
    return thinking_off && think_start != infer::ThinkStart::opened ? infer::ThinkStart::none : think_start;
  }
  // How many tokens of thinking are left to it; without one, as many as it wants.
  std::optional<int64_t> thinking_budget(const Fields& f) const;
};

// Whether a maximum beyond the model's context is refused, or means the rest of the context.
enum class MaxTokens { within_context, up_to_context };

ChatRequest read_chat_request(const ServedModel& m, const Json& body, const std::string& plan,
                              MaxTokens max_tokens = MaxTokens::within_context);

// Messages and tools of a request into r, and the prompt the template makes of them; of a served model, with the
// beginning of the answer if the request gives one.
text::PromptText render_chat(const ServedModel& m, const Fields& f, ChatRequest& r);
text::PromptText render_chat(const text::ChatTemplate& chat_template, const text::Tokenizer& tokenizer,
                             const Fields& f, ChatRequest& r);

// Where the answer to that prompt of the request begins.
infer::ThinkStart think_start(const text::PromptText& prompt, const text::ChatTemplate& chat_template,
                              const text::Tokenizer& tokenizer, const ChatRequest& r);

// The plan of a model's name or an x_think field: "mrsa", "mrsa:16x4x2,beta=2048", or an object
// {"method", "n", "c", "t", "beta", "tau", "final", "seed"}.
reason::ThinkPlan read_think(const Json& field);

// How many tokens may follow a prompt; an ApiError with numbers when prompt and wish do not fit the context.
int64_t token_budget(const ServedModel& m, size_t prompt, std::optional<int64_t> wish, const char* field);
// How many tokens a request's prompt has.
int64_t count_prompt(const ServedModel& m, const Json& body);

}  // namespace quern::serve
