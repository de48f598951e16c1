#include "quern/capi/chat_setup.h"

#include "quern/base/nearest.h"
#include "quern/infer/sampling/think_budget.h"
#include "quern/serve/chat/chat_messages.h"

namespace quern::capi {
namespace {

Json with_messages(Json setup, const Json& messages) {
  setup.set("messages", messages);
  return setup;
}

}  // namespace

void check_messages(const Json& messages) {
  if (messages.is_array() && messages.as_array().empty()) return;
  serve::read_messages(with_messages(Json::object(), messages));
}

void check_setup(const Json& setup) {
  const std::vector<std::string> names = {
      "tools", "tool_choice", "parallel_tool_calls", "chat_template_kwargs", "reasoning_effort", "thinking_budget"};
  for (const auto& [name, value] : setup.as_object("setup"))
    if (std::ranges::find(names, name) == names.end())
      fail("setup: unknown name '{}'{}", name, did_you_mean(name, names));
  serve::read_tools(serve::Fields(setup));
  serve::ChatRequest().thinking_budget(serve::Fields(setup));
}

ReplyParts::ReplyParts(quern_model& m, const Json& setup, const Json& messages) : model_(m) {
  if (messages.as_array().empty()) fail("the chat is empty: add a message first");
  const Json body = with_messages(setup, messages);
  const text::PromptText prompt = serve::render_chat(m.chat_template, m.tokenizer, serve::Fields(body), request_);
  thinking_budget_ = request_.thinking_budget(serve::Fields(body));
  request_.prompt = prompt.encode(m.tokenizer);
  request_.think_start = serve::think_start(prompt, m.chat_template, m.tokenizer, request_);
  split_ = serve::ReasoningSplit(
      request_.think_start, request_.thinking_off ? serve::ReasoningSplit::Cut::yes : serve::ReasoningSplit::Cut::no);
  if (request_.format) calls_ = serve::ToolStream(*request_.format, request_.tools);
}

void ReplyParts::constrain(infer::GenerateOptions& options) {
  if (options.constraint && request_.tools.active())
    fail("tools: cannot be combined with a constraint on the reply, unless tool_choice is none");
  if (request_.tools.forced())
    options.constraint =
        model_.call_grammars.calls(*request_.format, request_.tools, model_.tokenizer, request_.form_start());
  if (thinking_budget_)
    options.constraint = infer::think_budget(
        model_.tokenizer, {.tokens = *thinking_budget_, .opened = request_.think_start == infer::ThinkStart::opened},
        options.constraint);
}

ReplyParts::Part ReplyParts::take(const serve::ReasoningSplit::SplitText& part) {
  Part out{.reasoning = part.reasoning, .content = calls_.push(part.content).content};
  reasoning_ += out.reasoning, content_ += out.content;
  return out;
}

ReplyParts::Part ReplyParts::push(std::string_view text) { return take(split_.push(text)); }

ReplyParts::Part ReplyParts::finish() {
  Part out = take(split_.finish());
  const std::string rest = calls_.finish().content;
  out.content += rest, content_ += rest;
  return out;
}

Json ReplyParts::message() const {
  Json m = Json::object();
  m.set("role", "assistant"), m.set("content", content_);
  if (!reasoning_.empty()) m.set("reasoning_content", reasoning_);
  if (calls_.calls().empty()) return m;
  Json calls = Json::array();
  for (const serve::ToolCall& c : calls_.calls()) calls.push(c.json());
  m.set("tool_calls", std::move(calls));
  return m;
}

Json ReplyParts::history(const std::string& text) const {
  if (!calls_.calls().empty()) return message();
  Json m = Json::object();
  m.set("role", "assistant"), m.set("content", text);
  return m;
}

}  // namespace quern::capi
