// One client: the handshake, or requests that carry their version; requests that run, and their cancellation.
#include <algorithm>
#include <chrono>

#include "quern/mcp/protocol/versions.h"
#include "quern/mcp/server/server.h"

namespace quern::mcp {

// A request while it runs, so that it can be cancelled.
class Session::Running {
 public:
  Running(Session& s, const Json& id)
      : session_(s), key_(id.dump()), cancelled_(std::make_shared<std::atomic<bool>>()) {
    std::lock_guard lock(s.mutex_);
    if (!s.running_.emplace(key_, cancelled_).second)
      throw RpcError(RpcCode::invalid_request, fmt::format("id {}: a request of this id is running", key_));
  }
  ~Running() {
    std::lock_guard lock(session_.mutex_);
    session_.running_.erase(key_);
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  bool cancelled() const { return *cancelled_; }

 private:
  Session& session_;
  std::string key_;
  std::shared_ptr<std::atomic<bool>> cancelled_;
};

class Session::Call final : public CallContext {
 public:
  Call(const Running* running, Outlet& out, const Json& params, LogLevel level)
      : running_(running), out_(out), level_(level) {
    const Json* meta = params.find("_meta");
    if (const Json* token = meta ? meta->find("progressToken") : nullptr) token_ = *token;
  }
  bool cancelled() const override { return (running_ && running_->cancelled()) || out_.gone(); }
  void progress(double done, double total, const std::string& message) override {
    if (token_.is_null()) return out_.keep_alive();
    const auto now = std::chrono::steady_clock::now();
    if (done <= last_ || now - said_ < std::chrono::milliseconds(200)) return;  // it has to grow
    last_ = done, said_ = now;
    Json j = Json::object();
    j.set("progressToken", token_), j.set("progress", done);
    if (total > 0) j.set("total", total);
    if (!message.empty()) j.set("message", message);
    out_.notify(notification_json("notifications/progress", std::move(j)));
  }
  void log(LogLevel level, const std::string& text) override {
    if (level < level_) return;
    Json j = Json::object();
    j.set("level", log_level_name(level)), j.set("logger", "quern"), j.set("data", text);
    out_.notify(notification_json("notifications/message", std::move(j)));
  }

