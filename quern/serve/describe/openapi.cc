// Writes paths, parameters, bodies and answers; what every endpoint has in common is written here once.
#include "quern/serve/describe/openapi.h"

#include "quern/base/error.h"
#include "quern/base/settings.h"
#include "quern/infer/engine/request.h"

namespace quern::serve {
namespace {

struct Failure {
  const char *need, *status, *meaning;
  const char* schema = nullptr;  // of the body, if it is not the API's own; "": there is no body
};
// In which ways an endpoint may fail. "any" is of all of them, "key" of those that may want one.
constexpr Failure kFailures[] = {
    {"any", "400", "the request is not valid: `param` names the field"},
    {"key", "401", "an API key is required, or the key is wrong"},
    {"rights", "403", "this server was started without the permission that this needs"},
    {"body", "403", "the API key may not use this model, or not this endpoint"},
    {"key_model", "403", "the API key may not use this model"},
    {"page", "403", "a browser page of this origin may not use this"},
    {"user", "403", "the API key has a memory of its own and sees no other one"},
    {"admin", "403", "the API key may search; an admin key changes the documents"},
    {"model", "404", "no such model"},
    {"id", "404", "there is nothing of this name or id"},
    {"any", "408", "the request did not arrive in time", ""},
    {"conflict", "409", "not possible in the state that it is in"},
    {"body", "413", "the body is too long", "Error"},
    {"any", "414", "the request line is too long", "Error"},
    {"any", "429", "too many requests: try again after `retry-after` seconds"},
    {"any", "431", "the headers are too long", "Error"},
    {"any", "500", "a fault of the server"},
    {"any", "501", "a transfer encoding that this server does not know", "Error"},
    {"any", "503", "too many connections, a model that does not fit into memory, or a server that stops"},
    {"upstream", "502", "an MCP server cannot be reached"},
    {"ready", "503", "why it is not ready", "Unready"},
    {"run", "504", "the request timed out before its first token"},
    {"upstream", "504", "an MCP server gave no answer in time"},
    {"any", "505", "a version of HTTP that this server does not speak", "Error"},
    {"disk", "507", "the disk is full, or the limit for stored files is reached"},
};

Json text(std::string_view s) { return Json(s); }

Json one(const char* key, Json value) {
  Json j = Json::object();
  j.set(key, std::move(value));
  return j;
}

std::string member(const Json& j, const char* key, const char* otherwise) {
  const Json* v = j.find(key);
  return v ? v->as_string(key) : otherwise;
}

bool flag(const Json& j, const char* key) {
  const Json* v = j.find(key);
  return v && v->as_bool(key);
}

bool needs(const Json& about, std::string_view what) {
  const Json* list = about.find("needs");
  if (!list) return false;
  for (const Json& n : list->as_array("needs"))
    if (n.as_string() == what) return true;
  return false;
}

Json content(const std::string& type, const Json& schema) {
  return one(type.c_str(), one("schema", named_schema(schema)));
}

// A server-sent event: its data is the text of a JSON value.
Json event_schema(const Json& data) {
  Json j = Json::object(), properties = Json::object(), text = one("type", "string");
  text.set("contentMediaType", "application/json"), text.set("contentSchema", named_schema(data));
  properties.set("data", std::move(text)), properties.set("event", one("type", "string"));
  j.set("type", "object"), j.set("required", Json(Json::Array{"data"})), j.set("properties", std::move(properties));
  return j;
}

// In the path, {name}: a text.
Json parameters(const std::string& path, const Json& about) {
  Json list = Json::array();
  for (size_t at = path.find('{'); at != path.npos; at = path.find('{', at + 1)) {
    Json p = Json::object(), schema = Json::object();
    schema.set("type", "string"), schema.set("minLength", 1);
    p.set("name", path.substr(at + 1, path.find('}', at) - at - 1)), p.set("in", "path"), p.set("required", true);
    p.set("schema", std::move(schema));
    list.push(std::move(p));
  }
  if (const Json* query = about.find("query"))
    for (const auto& [name, schema] : query->as_object("query")) {
      Json p = Json::object(), type = schema;
      p.set("name", name), p.set("in", "query"), p.set("required", false);
      if (const Json* d = schema.find("description")) p.set("description", *d);
      type.erase("description");
      p.set("schema", std::move(type));
      list.push(std::move(p));
    }
  return list;
}

Json body_schema(const Json& about) {
  Json schema = about.at("body");
  if (!flag(about, "generation")) return schema;
  Json properties = schema.at("properties", "a body with generation fields");
  const Json sampling = generation_schemas();
  for (const auto& [name, field] : sampling.as_object())
    if (!properties.find(name)) properties.set(name, field);
  schema.set("properties", std::move(properties));
  return schema;
}

Json request_body(const Json& about) {
  Json j = Json::object();
  j.set("required", !flag(about, "body_optional"));
  j.set("content", content(member(about, "body_type", "application/json"), body_schema(about)));
  return j;
}

Json failures(const DescribedRoute& route, const Json& about) {
  Json all = Json::object();
  const std::string schema = member(about, "error", "Error");
  for (const Failure& f : kFailures) {
    const std::string_view need = f.need;
    const bool applies = need == "any" || (need == "key" && !route.open) || (need == "body" && about.find("body")) ||
                         needs(about, need);
    if (!applies) continue;
    Json answer = Json::object();
    const Json* same = all.find(f.status);
    answer.set("description", same ? same->at("description").as_string() + "; or: " + f.meaning : f.meaning);
    const std::string body = f.schema ? f.schema : schema;
    if (!body.empty()) answer.set("content", content("application/json", text(body)));
    all.set(f.status, std::move(answer));
  }
  return all;
}

Json answers(const DescribedRoute& route, const Json& about) {
  Json all = Json::object(), good = Json::object();
  Json types = content(member(about, "answer_type", "application/json"), about.at("answer"));
  if (const Json* stream = about.find("stream")) {
    const std::string type = member(about, "stream_type", "text/event-stream");
    types.set(type, one("schema", type == "text/event-stream" ? event_schema(*stream) : named_schema(*stream)));
  }
  good.set("description", "done"), good.set("content", std::move(types));
  if (!needs(about, "refused")) all.set(member(about, "status", "200"), std::move(good));
  const Json failed = failures(route, about);
  for (const auto& [status, answer] : failed.as_object()) all.set(status, answer);
  return all;
}

// "post_v1_chat_completions"
std::string operation_id(const std::string& method, const std::string& path) {
  std::string id;
  for (char c : method) id += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (char c : path) {
    const bool part = std::isalnum(static_cast<unsigned char>(c)) != 0;
    if (part)
      id += c;
    else if (id.back() != '_')
      id += '_';
  }
  while (id.ends_with('_')) id.pop_back();
  return id;
}

Json operation(const DescribedRoute& route, const std::string& path, const Json& about) {
  Json j = Json::object();
  j.set("operationId", operation_id(route.method, path));
  j.set("tags", Json(Json::Array{about.at("tag")})), j.set("summary", about.at("summary"));
  if (route.open) j.set("security", Json::array());
  if (Json list = parameters(path, about); !list.as_array().empty()) j.set("parameters", std::move(list));
  if (about.find("body")) j.set("requestBody", request_body(about));
  j.set("responses", answers(route, about));
  return j;
}

void add(const DescribedRoute& route, const Json& about, Json& paths) {
  const std::string path = member(about, "path", route.path.c_str());
  QUERN_CHECK(path.starts_with(route.path), "the route {} describes {}", route.path, path);
  std::string method;
  for (char c : route.method) method += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const Json* there = paths.find(path);
  Json item = there ? *there : Json::object();
  QUERN_CHECK(!item.find(method), "{} {} is described twice", route.method, path);
  item.set(method, operation(route, path, about));
  paths.set(path, std::move(item));
}

Json security_schemes() {
  Json bearer = Json::object(), key = Json::object(), j = Json::object();
  bearer.set("type", "http"), bearer.set("scheme", "bearer");
  key.set("type", "apiKey"), key.set("in", "header"), key.set("name", "x-api-key");
  j.set("bearer", std::move(bearer)), j.set("api_key", std::move(key));
  return j;
}

Json type_schema(const SettingInfo& s) {
  Json j = Json::object(), types = Json::array();
  const bool whole = s.type == SettingType::integer, number = whole || s.type == SettingType::number;
  if (number) {
    const Bounds& b = s.setting.request.bounded() ? s.setting.request : s.setting.range;
    types.push(whole ? "integer" : "number");
    if (b.min > -1e300)
      j.set(b.above_min ? "exclusiveMinimum" : "minimum", whole ? Json(static_cast<int64_t>(b.min)) : Json(b.min));
    if (b.max < 1e300) j.set("maximum", whole ? Json(static_cast<int64_t>(b.max)) : Json(b.max));
  } else if (s.type == SettingType::toggle) {
    types.push("boolean");
  } else if (s.name == "logit_bias") {
    types.push("object");
    Json bias = Json::object(), names = Json::object();
    bias.set("type", "number"), bias.set("minimum", -100), bias.set("maximum", 100);
    names.set("pattern", "^[0-9]+$");
    j.set("additionalProperties", std::move(bias)), j.set("propertyNames", std::move(names));
  } else {
    types.push("string"), types.push("array");
    Json item = one("type", "string");
    if (s.setting.max_bytes > 0) item.set("minLength", 1), item.set("maxLength", s.setting.max_bytes);
    if (s.setting.max_items > 0) j.set("maxItems", s.setting.max_items);
    j.set("items", std::move(item));
  }
  types.push("null");  // the same as leaving it out
  j.set("type", std::move(types)), j.set("description", s.help);
  return j;
}

}  // namespace

Json named_schema(const Json& schema) {
  if (!schema.is_string()) return schema;
  return one("$ref", "#/components/schemas/" + schema.as_string());
}

Json generation_schemas() {
  Json all = Json::object();
  for (const SettingInfo& s : list_settings(infer::GenerateOptions()))
    if (s.setting.in_request) all.set(s.name, type_schema(s));
  all.set("priority", Json::parse(R"({"type": ["integer", "null"], "minimum": -1000000, "maximum": 1000000})"));
  return all;
}

Json openapi_document(const std::vector<DescribedRoute>& routes, const OpenApiOptions& options) {
  Json j = Json::object(), info = Json::object(), paths = Json::object(), components = Json::object(),
       security = Json::array();
  info.set("title", "Quern"), info.set("version", options.version);
  info.set("summary", "small language models on CPUs, by the APIs of OpenAI, Anthropic, llama-server and Ollama");
  for (const DescribedRoute& r : routes) {
    if (r.about.empty()) continue;
    const Json about = Json::parse(r.about, "the description of " + r.path);
    if (about.is_object()) add(r, about, paths);
    if (about.is_array())
      for (const Json& one : about.as_array()) add(r, one, paths);
  }
  components.set("schemas", component_schemas()), components.set("securitySchemes", security_schemes());
  if (!options.needs_key) security.push(Json::object());
  security.push(one("bearer", Json::array())), security.push(one("api_key", Json::array()));
  j.set("openapi", "3.1.0"), j.set("info", std::move(info));
  j.set("servers", Json(Json::Array{one("url", options.prefix.empty() ? "/" : options.prefix)}));
  j.set("security", std::move(security));
  j.set("paths", std::move(paths)), j.set("components", std::move(components));
  return j;
}

}  // namespace quern::serve
