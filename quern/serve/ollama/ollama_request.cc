// Options become fields of the body; images and templates are refused by name.
#include "quern/serve/ollama/ollama_request.h"

#include <charconv>

#include "quern/serve/llama/llama_fields.h"
#include "quern/serve/wire/api_error.h"

namespace quern::serve {
namespace {

// Of options, those that say how this machine computes: it decides that itself.
constexpr const char* kOfTheMachine[] = {
    "num_ctx",  "num_batch", "num_gpu",          "main_gpu",      "use_mmap",   "use_mlock", "num_thread", "numa",
    "low_vram", "num_keep",  "penalize_newline", "repeat_last_n", "vocab_only", "f16_kv",    "logits_all", "tfs_z"};

void refuse(const Fields& f, const char* field, const char* why) {
  const Json* v = f.find(field);
  if (v && *v != Json("") && *v != Json::array()) bad_field(field, "{}", why);
}

Json shared_fields(const Json& body, const text::Tokenizer& tokenizer) {
  const Fields f(body);
  refuse(f, "images", "are not supported: this server reads text only");
  refuse(f, "template", "is not supported: the model's own chat template is used");
  Json out = Json::object();
  if (const Json* options = f.find("options")) {
    if (!options->is_object()) bad_field("options", "expected an object");
    Json given = *options;
    for (const char* name : kOfTheMachine) given.erase(name);
    out = own_fields(given, tokenizer);
  }
  for (const char* same : {"logprobs", "top_logprobs"})
    if (const Json* v = f.find(same)) out.set(same, *v);
  if (const Json* format = f.find("format"); format && *format != Json("")) {
    Json outputs = Json::object();
    if (*format == Json("json"))
      outputs.set("json_object", true);
    else if (format->is_object())
      outputs.set("json", *format);
    else
      bad_field("format", "expected json, or a JSON Schema");
    out.set("structured_outputs", std::move(outputs));
  }
  if (const Json* think = f.find("think")) {
    if (!think->is_bool() && !think->is_string()) bad_field("think", "expected true, false, or low, medium or high");
    Json kwargs = Json::object();
    kwargs.set("enable_thinking", *think != Json(false));
    out.set("chat_template_kwargs", std::move(kwargs));
    if (think->is_string()) out.set("reasoning_effort", *think);
  }
  out.set("stream", f.boolean("stream").value_or(true));
  return out;
}

Json own_message(const Json& m, const std::string& where) {
  if (!m.is_object()) bad_field(where, "expected an object");
  refuse(Fields(m), "images", "are not supported: this server reads text only");
  Json out = Json::object();
  for (const char* same : {"role", "content", "tool_calls"})
    if (const Json* v = m.find(same); v && !v->is_null()) out.set(same, *v);
  if (const Json* thinking = m.find("thinking"); thinking && thinking->is_string())
    out.set("reasoning_content", *thinking);
  if (const Json* name = m.find("tool_name"); name && name->is_string()) out.set("name", *name);
  if (!out.find("content")) out.set("content", "");
  return out;
}

}  // namespace

std::string ollama_model_id(const Json& body) {
  const Fields f(body);
  auto name = f.text("model");
  if (!name) name = f.text("name");
  if (!name || name->empty()) bad_field("model", "expected the name of a model: GET /api/tags lists them");
  constexpr std::string_view kLatest = ":latest";
  return name->ends_with(kLatest) ? name->substr(0, name->size() - kLatest.size()) : *name;
}

Json ollama_chat_body(const Json& body, const text::Tokenizer& tokenizer) {
  Json out = shared_fields(body, tokenizer), messages = Json::array();
  const Json* list = Fields(body).find("messages");
  if (!list || !list->is_array()) bad_field("messages", "expected a list");
  for (const Json& m : list->as_array())
    messages.push(own_message(m, fmt::format("messages[{}]", messages.as_array().size())));
  out.set("messages", std::move(messages));
  if (const Json* tools = Fields(body).find("tools")) out.set("tools", *tools);
  return out;
}

Json ollama_prompt_body(const Json& body, const text::Tokenizer& tokenizer) {
  const Fields f(body);
  Json out = shared_fields(body, tokenizer), messages = Json::array();
  const auto message = [&](const char* role, const std::string& content) {
    Json m = Json::object();
    m.set("role", role), m.set("content", content);
    messages.push(std::move(m));
  };
  if (const auto system = f.text("system"); system && !system->empty()) message("system", *system);
  message("user", f.text("prompt").value_or(""));
  out.set("messages", std::move(messages));
  return out;
}

bool only_loads(const Json& body) {
  const Fields f(body);
  if (const Json* list = f.find("messages")) return list->is_array() && list->as_array().empty();
  return f.text("prompt").value_or("").empty() && f.text("suffix").value_or("").empty();
}

std::optional<double> ollama_keep_alive(const Json& body) {
  const Json* v = Fields(body).find("keep_alive");
  if (!v) return std::nullopt;
  constexpr const char* kExpected = "expected seconds, or a duration such as 5m";
  if (v->is_number()) return v->as_double();
  if (!v->is_string()) bad_field("keep_alive", "{}", kExpected);
  const std::string& text = v->as_string();
  const bool negative = text.starts_with('-');
  std::string_view rest = std::string_view(text).substr(negative ? 1 : 0);
  double seconds = 0;
  if (rest.empty()) bad_field("keep_alive", "'{}': {}", text, kExpected);
  while (!rest.empty()) {
    double number = 0;
    const auto [end, bad] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    if (bad != std::errc() || !(number >= 0)) bad_field("keep_alive", "'{}': {}", text, kExpected);
    rest.remove_prefix(static_cast<size_t>(end - rest.data()));
    const size_t unit = std::min(rest.find_first_of("0123456789."), rest.size());
    const std::string_view name = rest.substr(0, unit);
    const double factor = name == "h"                   ? 3600
                          : name == "m"                 ? 60
                          : name == "s" || name.empty() ? 1
                          : name == "ms"                ? 1e-3
                                                        : -1;
    if (factor < 0) bad_field("keep_alive", "'{}': {}", text, kExpected);
    seconds += number * factor;
    rest.remove_prefix(unit);
  }
  return negative ? -seconds : seconds;
}

}  // namespace quern::serve
