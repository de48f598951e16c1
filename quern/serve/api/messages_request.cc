// Converts Anthropic messages to the OpenAI form: tool results become messages of their own, blocks become texts and
// calls.
#include <optional>

#include "quern/serve/api/messages_api.h"
#include "quern/serve/wire/generation_fields.h"

namespace quern::serve {
namespace {

std::string type_of(const Json& block, const std::string& where) {
  const Json* type = block.find("type");
  if (!type || !type->is_string()) bad_field(where, "expected an object with a type");
  return type->as_string();
}

std::string text_of(const Json& block, const char* field, const std::string& where) {
  const Json* text = block.find(field);
  if (!text || !text->is_string()) bad_field(fmt::format("{}.{}", where, field), "expected a string");
  return text->as_string();
}

// The text of a block that says something: text, a document that is text, a search result. Empty: it is none of them.
std::optional<std::string> block_text(const Json& block, const std::string& type, const std::string& where);

// A string, or blocks that are texts.
std::string plain_text(const Json* j, const std::string& where) {
  if (!j || j->is_null()) return {};
  if (j->is_string()) return j->as_string();
  if (!j->is_array()) bad_field(where, "expected a string or a list of text blocks");
  std::string all;
  for (size_t i = 0; i < j->as_array().size(); ++i) {
    const Json& block = j->as_array()[i];
    const std::string at = fmt::format("{}[{}]", where, i), type = type_of(block, at);
    const auto text = block_text(block, type, at);
    if (!text) bad_field(at, "type '{}' is not supported here: this server reads text only", type);
    all += (i > 0 ? "\n" : "") + *text;
  }
  return all;
}

std::string titled(const Json& block, const std::string& text) {
  const auto title = Fields(block).text("title");
  return title ? *title + "\n\n" + text : text;
}

std::optional<std::string> block_text(const Json& block, const std::string& type, const std::string& where) {
  if (type == "text") return text_of(block, "text", where);
  if (type == "search_result") return titled(block, plain_text(block.find("content"), where + ".content"));
  if (type != "document") return std::nullopt;
  const Json* source = block.find("source");
  const std::string at = where + ".source", kind = source ? type_of(*source, at) : "";
  if (kind == "text") return titled(block, text_of(*source, "data", at));
  if (kind == "content") return titled(block, plain_text(source->find("content"), at + ".content"));
  bad_field(at, "type '{}' is not supported: this server reads documents of text only", kind);
}

Json message(const char* role, const std::string& content) {
  Json m = Json::object();
  m.set("role", role), m.set("content", content);
  return m;
}

void add_user(const Json::Array& blocks, const std::string& where, Json& out) {
  std::string said;
  bool any = false;
  for (size_t i = 0; i < blocks.size(); ++i) {
    const std::string at = fmt::format("{}.content[{}]", where, i), type = type_of(blocks[i], at);
    if (const auto text = block_text(blocks[i], type, at)) {
      said += (any ? "\n" : "") + *text;
      any = true;
    } else if (type == "tool_result") {
      std::string result = plain_text(blocks[i].find("content"), at + ".content");
      if (const Json* bad = blocks[i].find("is_error"); bad && *bad == Json(true)) result = "Error: " + result;
      Json m = message("tool", result);
      m.set("tool_call_id", text_of(blocks[i], "tool_use_id", at));
      out.push(std::move(m));
    } else {
      bad_field(at, "type '{}' is not supported: this server reads text and tool results", type);
    }
  }
  if (any || blocks.empty()) out.push(message("user", said));
}

void add_assistant(const Json::Array& blocks, const std::string& where, Json& out) {
  std::string said, thought;
  Json calls = Json::array();
  for (size_t i = 0; i < blocks.size(); ++i) {
    const std::string at = fmt::format("{}.content[{}]", where, i), type = type_of(blocks[i], at);
    if (type == "text") {
      said += text_of(blocks[i], "text", at);
    } else if (type == "thinking") {
      thought += text_of(blocks[i], "thinking", at);
    } else if (type == "tool_use") {
      Json function = Json::object(), call = Json::object();
      const Json* input = blocks[i].find("input");
      if (!input || !input->is_object()) bad_field(at + ".input", "expected an object");
      function.set("name", text_of(blocks[i], "name", at)), function.set("arguments", *input);
      call.set("id", text_of(blocks[i], "id", at)), call.set("type", "function"), call.set("function", function);
      calls.push(std::move(call));
    } else if (type != "redacted_thinking") {  // nobody but its server can read it
      bad_field(at, "type '{}' is not supported: this server reads text, thinking and tool_use", type);
    }
  }
  Json m = message("assistant", said);
  if (!thought.empty()) m.set("reasoning_content", thought);
  if (!calls.as_array().empty()) m.set("tool_calls", std::move(calls));
  out.push(std::move(m));
}

Json read_turns(const Json& body) {
  Json out = Json::array();
  if (const Json* system = body.find("system"); system && !system->is_null())
    out.push(message("system", plain_text(system, "system")));
  const Json* list = body.find("messages");
  if (!list || !list->is_array() || list->as_array().empty())
    bad_field("messages", "expected a list with at least one message");
  for (size_t i = 0; i < list->as_array().size(); ++i) {
    const Json& m = list->as_array()[i];
    const std::string where = fmt::format("messages[{}]", i);
    const Json* role = m.find("role");
    const Json* content = m.find("content");
    const bool user = role && *role == Json("user"), assistant = role && *role == Json("assistant");
    if (!user && !assistant) bad_field(where + ".role", "expected user or assistant");
    if (content && content->is_string())
      out.push(message(user ? "user" : "assistant", content->as_string()));
    else if (!content || !content->is_array())
      bad_field(where + ".content", "expected a string or a list of blocks");
    else if (user)
      add_user(content->as_array(), where, out);
    else
      add_assistant(content->as_array(), where, out);
  }
  return out;
}

Json read_anthropic_tools(const Json& list) {
  if (!list.is_array()) bad_field("tools", "expected a list");
  Json out = Json::array();
  for (size_t i = 0; i < list.as_array().size(); ++i) {
    const Json& t = list.as_array()[i];
    const std::string where = fmt::format("tools[{}]", i);
    if (const Json* type = t.find("type"); type && !type->is_null() && *type != Json("custom"))
      bad_field(where + ".type", "{} is not supported: this server has no built-in tools", type->dump());
    const Json* schema = t.find("input_schema");
    if (!schema || !schema->is_object()) bad_field(where + ".input_schema", "expected a JSON Schema, an object");
    Json function = Json::object(), one = Json::object();
    function.set("name", text_of(t, "name", where)), function.set("parameters", *schema);
    for (const char* same : {"description", "strict"})
      if (const Json* v = t.find(same)) function.set(same, *v);
    one.set("type", "function"), one.set("function", std::move(function));
    out.push(std::move(one));
  }
  return out;
}

void read_anthropic_choice(const Json& choice, Json& out) {
  const std::string type = type_of(choice, "tool_choice");
  if (type == "auto" || type == "none") {
    out.set("tool_choice", type);
  } else if (type == "any") {
    out.set("tool_choice", "required");
  } else if (type == "tool") {
    Json named = Json::object(), function = Json::object();
    function.set("name", text_of(choice, "name", "tool_choice"));
    named.set("type", "function"), named.set("function", std::move(function));
    out.set("tool_choice", std::move(named));
  } else {
    bad_field("tool_choice.type", "'{}': expected auto, any, tool or none", type);
  }
  if (Fields(choice).boolean("disable_parallel_tool_use").value_or(false)) out.set("parallel_tool_calls", false);
}

// Thinking of earlier turns may be left out: of all but the last `keep` assistant messages that have any.
void clear_thinking(const Json& edit, Json& messages, const std::string& where) {
  const Json* keep = edit.find("keep");
  if (keep && *keep == Json("all")) return;
  int64_t left = 1;
  if (keep && keep->is_object()) left = Fields(*keep).integer("value", 1, 1 << 30).value_or(1);
  if (keep && !keep->is_object() && !keep->is_null())
    bad_field(where + ".keep", "expected \"all\" or {{\"type\": \"thinking_turns\", \"value\": N}}");
  for (size_t i = messages.items().size(); i-- > 0;)
    if (Json& m = messages.items()[i]; m.find("reasoning_content") && left-- <= 0) m.erase("reasoning_content");
}

void manage_context(const Json& management, Json& messages) {
  const Json* edits = management.find("edits");
  if (!edits || edits->is_null()) return;
  if (!edits->is_array()) bad_field("context_management.edits", "expected a list");
  for (size_t i = 0; i < edits->as_array().size(); ++i) {
    const std::string at = fmt::format("context_management.edits[{}]", i);
    const std::string type = type_of(edits->as_array()[i], at);
    if (!type.starts_with("clear_thinking_"))
      bad_field(at + ".type", "'{}' is not supported: this server removes thinking only; shorten the messages", type);
    clear_thinking(edits->as_array()[i], messages, at);
  }
}

// output_config {"effort", "format"}, and output_format as it was called first.
void read_output(const Fields& f, Json& out) {
  const Json* config = f.find("output_config");
  const Json* format = config ? config->find("format") : f.find("output_format");
  if (config)
    if (const auto effort = Fields(*config).text("effort")) out.set("reasoning_effort", *effort);
  if (!format || format->is_null()) return;
  Json wanted = Json::object();
  wanted.set("type", type_of(*format, "output_config.format")), wanted.set("json_schema", *format);
  out.set("response_format", std::move(wanted));
}

void read_thinking(const Json& thinking, Json& out) {
  const std::string type = type_of(thinking, "thinking");
  if (type != "enabled" && type != "disabled" && type != "adaptive")
    bad_field("thinking.type", "'{}': expected enabled, disabled or adaptive", type);
  Json kwargs = Json::object();
  kwargs.set("enable_thinking", type != "disabled");
  out.set("chat_template_kwargs", std::move(kwargs));
  if (const auto budget = Fields(thinking).integer("budget_tokens", 1, int64_t{1} << 31))
    out.set("thinking_budget", *budget);
}

}  // namespace

Json chat_body_of_messages(const Json& body) {
  const Fields f(body);
  for (const char* field : {"mcp_servers", "container"})
    if (f.find(field)) bad_field(field, "is not supported by this server");
  Json out = Json::object(), messages = read_turns(body);
  if (const Json* management = f.find("context_management")) manage_context(*management, messages);
  if (messages.as_array().back().at("role") == Json("assistant")) out.set("continue_final_message", true);
  out.set("messages", std::move(messages));
  if (const Json* tools = f.find("tools")) out.set("tools", read_anthropic_tools(*tools));
  if (const Json* choice = f.find("tool_choice")) read_anthropic_choice(*choice, out);
  for (const char* same : {"model", "max_tokens", "temperature", "top_p", "top_k", "stream", "seed", "x_think",
                           "x_memory", "x_documents", "timeout", "return_progress"})
    if (const Json* v = f.find(same)) out.set(same, *v);
  if (const Json* stop = f.find("stop_sequences")) {
    if (!stop->is_array()) bad_field("stop_sequences", "expected a list of strings");
    out.set("stop", *stop);
  }
  if (const Json* thinking = f.find("thinking")) read_thinking(*thinking, out);
  read_output(f, out);
  return out;
}

}  // namespace quern::serve
