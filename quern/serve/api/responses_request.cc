// Converts items to messages: the items of one turn (text, calls, reasoning) become one assistant message.
#include <algorithm>
#include <optional>

#include "quern/serve/api/responses_api.h"
#include "quern/serve/wire/api_error.h"
#include "quern/serve/wire/generation_fields.h"

namespace quern::serve {
namespace {

constexpr std::string_view kLogprobs = "message.output_text.logprobs";

std::string content_text(const Json& content, const std::string& where) {
  if (content.is_string()) return content.as_string();
  if (!content.is_array()) bad_field(where, "expected a string or a list of parts");
  std::string all;
  for (size_t i = 0; i < content.as_array().size(); ++i) {
    const Json& part = content.as_array()[i];
    const std::string at = fmt::format("{}[{}]", where, i);
    const Fields f(part);
    const std::string type = f.text("type").value_or("");
    if (type != "input_text" && type != "output_text" && type != "text" && type != "reasoning_text" &&
        type != "summary_text" && type != "refusal")
      bad_field(at, "type '{}' is not supported: this server reads text only", type);
    const auto text = f.text(type == "refusal" ? "refusal" : "text");
    if (!text) bad_field(at + ".text", "expected a string");
    all += *text;
  }
  return all;
}

class Items {
 public:
  Items(Json messages, const StoredItems& stored) : stored_(stored), out_(std::move(messages)) {}

  void add(const Json& item, const std::string& where) {
    if (!item.is_object()) bad_field(where, "expected an object");
    const Fields f(item);
    const std::string type = f.text("type").value_or("message");
    if (type == "message") return message(f, where);
    if (type == "function_call") return call(f, needed(f, "arguments", where), where);
    if (type == "custom_tool_call") return call(f, input_arguments(needed(f, "input", where)), where);
    if (type == "function_call_output" || type == "custom_tool_call_output") return output(f, where);
    if (type == "reasoning") return reasoning(f, where);
    if (type == "item_reference") return reference(f, where);
    bad_field(where + ".type",
              "'{}' is not supported, expected message, function_call, function_call_output, custom_tool_call, "
              "custom_tool_call_output or reasoning",
              type);
  }
  Json take() {
    close();
    return std::move(out_);
  }

 private:
  static std::string needed(const Fields& f, const char* field, const std::string& where) {
    const auto v = f.text(field);
    if (!v) bad_field(fmt::format("{}.{}", where, field), "expected a string");
    return *v;
  }
  // What an assistant's turn gathers.
  void close() {
    if (turn_.is_null()) return;
    if (!turn_.find("content")) turn_.set("content", "");
    out_.push(std::exchange(turn_, Json()));
  }
  Json& turn() {
    if (turn_.is_null()) turn_.set("role", "assistant");
    return turn_;
  }

  void message(const Fields& f, const std::string& where) {
    const std::string role = needed(f, "role", where);
    const Json* content = f.find("content");
    if (!content) bad_field(where + ".content", "expected a string or a list of parts");
    const std::string text = content_text(*content, where + ".content");
    if (role == "assistant") {
      const bool there = turn_.find("content") || turn_.find("tool_calls");
      if (there) close();
      turn().set("content", text);
      return;
    }
    if (role != "user" && role != "system" && role != "developer")
      bad_field(where + ".role", "'{}' is unknown, expected user, assistant, system or developer", role);
    close();
    Json m = Json::object();
    m.set("role", role), m.set("content", text);
    out_.push(std::move(m));
  }
  void reference(const Fields& f, const std::string& where) {
    const std::string id = needed(f, "id", where);
    const auto item = stored_.store.output_item(id, stored_.who);
    if (!item)
      bad_field(where + ".id", "'{}' is no item of a stored response, or no longer: send the item itself", id);
    add(*item, where);
  }
  static std::string input_arguments(const std::string& input) {
    return Json(Json::Object{{std::string(kCustomInput), Json(input)}}).dump();
  }
  void call(const Fields& f, const std::string& arguments, const std::string& where) {
    Json function = Json::object(), one = Json::object(), calls = Json::array();
    function.set("name", needed(f, "name", where)), function.set("arguments", arguments);
    one.set("id", needed(f, "call_id", where)), one.set("type", "function"), one.set("function", std::move(function));
    if (const Json* before = turn().find("tool_calls")) calls = *before;
    calls.push(std::move(one));
    turn().set("tool_calls", std::move(calls));
  }
  void output(const Fields& f, const std::string& where) {
    close();
    const Json* result = f.find("output");
    if (!result) bad_field(where + ".output", "expected a string or a list of parts");
    Json m = Json::object();
    m.set("role", "tool"), m.set("content", content_text(*result, where + ".output"));
    m.set("tool_call_id", needed(f, "call_id", where));
    out_.push(std::move(m));
  }
  void reasoning(const Fields& f, const std::string& where) {
    if (f.find("encrypted_content")) bad_field(where + ".encrypted_content", "is not supported");
    close();
    std::string thought;
    for (const char* field : {"content", "summary"})
      if (const Json* parts = f.find(field); parts && thought.empty())
        thought = content_text(*parts, fmt::format("{}.{}", where, field));
    if (!thought.empty()) turn().set("reasoning_content", thought);
  }

