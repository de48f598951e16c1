// Starting on demand, lists and calls.
#include "quern/mcp/client/remote_server.h"

#include <algorithm>
#include <cmath>

namespace quern::mcp {
namespace {

constexpr double kListSeconds = 30, kMaxPause = 60;
constexpr std::chrono::seconds kListAge{60};
constexpr size_t kMaxListed = 2000;  // items, and pages

[[noreturn]] void broken(const std::string& what) { throw ClientError(ClientError::Kind::unreachable, what); }

std::string text_of(const Json& j, const char* key) {
  const Json* t = j.find(key);
  return t && t->is_string() ? t->as_string() : std::string();
}

Json object_of(const Json& j, const char* key) {
  const Json* o = j.find(key);
  return o && o->is_object() ? *o : Json();
}

// What a model reads of one part of a result.
std::string words_of(const Json& part) {
  const std::string type = text_of(part, "type");
  if (type == "text") return text_of(part, "text");
  if (type == "resource_link") return fmt::format("[resource {}]", text_of(part, "uri"));
  if (type == "resource") {
    const Json inner = object_of(part, "resource");
    const std::string text = text_of(inner, "text");
    return text.empty() ? fmt::format("[resource {}]", text_of(inner, "uri")) : text;
  }
  return fmt::format("[{}, {}, not readable here]", type, text_of(part, "mimeType"));
}

// People read names where they permit a call: nothing in them may move a terminal's cursor.
bool good_name(const std::string& name) {
  return !name.empty() && name.size() <= 256 &&
         std::none_of(name.begin(), name.end(), [](unsigned char c) { return c < ' ' || c == 127; });
}

void cut(std::string& text, size_t limit) {
  const size_t all = text.size();
  size_t end = limit;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;  // whole characters
  text.resize(end);
  text += fmt::format("\n[cut: the first {} of {} bytes]", end, all);
}

}  // namespace

RemoteResult read_result(const Json& result) {
  RemoteResult r;
  const Json *content = result.find("content"), *error = result.find("isError");
  r.structured = object_of(result, "structuredContent");
  r.is_error = error && *error == Json(true);
  if (content && !content->is_array()) broken("a tool result whose content is not a list");
  if (!content && r.structured.is_null()) broken("a tool result without content");
  if (content) r.content = *content;
  for (const Json& part : r.content.as_array()) {
    if (!part.is_object()) broken("a tool result with content that is not an object");
    r.text += (r.text.empty() ? "" : "\n") + words_of(part);
  }
  if (r.content.as_array().empty() && !r.structured.is_null()) r.text = r.structured.dump();
  if (r.text.size() > kMaxToolText) cut(r.text, kMaxToolText), r.truncated = true;
  return r;
}

ServerStatus RemoteServer::status() const {
  std::lock_guard lock(mutex_);
  const bool running = connection_ && connection_->open();
  ServerStatus s{.name = config_.name,
                 .transport = config_.over_http() ? "http" : "stdio",
                 .state = config_.disabled ? "disabled"
                          : running        ? "running"
                          : error_.empty() ? "idle"
                                           : "failed",
                 .error = error_,
                 .greeting = greeting_,
                 .tools = {},
                 .starts = starts_};
  if (listed_) s.tools = static_cast<int64_t>(listed_->tools.size());
  return s;
}

void RemoteServer::explain(const ClientError& e) const {
  throw ClientError(e.kind, fmt::format("MCP server '{}': {}", config_.name, e.what()));
}

std::shared_ptr<Connection> RemoteServer::connect() {
  if (config_.disabled) broken("it is disabled in the file that names the servers");
  std::lock_guard start(start_mutex_);
  std::shared_ptr<Connection> ended;  // ends outside the other lock
  {
    std::lock_guard lock(mutex_);
    if (connection_ && connection_->open()) return connection_;
    ended = std::move(connection_);
    connection_ = nullptr;
    const double pause = std::chrono::duration<double>(next_start_ - Clock::now()).count();
    if (pause > 0) broken(fmt::format("{}; the next attempt is possible in {:.0f} s", error_, std::ceil(pause)));
  }
  ended.reset();
  auto failed = [&](const std::string& why) {
    std::lock_guard lock(mutex_);
    error_ = why;
    const double pause = std::min(kMaxPause, std::pow(2.0, static_cast<double>(std::min<int64_t>(failures_, 10))));
    ++failures_;
    next_start_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(pause));
  };
  try {
    auto fresh = std::make_shared<Connection>(config_, client_version_);
    std::lock_guard lock(mutex_);
    connection_ = fresh, greeting_ = fresh->greeting();
    error_.clear(), failures_ = 0, ++starts_;
    return fresh;
  } catch (const ClientError& e) {
    failed(e.what());
    throw;
  } catch (const Error& e) {  // it refuses the handshake: no answer to what the caller asks
    const std::string why = config_.without_secrets(e.what());
    failed(why);
    broken(why);
  }
}

