// The tools run the APIs of `quern serve` without a connection, as streams: progress and cancellation go with the pieces.
#include "quern/mcp/offers/model_offers.h"

#include <algorithm>

#include "quern/base/nearest.h"
#include "quern/mcp/protocol/event_reader.h"
#include "quern/serve/api/chat_api.h"
#include "quern/serve/api/completion_api.h"
#include "quern/serve/http/memory_exchange.h"
#include "quern/serve/wire/api_error.h"

namespace quern::mcp {
namespace {

// The model that the arguments name, else the first.
std::shared_ptr<serve::ServedModel> model_in(serve::ModelManager& models, const Json& arguments) {
  const std::vector<std::string> ids = models.ids();
  const Json* named = arguments.find("model");
  const std::string name = named ? named->as_string() : ids[0];
  if (std::find(ids.begin(), ids.end(), name) == ids.end())
    fail("there is no model '{}'{}; there are: {}", name, did_you_mean(name, ids), fmt::join(ids, ", "));
  auto m = models.get(name);
  if (m->encoder) fail("model '{}' is an encoder: it generates no text", name);
  return m;
}

struct Streamed {
  std::string text, reasoning, finish, error;
  Json usage;
};

// One chunk of either API's stream.
void take_chunk(const Json& j, Streamed& s) {
  if (const Json* e = j.find("error")) s.error = e->at("message").as_string();
  if (const Json* u = j.find("usage"); u && u->is_object()) s.usage = *u;
  const Json* choices = j.find("choices");
  if (!choices || choices->as_array().empty()) return;
  const Json& c = choices->as_array()[0];
  const Json* delta = c.find("delta");
  auto add = [](std::string& to, const Json* piece) {
    if (piece && piece->is_string()) to += piece->as_string();
  };
  add(s.text, delta ? delta->find("content") : c.find("text"));
  if (delta) add(s.reasoning, delta->find("reasoning_content"));
  if (const Json* f = c.find("finish_reason"); f && f->is_string()) s.finish = f->as_string();
}

// Runs an API call, streamed; `call` serves the exchange.
template <class F>
ToolResult run_streamed(const Json& body, CallContext& context, F&& call) {
  Streamed s;
  EventReader events;
  int64_t pieces = 0;
  const Json* limit = body.find("max_tokens");
  const auto total = static_cast<double>(limit ? limit->as_int() : 0);
  serve::MemoryExchange e(body.dump(), [&](std::string_view data) {
    events.feed(data);
    while (const auto event = events.next())
      if (event->data != "[DONE]") take_chunk(Json::parse(event->data, "the stream"), s);
    context.progress(static_cast<double>(++pieces), total, {});
    return !context.cancelled();
  });
  call(e);
  if (!s.error.empty()) fail("{}", s.error);
  if (e.gone()) fail("the call was cancelled");
  ToolResult r = ToolResult::text(s.text);
  r.structured.set("text", s.text), r.structured.set("finish_reason", s.finish);
  if (!s.reasoning.empty()) r.structured.set("reasoning", s.reasoning);
  if (!s.usage.is_null()) r.structured.set("usage", s.usage);
  return r;
}

// The arguments as a request's body.
Json body_of(const Json& arguments) {
  Json body = arguments;
  body.erase("model"), body.set("stream", true);
  body.set("stream_options", Json::parse(R"({"include_usage": true})"));
  return body;
}

ToolResult chat(serve::ModelManager& models, const Json& arguments, CallContext& context) {
  const auto m = model_in(models, arguments);
  Json body = body_of(arguments);
  body.set("return_progress", true);
  if (const Json* schema = arguments.find("json_schema")) {
    Json named = Json::object(), format = Json::object();
    named.set("name", "answer"), named.set("schema", *schema);
    format.set("type", "json_schema"), format.set("json_schema", std::move(named));
    body.set("response_format", std::move(format)), body.erase("json_schema");
  }
  return run_streamed(body, context, [&](serve::Exchange& e) {
    serve::chat_completions(*m, e, {.body = body, .memory = {}, .documents = {}, .conversation = {}, .question = {}},
                            "");
  });
}

ToolResult generate(serve::ModelManager& models, const Json& arguments, CallContext& context) {
  const auto m = model_in(models, arguments);
  const Json body = body_of(arguments);
  return run_streamed(body, context, [&](serve::Exchange& e) { serve::completions(*m, e, body); });
}

ToolResult tokenize(serve::ModelManager& models, const Json& arguments) {
  constexpr size_t kMaxShown = 4096;
  const auto m = model_in(models, arguments);
  const std::vector<int32_t> ids =
      m->tokenizer.encode(arguments.at("text").as_string(), {.add_special_tokens = false});
  Json list = Json::array();
  for (size_t i = 0; i < std::min(ids.size(), kMaxShown); ++i) list.push(ids[i]);
  ToolResult r = ToolResult::text(fmt::format("{} tokens", ids.size()));
  r.structured.set("count", static_cast<int64_t>(ids.size())), r.structured.set("tokens", std::move(list));
  r.structured.set("context", m->max_tokens());
  return r;
}

constexpr const char* kSampling = R"("max_tokens": {"type": "integer", "minimum": 1, "maximum": 1000000,
    "description": "The maximum number of tokens to generate; 512 when absent"},
  "temperature": {"type": "number", "minimum": 0, "maximum": 2, "description": "0 always takes the likeliest token"},
  "stop": {"type": "array", "items": {"type": "string", "minLength": 1}, "maxItems": 8,
    "description": "Texts at which the answer ends"},
  "seed": {"type": "integer", "minimum": 0, "maximum": 4294967295, "description": "The same seed gives the same answer"})";

