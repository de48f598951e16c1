// Requests of the streamable HTTP transport, checked and handed to their session.
#include "quern/mcp/server/http_endpoint.h"

#include <sys/random.h>

#include <algorithm>

#include "quern/mcp/protocol/versions.h"
#include "quern/mcp/server/event_outlet.h"
#include "quern/serve/http/api_key.h"
#include "quern/serve/http/origin.h"

namespace quern::mcp {
namespace {

using Clock = std::chrono::steady_clock;

// An answer of the transport itself, not of a method.
class HttpRefusal : public Error {
 public:
  HttpRefusal(int s, const std::string& message) : Error(message), status(s) {}
  int status;
};

void refuse(serve::Exchange& e, int status, const RpcError& error, const Json& id = Json()) {
  e.answer(status, "application/json", error_json(id, error).dump());
}

// Of a request; a response has the id of one of ours.
Json request_id(const Json& message) { return message.find("method") ? id_of(message) : Json(); }

std::string random_id() {
  unsigned char bytes[16];
  if (::getrandom(bytes, sizeof bytes, 0) != static_cast<ssize_t>(sizeof bytes)) fail("no random numbers");
  std::string id;
  for (const unsigned char b : bytes) id += fmt::format("{:02x}", b);
  return id;
}

int status_of(const RpcError& e) {
  if (e.is(RpcCode::method_not_found)) return 404;
  const bool bad = e.is(RpcCode::parse_error) || e.is(RpcCode::invalid_request) || e.is(RpcCode::invalid_params) ||
                   e.is(RpcCode::header_mismatch) || e.is(RpcCode::unsupported_version);
  return bad ? 400 : 200;
}

// The headers that repeat what a stateless request says, so that proxies can route it.
void check_headers(const serve::HttpRequest& r, const Message& m) {
  auto same = [&](const char* header, const Json* wanted, const char* what) {
    const std::string* given = r.header(header);
    if (given && given->starts_with("=?base64?")) return;
    if (!given || !wanted || *wanted != Json(*given))
      throw RpcError(RpcCode::header_mismatch, fmt::format("the header {} is not the request's {}", header, what));
  };
  const Json method(m.method), *meta = m.params.find("_meta");
  same("mcp-protocol-version", meta->find(kVersionKey), "protocol version");
  same("mcp-method", &method, "method");
  if (m.method == "tools/call" || m.method == "prompts/get") same("mcp-name", m.params.find("name"), "name");
  if (m.method == "resources/read") same("mcp-name", m.params.find("uri"), "uri");
}

}  // namespace

HttpEndpoint::HttpEndpoint(const Server& server, EndpointOptions options) : server_(server), o_(std::move(options)) {
  for (const std::string& key : o_.api_keys) keys_.push_back({serve::sha256(key)});
}

bool HttpEndpoint::admitted(serve::Exchange& e) const {
  const serve::HttpRequest& r = e.request();
  const std::string *origin = r.header("origin"), *host = r.header("host");
  if (origin) {
    const size_t scheme = origin->find("://");
    const bool named = std::any_of(o_.origins.begin(), o_.origins.end(),
                                   [&](const std::string& o) { return o == "*" || o == *origin; });
    if (!named && (scheme == origin->npos || !serve::is_loopback_host(std::string_view(*origin).substr(scheme + 3))))
      throw HttpRefusal(403,
                        fmt::format("pages of {} may not use this server: it does not allow their origin", *origin));
    e.header("access-control-allow-origin", *origin), e.header("vary", "origin");
    e.header("access-control-expose-headers", "mcp-session-id");
  }
  // Without a key only this machine may call; a name that another host made to point here is not this machine.
  if (o_.api_keys.empty() && (!host || !serve::is_loopback_host(*host)))
    throw HttpRefusal(403, "the header Host does not name the loopback address");
  if (r.method == "OPTIONS") {
    e.header("access-control-allow-methods", "POST, DELETE, OPTIONS");
    e.header("access-control-allow-headers",
             "authorization, content-type, accept, mcp-session-id, mcp-protocol-version, mcp-method, mcp-name");
    e.answer(204, "", "");
    return false;
  }
  if (keys_.empty() || serve::find_key(keys_, serve::given_key(r))) return true;
  e.header("www-authenticate", "Bearer");
  throw HttpRefusal(401, "an API key is required: Authorization: Bearer KEY");
}

void HttpEndpoint::handle(serve::Exchange& e) {
  try {
    if (!admitted(e)) return;
    const serve::HttpRequest& r = e.request();
    if (r.path != o_.path) throw HttpRefusal(404, fmt::format("there is no {}; the endpoint is {}", r.path, o_.path));
    if (r.method == "POST") return post(e);
    if (r.method == "DELETE") return remove(e);
    e.header("allow", "POST, DELETE, OPTIONS");
    throw HttpRefusal(405, fmt::format("{} is not supported here: send messages by POST", r.method));
  } catch (const HttpRefusal& x) {
    refuse(e, x.status, RpcError(RpcCode::invalid_request, x.what()));
  } catch (const RpcError& x) {
    if (e.status() == 0) refuse(e, status_of(x), x);
  }
}

void HttpEndpoint::post(serve::Exchange& e) {
  const Json j = parse_text(e.request().body);
  try {
    take(e, j);
  } catch (const HttpRefusal& x) {
    refuse(e, x.status, RpcError(RpcCode::invalid_request, x.what()), request_id(j));
  } catch (const RpcError& x) {
    if (e.status() == 0) refuse(e, status_of(x), x, request_id(j));
  }
}

void HttpEndpoint::take(serve::Exchange& e, const Json& j) {
  const serve::HttpRequest& r = e.request();
  const std::string* version = r.header("mcp-protocol-version");
  if (j.is_array()) {
    const auto client = find(r);
    if (client->session.version() != kBatchVersion || j.as_array().empty())
      throw RpcError(RpcCode::invalid_request,
                     "a batch of messages: this protocol version has none; send one at a time");
    return answer_batch(e, client->session, j);
  }
  const Message m = read_message(j);
  if (m.kind == Message::Kind::request && is_stateless(m)) {
    check_headers(r, m);
    Session once(server_);
    return answer(e, once, m);
  }
  if (m.kind == Message::Kind::request && m.method == "initialize") return initialize(e, m);
  if (version && *version == kStatelessVersion && m.kind != Message::Kind::request) return e.answer(202, "", "");
  if (version && *version == kStatelessVersion)
    throw RpcError(RpcCode::invalid_params, fmt::format("params._meta.{} is missing", kVersionKey));
  if (version && !is_handshake_version(*version))
    throw RpcError(RpcCode::unsupported_version,
                   fmt::format("mcp-protocol-version: '{}' is not supported", *version));
  const auto client = find(r);
  if (m.kind != Message::Kind::request) {
    EventOutlet nowhere(e);
    client->session.handle(m, nowhere);
    return e.answer(202, "", "");
  }
  answer(e, client->session, m);
}

void HttpEndpoint::initialize(serve::Exchange& e, const Message& m) {
  const auto client = std::make_shared<Client>(server_);
  EventOutlet nowhere(e);
  const std::optional<Json> reply = client->session.handle(m, nowhere);
  if (client->session.initialized()) e.header("mcp-session-id", keep(client));
  e.answer(200, "application/json", reply->dump());
}

std::string HttpEndpoint::keep(std::shared_ptr<Client> client) {
  const auto now = Clock::now();
  client->used = now;
  std::lock_guard lock(mutex_);
  std::erase_if(clients_, [&](const auto& c) {
    return c.second->session.running() == 0 &&
           std::chrono::duration<double>(now - c.second->used).count() > o_.idle_seconds;
  });
  while (clients_.size() >= o_.max_clients) {  // the one that was silent longest
    auto oldest = clients_.end();
    for (auto at = clients_.begin(); at != clients_.end(); ++at)
      if (at->second->session.running() == 0 && (oldest == clients_.end() || at->second->used < oldest->second->used))
        oldest = at;
    if (oldest == clients_.end())
      throw HttpRefusal(503, fmt::format("{} sessions are running, the maximum; try again", clients_.size()));
    clients_.erase(oldest);
  }
  std::string id = random_id();
  clients_.emplace(id, std::move(client));
  return id;
}

std::shared_ptr<HttpEndpoint::Client> HttpEndpoint::find(const serve::HttpRequest& r) {
  const std::string* id = r.header("mcp-session-id");
  if (!id) throw HttpRefusal(400, "the header Mcp-Session-Id is missing: send initialize first");
  std::lock_guard lock(mutex_);
  const auto at = clients_.find(*id);
  if (at == clients_.end()) throw HttpRefusal(404, "there is no such session: send initialize again");
  at->second->used = Clock::now();
  return at->second;
}

void HttpEndpoint::remove(serve::Exchange& e) {
  const auto client = find(e.request());
  client->session.cancel_all();
  {
    std::lock_guard lock(mutex_);
    clients_.erase(*e.request().header("mcp-session-id"));
  }
  e.answer(204, "", "");
}

void HttpEndpoint::answer(serve::Exchange& e, Session& session, const Message& m) {
  EventOutlet out(e);
  const std::optional<Json> reply = session.handle(m, out);
  if (!reply) return out.end_without();
  const Json* error = reply->find("error");
  const bool stateless = is_stateless(m);
  const int status = error && stateless ? status_of(RpcError(error->at("code").as_int(), "")) : 200;
  out.finish(status, *reply);
}

void HttpEndpoint::answer_batch(serve::Exchange& e, Session& session, const Json& batch) {
  EventOutlet out(e);
  Json replies = Json::array();
  for (const Json& one : batch.as_array()) {
    try {
      if (auto reply = session.handle(read_message(one), out)) replies.push(std::move(*reply));
    } catch (const RpcError& x) {
      replies.push(error_json(id_of(one), x));
    }
  }
  if (replies.as_array().empty()) return out.end_without();
  out.finish(200, replies);
}

}  // namespace quern::mcp
