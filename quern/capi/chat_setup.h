// What a reply is made with beside its messages, and what it is made of: quern_chat_setup and quern_chat_message of
// quern.h. Messages, tools and calls have the forms of the OpenAI API, read as the server reads them.
#pragma once
#include "quern/capi/handles.h"
#include "quern/serve/chat/chat_request.h"
#include "quern/serve/chat/reasoning_split.h"
#include "quern/serve/tools/tool_stream.h"

namespace quern::capi {

void check_messages(const Json& messages);  // throws Error naming the message; an empty list is fine
void check_setup(const Json& setup);        // throws Error naming the field

// A reply: its prompt, and its text split into reasoning, content and tool calls.
class ReplyParts {
 public:
  ReplyParts(quern_model& m, const Json& setup, const Json& messages);
  ReplyParts(const ReplyParts&) = delete;  // the stream of calls points into it
  ReplyParts& operator=(const ReplyParts&) = delete;
  const std::vector<int32_t>& prompt() const { return request_.prompt; }
  infer::ThinkStart form_start() const { return request_.form_start(); }
  const Json& messages() const { return request_.messages; }  // as the template was given them
  bool may_call() const { return request_.tools.active(); }
  void constrain(infer::GenerateOptions& options);  // to calls, where one is required; to a thinking budget

  struct Part {
    std::string reasoning, content;
  };
  Part push(std::string_view text);
  Part finish();  // what was held back
  Json message() const;
  Json history(const std::string& text) const;  // the message as it is kept: its text as it came, unless it calls

 private:
  Part take(const serve::ReasoningSplit::SplitText& part);
  quern_model& model_;
  serve::ChatRequest request_;
  std::optional<int64_t> thinking_budget_;
  serve::ReasoningSplit split_{infer::ThinkStart::may_open};
  serve::ToolStream calls_;
  std::string reasoning_, content_;
};

}  // namespace quern::capi