constexpr const char* kMessages = R"("messages": {"type": "array", "minItems": 1, "maxItems": 1000,
    "description": "The conversation, oldest first; the last message is the user's",
    "items": {"type": "object", "properties": {
      "role": {"enum": ["system", "user", "assistant"]}, "content": {"type": "string"}},
      "required": ["role", "content"], "additionalProperties": false}},
  "json_schema": {"type": "object", "description": "A JSON Schema that the answer has to follow"})";

// A schema with the names of the models.
Json schema(const serve::ModelManager& models, const std::string& own, const char* required) {
  Json names = Json::array();
  for (const std::string& id : models.ids()) names.push(id);
  return Json::parse(fmt::format(R"({{"type": "object", "properties": {{{}, "model": {{"enum": {},
    "description": "Which model; the first when absent"}}}}, "required": ["{}"], "additionalProperties": false}})",
                                 own, names.dump(), required));
}

// 512 tokens unless the call says otherwise: a client waits for the whole result.
Json with_limit(const Json& arguments) {
  Json a = arguments;
  if (!a.find("max_tokens")) a.set("max_tokens", 512);
  return a;
}

}  // namespace

void offer_models(Server& server, serve::ModelManager& models) {
  server.add_tool({.name = "chat",
                   .title = "Chat with a model",
                   .description = "Sends messages to a local language model and returns its answer.",
                   .input_schema = schema(models, std::string(kMessages) + ", " + kSampling, "messages"),
                   .read_only = true},
                  [&models](const Json& a, CallContext& c) { return chat(models, with_limit(a), c); });
  server.add_tool(
      {.name = "generate",
       .title = "Continue a text",
       .description = "Lets a local language model continue a text as it stands, without a chat template.",
       .input_schema = schema(models,
                              std::string(R"("prompt": {"type": "string", "minLength": 1, "maxLength": 1000000,
    "description": "The text to continue"}, )") +
                                  kSampling,
                              "prompt"),
       .read_only = true},
      [&models](const Json& a, CallContext& c) { return generate(models, with_limit(a), c); });
  server.add_tool({.name = "tokenize",
                   .title = "Count tokens",
                   .description = "Counts the tokens of a text for a model and returns their ids, the first 4096.",
                   .input_schema = schema(models, R"("text": {"type": "string", "maxLength": 10000000,
    "description": "The text"})",
                                          "text"),
                   .read_only = true,
                   .idempotent = true},
                  [&models](const Json& a, CallContext&) { return tokenize(models, a); });
}

}  // namespace quern::mcp