Json RemoteServer::ask(const std::string& method, const Json& params, const RequestOptions& options) {
  try {
    try {
      return connect()->request(method, params, options);
    } catch (const ClientError& e) {
      if (e.kind != ClientError::Kind::session_lost) throw;
      return connect()->request(method, params, options);  // the server has not taken it
    }
  } catch (const ClientError& e) {
    explain(e);
  }
}

Json RemoteServer::list_all(const std::string& method, const char* key) {
  Json all = Json::array(), params = Json::object();
  for (size_t pages = 0; pages < kMaxListed; ++pages) {
    const Json j = ask(method, params, {.seconds = kListSeconds});
    const Json *list = j.find(key), *next = j.find("nextCursor");
    if (!list || !list->is_array())
      explain(ClientError(ClientError::Kind::unreachable, fmt::format("its answer to {} has no {}", method, key)));
    for (const Json& one : list->as_array())
      if (one.is_object() && all.as_array().size() < kMaxListed) all.push(one);
    if (!next || !next->is_string() || next->as_string().empty() || all.as_array().size() >= kMaxListed) break;
    params.set("cursor", *next);
  }
  return all;
}

std::vector<RemoteTool> RemoteServer::tools() {
  std::shared_ptr<Connection> connection;
  try {
    connection = connect();
  } catch (const ClientError& e) {
    explain(e);
  }
  const int changes = connection->changes();
  {
    std::lock_guard lock(mutex_);
    if (listed_ && listed_->from == connection.get() && listed_->changes == changes &&
        Clock::now() - listed_->at < kListAge)
      return listed_->tools;
  }
  ToolList fresh{.tools = {}, .changes = changes, .from = connection.get(), .at = Clock::now()};
  const Json all = connection->greeting().tools ? list_all("tools/list", "tools") : Json::array();
  for (const Json& j : all.as_array()) {
    RemoteTool t{.name = text_of(j, "name"),
                 .title = text_of(j, "title"),
                 .description = text_of(j, "description"),
                 .input_schema = object_of(j, "inputSchema"),
                 .output_schema = object_of(j, "outputSchema"),
                 .annotations = object_of(j, "annotations")};
    if (good_name(t.name)) fresh.tools.push_back(std::move(t));
  }
  std::lock_guard lock(mutex_);
  listed_ = fresh;
  return fresh.tools;
}

Json RemoteServer::resources() {
  try {
    if (!connect()->greeting().resources) return Json::array();
  } catch (const ClientError& e) {
    explain(e);
  }
  Json all = list_all("resources/list", "resources");
  try {
    const Json templates = list_all("resources/templates/list", "resourceTemplates");
    for (const Json& t : templates.as_array()) all.push(t);
  } catch (const RpcError& e) {  // templates are optional
    if (!e.is(RpcCode::method_not_found)) throw;
  }
  return all;
}

Json RemoteServer::prompts() {
  try {
    if (!connect()->greeting().prompts) return Json::array();
  } catch (const ClientError& e) {
    explain(e);
  }
  return list_all("prompts/list", "prompts");
}

RemoteResult RemoteServer::call(const std::string& tool, const Json& arguments, RequestOptions options) {
  Json params = Json::object();
  params.set("name", tool), params.set("arguments", arguments);
  try {
    return read_result(ask("tools/call", params, options));
  } catch (const RpcError& e) {  // a mistake that the model may mend
    return {.content = Json::array(), .structured = {}, .text = e.what(), .is_error = true};
  }
}

Json RemoteServer::read_resource(const std::string& uri, RequestOptions options) {
  Json params = Json::object();
  params.set("uri", uri);
  return ask("resources/read", params, options);
}

Json RemoteServer::get_prompt(const std::string& prompt, const Json& arguments, RequestOptions options) {
  Json params = Json::object();
  params.set("name", prompt), params.set("arguments", arguments);
  return ask("prompts/get", params, options);
}

}  // namespace quern::mcp
