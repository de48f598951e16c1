// Requests and what answers them.
#include "quern/mcp/client/connection.h"

#include "quern/mcp/client/http_transport.h"
#include "quern/mcp/client/stdio_transport.h"
#include "quern/mcp/protocol/versions.h"

namespace quern::mcp {
namespace {

constexpr double kNotifySeconds = 5;

std::string text_in(const Json* object, const char* key) {
  const Json* t = object ? object->find(key) : nullptr;
  return t && t->is_string() ? t->as_string() : std::string();
}

}  // namespace

Connection::Connection(const ServerConfig& config, const std::string& client_version) : config_(config) {
  Receiver receiver{.message = [this](const std::string& text) { receive(text); },
                    .closed =
                        [this](const std::string& why) {
                          std::lock_guard lock(mutex_);
                          closed_ = true, why_closed_ = why;
                          came_.notify_all();
                        }};
  if (config.over_http())
    transport_ = std::make_unique<HttpTransport>(config, std::move(receiver));
  else
    transport_ = std::make_unique<StdioTransport>(config, std::move(receiver));
  transport_->start();
  greet(client_version);
}

Connection::~Connection() = default;

bool Connection::open() const {
  std::lock_guard lock(mutex_);
  return !closed_ && transport_->open();
}

void Connection::greet(const std::string& client_version) {
  Json params = Json::object(), client = Json::object();
  client.set("name", "quern"), client.set("title", "Quern"), client.set("version", client_version);
  params.set("protocolVersion", kNewestHandshake), params.set("capabilities", Json::object());
  params.set("clientInfo", std::move(client));
  const Json j = request("initialize", std::move(params), {.seconds = config_.start_seconds});
  greeting_.protocol = text_in(&j, "protocolVersion");
  if (!is_handshake_version(greeting_.protocol))
    throw ClientError(
        ClientError::Kind::unreachable,
        fmt::format("the server wants protocol version '{}', which is not supported", greeting_.protocol));
  const Json *info = j.find("serverInfo"), *capabilities = j.find("capabilities");
  greeting_.name = text_in(info, "name"), greeting_.title = text_in(info, "title");
  greeting_.version = text_in(info, "version"), greeting_.instructions = text_in(&j, "instructions");
  auto can = [&](const char* what) { return capabilities && capabilities->find(what); };
  greeting_.tools = can("tools"), greeting_.resources = can("resources"), greeting_.prompts = can("prompts");
  transport_->set_version(greeting_.protocol);
  transport_->send(notification_json("notifications/initialized", Json::object()), Until(kNotifySeconds),
                   [] { return false; });
}

void Connection::receive(const std::string& text) {
  try {
    const Json j = parse_text(text);
    if (!j.is_array()) return take(j);
    for (const Json& one : j.as_array()) take(one);
  } catch (const Error&) {  // nothing of ours: whoever waits for an answer goes on waiting, for a limited time
  }
}

void Connection::take(const Json& j) {
  const Message m = read_message(j);
  if (m.kind == Message::Kind::request) return take_request(m);
  if (m.kind == Message::Kind::notification) return take_notification(m);
  if (!m.id.is_int()) return;
  std::lock_guard lock(mutex_);
  const auto at = pending_.find(m.id.as_int());
  if (at == pending_.end()) return;  // too late
  at->second->answer = m;
  came_.notify_all();
}

void Connection::take_request(const Message& m) {
  const Json reply = m.method == "ping"
                         ? result_json(m.id, Json::object())
                         : error_json(m.id, RpcError(RpcCode::method_not_found,
                                                     fmt::format("this client does not support '{}'", m.method)));
  try {
    transport_->send(reply, Until(kNotifySeconds), [] { return false; });
  } catch (const Error&) {  // the server is gone, which the next request finds
  }
}

void Connection::take_notification(const Message& m) {
  if (m.method.ends_with("/list_changed")) ++changes_;
  if (m.method != "notifications/progress") return;
  const Json *token = m.params.find("progressToken"), *done = m.params.find("progress"),
             *total = m.params.find("total");
  if (!token || !token->is_int() || !done || !done->is_number()) return;
  std::shared_ptr<Pending> pending;
  {
    std::lock_guard lock(mutex_);
    const auto at = pending_.find(token->as_int());
    if (at != pending_.end()) pending = at->second;
  }
  if (pending && pending->progress)
    pending->progress(done->as_double(), total && total->is_number() ? total->as_double() : 0,
                      text_in(&m.params, "message"));
}

Json Connection::wait(int64_t id, const Until& until) {
  std::unique_lock lock(mutex_);
  const std::shared_ptr<Pending> p = pending_[id];
  while (!p->answer) {
    if (closed_) throw ClientError(ClientError::Kind::unreachable, why_closed_);
    until.check();
    came_.wait_for(lock, std::chrono::milliseconds(until.slice_ms()));
  }
  if (p->answer->error) throw RpcError(*p->answer->error);
  return p->answer->result;
}

Json Connection::request(const std::string& method, Json params, const RequestOptions& options) {
  const Until until(options.seconds, options.cancelled);
  const auto pending = std::make_shared<Pending>();
  pending->progress = options.progress;
  int64_t id = 0;
  {
    std::lock_guard lock(mutex_);
    id = next_id_++;
    pending_[id] = pending;
  }
  struct Forget {
    Connection& c;
    int64_t id;
    ~Forget() {
      std::lock_guard lock(c.mutex_);
      c.pending_.erase(id);
    }
  } forget{*this, id};
  if (options.progress) {
    Json meta = Json::object();
    meta.set("progressToken", id), params.set("_meta", std::move(meta));
  }
  try {
    transport_->send(request_json(id, method, std::move(params)), until, [&] {
      std::lock_guard lock(mutex_);
      return pending->answer.has_value();
    });
    if (config_.over_http()) {  // all of the answer has come
      std::lock_guard lock(mutex_);
      if (!pending->answer)
        throw ClientError(ClientError::Kind::unreachable,
                          fmt::format("the server ended its answer to {} without one", method));
    }
    return wait(id, until);
  } catch (const ClientError& e) {
    const bool left = e.kind == ClientError::Kind::timeout || e.kind == ClientError::Kind::cancelled;
    if (left && method != "initialize" && open()) {
      Json note = Json::object();
      note.set("requestId", id), note.set("reason", e.what());
      try {
        transport_->send(notification_json("notifications/cancelled", std::move(note)), Until(1),
                         [] { return false; });
      } catch (const Error&) {  // it was to save the server work
      }
    }
    throw;
  }
}

}  // namespace quern::mcp