 private:
  const Running* running_;
  Outlet& out_;
  LogLevel level_;
  Json token_;
  double last_ = -1;
  std::chrono::steady_clock::time_point said_{};
};

bool is_stateless(const Message& m) {
  const Json* meta = m.params.find("_meta");
  return m.method != "initialize" && meta && meta->find(kVersionKey);
}

bool Session::initialized() const { return !version().empty(); }

std::string Session::version() const {
  std::lock_guard lock(mutex_);
  return version_;
}

int Session::running() const {
  std::lock_guard lock(mutex_);
  return static_cast<int>(running_.size());
}

void Session::cancel_all() {
  std::lock_guard lock(mutex_);
  for (const auto& [id, flag] : running_) *flag = true;
}

void Session::cancel(const Json& params) {
  const Json* id = params.find("requestId");
  if (!id) return;
  std::lock_guard lock(mutex_);
  if (const auto at = running_.find(id->dump()); at != running_.end()) *at->second = true;
}

Json Session::initialize(const Json& params) {
  const Json *asked = params.find("protocolVersion"), *client = params.find("clientInfo"),
             *capabilities = params.find("capabilities");
  if (!asked || !asked->is_string())
    throw RpcError(RpcCode::invalid_params, "params.protocolVersion: expected a version such as \"2025-11-25\"");
  if (!client || !client->is_object())
    throw RpcError(RpcCode::invalid_params, "params.clientInfo: expected an object");
  if (!capabilities || !capabilities->is_object())
    throw RpcError(RpcCode::invalid_params, "params.capabilities: expected an object");
  Json j = Json::object();
  {
    std::lock_guard lock(mutex_);
    if (!version_.empty()) throw RpcError(RpcCode::invalid_request, "the session is initialized already");
    version_ = agreed_version(asked->as_string());
    j.set("protocolVersion", version_);
  }
  j.set("capabilities", server_.capabilities()), j.set("serverInfo", server_.info());
  if (!server_.instructions_.empty()) j.set("instructions", server_.instructions_);
  return j;
}

void Session::set_level(const Json& params) {
  const Json* level = params.find("level");
  const auto found = level && level->is_string() ? log_level_of(level->as_string()) : std::nullopt;
  if (!found)
    throw RpcError(RpcCode::invalid_params,
                   "params.level: expected debug, info, notice, warning, error, critical, alert or emergency");
  std::lock_guard lock(mutex_);
  level_ = *found;
}

Json Session::shared(const Message& m, Call& call) const {
  const std::string& method = m.method;
  if (method == "tools/list" && !server_.tools_.empty()) return server_.list_tools(m.params);
  if (method == "tools/call" && !server_.tools_.empty())
    return Server::call_tool(server_.find_tool(m.params), m.params, call);
  if (!server_.sources_.empty()) {
    if (method == "resources/list") return server_.list_resources(m.params);
    if (method == "resources/templates/list") return server_.list_templates(m.params);
    if (method == "resources/read") return server_.read_resource(m.params);
  }
  if (!server_.prompts_.empty()) {
    if (method == "prompts/list") return server_.list_prompts(m.params);
    if (method == "prompts/get") return server_.get_prompt(m.params);
  }
  throw RpcError(RpcCode::method_not_found, fmt::format("there is no method '{}'", method));
}

Json Session::dispatch(const Message& m, Outlet& out) {
  if (m.method == "ping") return Json::object();
  if (m.method == "initialize") return initialize(m.params);
  if (!initialized())
    throw RpcError(RpcCode::invalid_request,
                   fmt::format("{}: the session is not initialized: send initialize first", m.method));
  if (m.method == "logging/setLevel") {
    set_level(m.params);
    return Json::object();
  }
  const Running running(*this, m.id);
  LogLevel level;
  {
    std::lock_guard lock(mutex_);
    level = level_;
  }
  Call call(&running, out, m.params, level);
  Json result = shared(m, call);
  if (running.cancelled()) throw Cancelled();
  return result;
}

Json Session::dispatch_stateless(const Message& m, Outlet& out) {
  const Json& meta = *m.params.find("_meta");
  const Json *version = meta.find(kVersionKey), *capabilities = meta.find(kCapabilitiesKey);
  if (!version->is_string())
    throw RpcError(RpcCode::invalid_params, fmt::format("params._meta.{}: expected a version", kVersionKey));
  if (*version != Json(kStatelessVersion)) {
    Json data = Json::object(), known = Json::array();
    for (const std::string_view v : kHandshakeVersions) known.push(v);
    known.push(kStatelessVersion), data.set("supported", std::move(known)), data.set("requested", *version);
    throw RpcError(RpcCode::unsupported_version, "this protocol version is not supported", std::move(data));
  }
  if (!capabilities || !capabilities->is_object())
    throw RpcError(RpcCode::invalid_params, fmt::format("params._meta.{}: expected an object", kCapabilitiesKey));
  const Json* level = meta.find(kLogLevelKey);
  const auto wanted = level && level->is_string() ? log_level_of(level->as_string()) : std::nullopt;
  const Running running(*this, m.id);
  Call call(&running, out, m.params, wanted.value_or(LogLevel::emergency));
  Json result;
  if (m.method == "server/discover") {
    result = Json::object();
    result.set("supportedVersions", Json(Json::Array{Json(kStatelessVersion)}));
    result.set("capabilities", server_.capabilities());
    if (!server_.instructions_.empty()) result.set("instructions", server_.instructions_);
  } else {
    result = shared(m, call);
  }
  if (running.cancelled()) throw Cancelled();
  result.set("resultType", "complete");
  if (m.method != "tools/call" && m.method != "prompts/get")
    result.set("ttlMs", 0), result.set("cacheScope", "private");
  Json stamp = Json::object();
  stamp.set(kServerInfoKey, server_.info()), result.set("_meta", std::move(stamp));
  return result;
}

std::optional<Json> Session::handle(const Message& m, Outlet& out) {
  if (m.kind == Message::Kind::notification) {
    if (m.method == "notifications/cancelled") cancel(m.params);
    return std::nullopt;
  }
  if (m.kind == Message::Kind::response) return std::nullopt;  // this server asks nothing
  try {
    return result_json(m.id, is_stateless(m) ? dispatch_stateless(m, out) : dispatch(m, out));
  } catch (const Cancelled&) {
    return std::nullopt;
  } catch (const RpcError& e) {
    return error_json(m.id, e);
  } catch (const std::exception& e) {
    return error_json(m.id, RpcError(RpcCode::internal_error, e.what()));
  }
}

}  // namespace quern::mcp
