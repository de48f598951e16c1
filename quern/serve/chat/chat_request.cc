// Reading chat requests.
#include "quern/serve/chat/chat_request.h"

#include <algorithm>
#include <iterator>

#include "quern/infer/sampling/think_budget.h"
#include "quern/serve/chat/chat_messages.h"
#include "quern/serve/wire/api_error.h"
#include "quern/text/chat/chat_prompt.h"

namespace quern::serve {
namespace {

// A method without sizes gets the paper's.
std::string with_sizes(const std::string& plan) {
  const size_t end = std::min(plan.find_first_of(":,"), plan.size());
  if (end < plan.size() && plan[end] == ':') return plan;
  const std::string method = plan.substr(0, end), rest = plan.substr(end);
  if (method == "vote" || method == "best") return method + ":8" + rest;
  if (method == "delethink") return method + ":4" + rest;
  if (method == "rsa" || method == "mrsa" || method == "pacore" || method == "hybrid")
    return method + ":16x4x2" + rest;
  return plan;
}

void refuse_unsupported(const Fields& f) {
  auto refuse = [&](const char* field, const char* what) {
    if (!f.find(field)) return;
    ApiError e(400, "invalid_request_error", "unsupported_parameter", fmt::format("{}: {}", field, what));
    e.param = field;
    throw e;
  };
  for (const char* old : {"functions", "function_call"}) refuse(old, "is not supported: use tools and tool_choice");
  refuse("audio", "this server reads and writes text only");
  refuse("prediction", "is not supported");
  refuse("web_search_options", "this server has no built-in tools");
  for (const std::string& m : f.texts("modalities"))
    if (m != "text") refuse("modalities", "this server reads and writes text only");
}

// The names a template is given beside the messages.
Json template_names(const Fields& f) {
  Json more = Json::object();
  if (const Json* kwargs = f.find("chat_template_kwargs")) {
    if (!kwargs->is_object()) bad_field("chat_template_kwargs", "expected an object");
    more = *kwargs;
  }
  if (const auto effort = f.text("reasoning_effort")) {
    if (!more.find("reasoning_effort")) more.set("reasoning_effort", *effort);
    if (*effort == "none" && !more.find("enable_thinking")) more.set("enable_thinking", false);
  }
  return more;
}

// A model whose generation_config.json says so answers greedily, unless the request asks for sampling or for choices.
bool greedy(const models::GenerationConfig& g, const Fields& f, const ChatRequest& r) {
  if (!g.greedy || r.n > 1 || r.plan) return false;
  constexpr const char* kSampled[] = {"temperature", "top_p",       "top_k",          "min_p",
                                      "typical_p",   "top_n_sigma", "xtc_probability"};
  return std::none_of(std::begin(kSampled), std::end(kSampled), [&](const char* name) { return f.find(name); });
}

}  // namespace

// Of a model's name, NAME:PLAN.
reason::ThinkPlan read_named_plan(const std::string& plan) {
  try {
    return read_think(Json(plan));
  } catch (const ApiError& e) {
    ApiError x(404, "invalid_request_error", "model_not_found",
               fmt::format("':{}' after the model's name is no variant of it and no plan ({})", plan, e.what()));
    x.param = "model";
    throw x;
  }
}

reason::ThinkPlan read_think(const Json& field) {
  try {
    if (field.is_string()) return reason::parse_plan(with_sizes(field.as_string()));
    if (!field.is_object()) bad_field("x_think", "expected a plan like \"mrsa:16x4x2\" or an object");
    const Fields f(field);
    const std::string method = f.text("method").value_or("mrsa");
    std::string text = method;
    const int64_t n = f.integer("n", 1, 1024).value_or(16), c = f.integer("c", 1, 1024).value_or(4),
                  t = f.integer("t", 0, 64).value_or(2);
    if (method == "vote" || method == "best") text += fmt::format(":{}", n);
    if (method == "delethink") text += fmt::format(":{}", t);
    if (method == "rsa" || method == "mrsa" || method == "pacore" || method == "hybrid")
      text += fmt::format(":{}x{}x{}", n, c, t);
    for (const char* key : {"beta", "tau", "final", "seed"})
      if (auto v = f.integer(key, 0, int64_t{1} << 32)) text += fmt::format(",{}={}", key, *v);
    return reason::parse_plan(text);
  } catch (const ApiError&) {
    throw;
  } catch (const Error& e) {
    bad_field("x_think", "{}", e.what());
  }
}

namespace {

// What the context leaves for an answer. A model without positions goes on behind its context.
int64_t output_room(const ServedModel& m, int64_t used) {
  const int64_t left = m.max_tokens() - used;
  return m.model->max_positions() < models::kAnyLength ? left : std::max(left, infer::GenerateOptions().max_tokens);
}

}  // namespace

int64_t token_budget(const ServedModel& m, size_t prompt, std::optional<int64_t> wish, const char* field) {
  const int64_t context = m.model->max_positions(), used = static_cast<int64_t>(prompt);
  if (used + wish.value_or(1) <= context) return wish.value_or(output_room(m, used));
  ApiError e(
      400, "invalid_request_error", "context_length_exceeded",
      wish ? fmt::format("this model's context is {} tokens; the prompt has {} and {} asks for {} more, {} in all",
                         context, used, field, *wish, used + *wish)
           : fmt::format("this model's context is {} tokens; the prompt has {}", context, used));
  e.param = wish && used < context ? field : "messages";
  throw e;
}

namespace {

// The assistant's message that the answer continues: the last one, where a field (vLLM's) or the message itself
// (Mistral's and DeepSeek's) says so. Null: the answer is a new message.
Json continued_message(const Fields& f) {
  const Json* list = f.find("messages");
  if (!list || !list->is_array() || list->as_array().empty()) return {};
  const Json& last = list->as_array().back();
  const Json* prefix = last.find("prefix");
  if (!f.boolean("continue_final_message").value_or(prefix && *prefix == Json(true))) return {};
  const std::string where = fmt::format("messages[{}]", list->as_array().size() - 1);
  Json alone = Json::object();
  alone.set("messages", Json(Json::Array{last}));
  Json m = read_messages(alone).as_array()[0];
  if (m.at("role") != Json("assistant")) bad_field(where + ".role", "only an assistant's message can be continued");
  if (m.find("tool_calls")) bad_field(where + ".tool_calls", "a message with calls cannot be continued");
  if (list->as_array().size() < 2) bad_field("messages", "expected a message before the one to be continued");
  return m;
}

Json without_last(const Json& body) {
  Json out = body, messages = body.at("messages");
  messages.items().pop_back();
  out.set("messages", std::move(messages));
  return out;
}

// Thinking that the template has opened and the message does not hold is closed: the message is the answer already.
std::string continued_text(const Json& m, bool opened) {
  const Json* thought = m.find("reasoning_content");
  const std::string& said = m.at("content").as_string();
  const bool thinks = thought && !thought->as_string().empty();
  std::string text;
  if (thinks) text += (opened ? "" : "<think>\n") + thought->as_string();
  if (!said.empty() && (thinks || opened)) text += "\n</think>\n\n";
  return text + said;
}

}  // namespace

text::PromptText render_chat(const ServedModel& m, const Fields& f, ChatRequest& r) {
  const Json last = continued_message(f);
  if (last.is_null()) return render_chat(m.chat_template, m.tokenizer, f, r);
  text::PromptText p = render_chat(m.chat_template, m.tokenizer, Fields(without_last(f.body())), r);
  const std::string begun = continued_text(last, p.opens_thinking());
  r.continues = !begun.empty();
  p.append(text::turn_start(m.chat_template, m.tokenizer, begun));
  return p;
}

text::PromptText render_chat(const text::ChatTemplate& chat_template, const text::Tokenizer& tokenizer,
                             const Fields& f, ChatRequest& r) {
  r.messages = read_messages(f.body());
  r.tools = read_tools(f);
  Json more = template_names(f);
  if (r.tools.active()) r.format = &tool_format_of(chat_template.source());
  if (!template_knows_tools(chat_template.source()))
    r.messages = tools_in_words(r.messages, r.tools);
  else if (r.tools.active())
    more.set("tools", r.tools.json());
  const Json* thinking = more.find("enable_thinking");
  r.thinking_off =
      thinking && *thinking == Json(false) && chat_template.source().find("enable_thinking") == std::string::npos;
  try {
    return text::chat_prompt(chat_template, tokenizer, r.messages, more);
  } catch (const Error& e) {
    bad_field("messages", "the chat template rejects them: {}", e.what());
  }
}

std::optional<int64_t> ChatRequest::thinking_budget(const Fields& f) const {
  const auto budget = f.integer("thinking_budget", 0, int64_t{1} << 31);
  return thinking_off && !continues ? 0 : budget;
}

infer::ThinkStart think_start(const text::PromptText& prompt, const text::ChatTemplate& chat_template,
                              const text::Tokenizer& tokenizer, const ChatRequest& r) {
  if (prompt.opens_thinking()) return infer::ThinkStart::opened;
  if (r.continues) return infer::ThinkStart::none;
  // A template that knows where the thinking of an answer ends is that of a model that begins one by itself.
  const bool thinks = chat_template.source().find("</think>") != std::string::npos;
  return thinks && tokenizer.token_to_id("<think>") < 0 ? infer::ThinkStart::may_spell : infer::ThinkStart::may_open;
}

namespace {

struct ReadConstraint {
  std::shared_ptr<const infer::ConstraintSource> source = {};
  bool words = true;  // the answer may be words: its calls alone are constrained, if anything
};

// What the answer has to be: a form, calls, calls or a form, words and calls that follow their schemas, or anything.
ReadConstraint read_constraint(const ServedModel& m, const Fields& f, const ChatRequest& r) {
  if (!r.tools.active()) {
    auto form = m.constraints->read(f, m.tokenizer, r.form_start());
    return {form, form == nullptr};
  }
  if (auto either = m.constraints->answer_or_calls(f, *r.format, r.tools, m.tokenizer, r.form_start()))
    return {either, false};
  if (r.tools.forced()) return {m.constraints->calls(*r.format, r.tools, m.tokenizer, r.form_start()), false};
  if (r.tools.strict()) return {m.constraints->strict_calls(*r.format, r.tools, m.tokenizer, r.form_start())};
  return {};
}

}  // namespace

int64_t count_prompt(const ServedModel& m, const Json& body) {
  ChatRequest r;
  return static_cast<int64_t>(render_chat(m, Fields(body), r).encode(m.tokenizer).size());
}

ChatRequest read_chat_request(const ServedModel& m, const Json& body, const std::string& plan, MaxTokens max_tokens) {
  const Fields f(body);
  refuse_unsupported(f);
  ChatRequest r;
  r.options = read_generation(f, m.defaults, m.tokenizer, m.model->vocab_size());
  r.options.adapters = m.adapters;
  r.n = f.integer("n", 1, 64).value_or(1);
  r.seconds = read_timeout(f);
  r.stream = f.boolean("stream").value_or(false);
  if (const Json* o = f.find("stream_options")) r.include_usage = Fields(*o).boolean("include_usage").value_or(false);
  r.progress = f.boolean("return_progress").value_or(false);
  r.logprobs = f.boolean("logprobs").value_or(false);
  const auto top = f.integer("top_logprobs", 0, 20);
  if (top && !r.logprobs) bad_field("top_logprobs", "needs logprobs: true");
  r.options.top_logprobs = top.value_or(0);
  if (const Json* t = f.find("x_think"))
    r.plan = read_think(*t);
  else if (!plan.empty())
    r.plan = read_named_plan(plan);
  if (greedy(m.defaults, f, r)) r.options.sampling.temperature = 0;
  const text::PromptText rendered = render_chat(m, f, r);
  r.prompt = rendered.encode(m.tokenizer);
  r.think_start = think_start(rendered, m.chat_template, m.tokenizer, r);
  if (r.plan && r.tools.active()) bad_field("x_think", "cannot be combined with tools");
  const ReadConstraint constraint = read_constraint(m, f, r);
  r.options.constraint = constraint.source;
  if (r.continues && (r.plan || !constraint.words))
    bad_field("messages",
              "the last one is the beginning of the answer: it cannot be combined with a plan, a required call or "
              "another constraint on the answer");
  if (const auto budget = r.thinking_budget(f); budget && !(r.plan && r.thinking_off))
    r.options.constraint = infer::think_budget(
        m.tokenizer, {.tokens = *budget, .opened = r.think_start == infer::ThinkStart::opened}, r.options.constraint);
  if (r.options.constraint && r.plan)
    bad_field("x_think", "cannot be combined with a constraint on the answer or a thinking_budget");
  const bool newer = f.find("max_completion_tokens") != nullptr;
  const char* field = newer ? "max_completion_tokens" : "max_tokens";
  std::optional<int64_t> wish = f.integer(field, 1, int64_t{1} << 31);
  const int64_t left = output_room(m, static_cast<int64_t>(r.prompt.size()));
  if (max_tokens == MaxTokens::up_to_context && wish && left > 0) wish = std::min(*wish, left);
  r.options.max_tokens = token_budget(m, r.prompt.size(), wish, field);
  return r;
}

}  // namespace quern::serve