  const StoredItems& stored_;
  Json out_, turn_;
};

void refuse_fields(const Fields& f) {
  auto refuse = [&](const char* field, const char* why) {
    if (f.find(field)) bad_field(field, "{}", why);
  };
  refuse("conversation", "is not supported: use previous_response_id");
  refuse("prompt", "is not supported: this server has no stored prompts");
  refuse("max_tool_calls", "is not supported: this server runs no tools");
  refuse("x_think", "is not supported here: use /v1/chat/completions");
  if (f.boolean("background").value_or(false)) bad_field("background", "is not supported");
  if (f.text("truncation").value_or("disabled") != "disabled")
    bad_field("truncation", "only \"disabled\" is supported: nothing is truncated silently");
  for (const std::string& what : f.texts("include"))
    if (what != "reasoning.encrypted_content" && what != kLogprobs)
      bad_field("include", "'{}' is not supported", what);
}

// {"type": "custom"} as a function of one text.
Json custom_function(const Json& t, const std::string& where) {
  Json parameters = Json::parse(R"({"type": "object", "required": ["input"], "additionalProperties": false})");
  Json input = Json::parse(R"({"type": "string"})"), properties = Json::object(), function = Json::object();
  if (const Json* format = t.find("format"); format && !format->is_null()) {
    const Fields f(*format);
    const std::string type = f.text("type").value_or("text"), syntax = f.text("syntax").value_or("");
    const auto definition = f.text("definition");
    if (type != "text" && (type != "grammar" || syntax != "regex" || !definition))
      bad_field(where + ".format", "only text, and a grammar of syntax regex with its definition, are supported");
    if (type == "grammar") input.set("pattern", "^(?:" + *definition + ")$");
  }
  properties.set(kCustomInput, std::move(input)), parameters.set("properties", std::move(properties));
  for (const char* same : {"name", "description"})
    if (const Json* v = t.find(same)) function.set(same, *v);
  function.set("parameters", std::move(parameters)), function.set("strict", true);
  return function;
}

Json chat_tools(const Json& list, std::vector<std::string>& custom) {
  if (!list.is_array()) bad_field("tools", "expected a list");
  Json out = Json::array();
  for (size_t i = 0; i < list.as_array().size(); ++i) {
    const Json& t = list.as_array()[i];
    const std::string where = fmt::format("tools[{}]", i), type = Fields(t).text("type").value_or("");
    if (type != "function" && type != "custom")
      bad_field(where + ".type",
                "'{}' is not supported, expected function or custom: this server has no built-in tools", type);
    Json function = t, one = Json::object();
    if (type == "custom") function = custom_function(t, where), custom.push_back(Fields(t).text("name").value_or(""));
    function.erase("type");
    one.set("type", "function"), one.set("function", std::move(function));
    out.push(std::move(one));
  }
  return out;
}

Json chat_choice(const Json& choice) {
  if (choice.is_string()) return choice;
  const Fields f(choice);
  const std::string type = f.text("type").value_or("");
  const auto name = f.text("name");
  Json out = Json::object(), inner = Json::object();
  if ((type == "function" || type == "custom") && name) {
    inner.set("name", *name), out.set("type", "function"), out.set("function", std::move(inner));
    return out;
  }
  const Json* tools = f.find("tools");
  if (type != "allowed_tools" || !tools || !tools->is_array())
    bad_field("tool_choice",
              "expected auto, none, required, {{\"type\": \"function\", \"name\": …}}, or allowed_tools with a list");
  Json list = Json::array();
  for (const Json& t : tools->as_array()) list.push(chat_choice(t));
  if (const Json* mode = f.find("mode")) inner.set("mode", *mode);
  inner.set("tools", std::move(list)), out.set("type", type), out.set("allowed_tools", std::move(inner));
  return out;
}

void read_format(const Json& text, Json& chat) {
  const Json* format = text.find("format");
  if (!format || format->is_null()) return;
  const std::string type = Fields(*format).text("type").value_or("");
  Json out = Json::object();
  out.set("type", type);
  if (type == "json_schema") out.set("json_schema", *format);
  chat.set("response_format", std::move(out));
}

void read_reasoning(const Fields& f, ResponseRequest& r) {
  if (const auto effort = f.text("effort")) r.chat.set("reasoning_effort", *effort);
  r.summary = f.text("summary") || f.text("generate_summary");
}

void read_logprobs(const Fields& f, Json& chat) {
  const auto top = f.integer("top_logprobs", 0, 20);
  const std::vector<std::string> include = f.texts("include");
  if (!top && std::ranges::find(include, kLogprobs) == include.end()) return;
  chat.set("logprobs", true), chat.set("top_logprobs", top.value_or(0));
}

// Instructions and the system messages that the input begins with are one: many templates know one, at the beginning.
Json with_instructions(const std::optional<std::string>& instructions, const Json& messages) {
  std::string system = instructions.value_or("");
  bool any = instructions.has_value(), begins = true;
  Json rest = Json::array(), out = Json::array();
  for (const Json& m : messages.as_array()) {
    const Json& role = m.at("role");
    begins = begins && (role == Json("system") || role == Json("developer"));
    if (begins)
      system += (any ? "\n\n" : "") + m.at("content").as_string(), any = true;
    else
      rest.push(m);
  }
  if (any) {
    Json m = Json::object();
    m.set("role", "system"), m.set("content", system);
    out.push(std::move(m));
  }
  for (Json& m : rest.items()) out.push(std::move(m));
  return out;
}

}  // namespace

ResponseRequest read_response_request(const Json& body, const StoredResponse* before, const StoredItems& stored) {
  const Fields f(body);
  refuse_fields(f);
  ResponseRequest r;
  const Json* input = f.find("input");
  if (!input || (!input->is_string() && !input->is_array()))
    bad_field("input", "expected a string or a list of items");
  if (input->is_string()) {
    Json m = Json::object();
    m.set("type", "message"), m.set("role", "user"), m.set("content", *input);
    r.input = Json(Json::Array{std::move(m)});
  } else {
    r.input = *input;
  }
  Items items(before ? before->messages : Json::array(), stored);
  for (size_t i = 0; i < r.input.as_array().size(); ++i)
    items.add(r.input.as_array()[i], fmt::format("input[{}]", i));
  r.messages = items.take();
  Json messages = with_instructions(f.text("instructions"), r.messages);
  if (messages.as_array().empty()) bad_field("input", "is empty");
  r.chat = Json::object();
  r.chat.set("messages", std::move(messages));
  for (const char* same :
       {"model", "temperature", "top_p", "stream", "seed", "parallel_tool_calls", "chat_template_kwargs",
        "thinking_budget", "x_memory", "x_documents", "timeout", "return_progress"})
    if (const Json* v = f.find(same)) r.chat.set(same, *v);
  if (const Json* v = f.find("max_output_tokens")) r.chat.set("max_completion_tokens", *v);
  if (const Json* tools = f.find("tools")) r.chat.set("tools", chat_tools(*tools, r.custom));
  if (const Json* choice = f.find("tool_choice")) r.chat.set("tool_choice", chat_choice(*choice));
  if (const Json* text = f.find("text")) read_format(*text, r.chat);
  if (const Json* reasoning = f.find("reasoning")) read_reasoning(Fields(*reasoning), r);
  read_logprobs(f, r.chat);
  return r;
}

}  // namespace quern::serve
