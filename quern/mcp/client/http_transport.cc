// Messages as POST requests.
#include "quern/mcp/client/http_transport.h"

#include "quern/mcp/protocol/event_reader.h"
#include "quern/mcp/protocol/message.h"

namespace quern::mcp {

HttpTransport::HttpTransport(const ServerConfig& config, Receiver receiver)
    : config_(config), url_(parse_url(config.url)), receiver_(std::move(receiver)) {}

HttpTransport::~HttpTransport() {
  HttpCall call{.method = "DELETE", .headers = headers()};
  if (session_.empty() || lost_) return;
  try {
    run_http_call(url_, call, Until(1), [](const HttpReplyReader&, std::string_view) { return false; });
  } catch (const Error&) {  // a server that is gone has no session either
  }
}

void HttpTransport::set_version(const std::string& version) {
  std::lock_guard lock(mutex_);
  version_ = version;
}

std::vector<std::pair<std::string, std::string>> HttpTransport::headers() const {
  std::lock_guard lock(mutex_);
  auto all = config_.headers;
  all.emplace_back("Content-Type", "application/json");
  all.emplace_back("Accept", "application/json, text/event-stream");
  if (!session_.empty()) all.emplace_back("Mcp-Session-Id", session_);
  if (!version_.empty()) all.emplace_back("MCP-Protocol-Version", version_);
  return all;
}

// `body`: of a refusal, as far as it has come.
void HttpTransport::check_status(const HttpReplyReader& head, const std::string& body) {
  const int status = head.status();
  if (status >= 200 && status < 300) return;
  bool in_session = false;
  {
    std::lock_guard lock(mutex_);
    in_session = !session_.empty();
  }
  if (status == 404 && in_session) {
    lost_ = true;
    throw ClientError(ClientError::Kind::session_lost, "the server no longer knows the session");
  }
  std::string why;
  try {
    if (const Message m = read_message(parse_text(body)); m.error) why = fmt::format(": {}", m.error->what());
  } catch (const Error&) {  // not JSON-RPC: the status says it
  }
  const char* hint = status == 401 || status == 403  ? "; check the headers of this server"
                     : status == 405                 ? "; is this the address of a streamable HTTP endpoint?"
                     : status >= 300 && status < 400 ? "; give the address that it redirects to"
                                                     : "";
  throw ClientError(ClientError::Kind::unreachable,
                    config_.without_secrets(fmt::format("{} answers {}{}{}", url_.authority(), status, why, hint)));
}

void HttpTransport::send(const Json& message, const Until& until, const std::function<bool()>& answered) {
  const HttpCall call{.method = "POST", .body = message.dump(), .headers = headers()};
  EventReader events;
  std::string body;  // of an answer that is no stream
  bool streamed = false, refused = false;
  auto take = [&](const HttpReplyReader& head, std::string_view piece) {
    if (const std::string* id = head.header("mcp-session-id")) {
      std::lock_guard lock(mutex_);
      session_ = *id;
    }
    const std::string* type = head.header("content-type");
    refused = head.status() < 200 || head.status() >= 300;
    streamed = !refused && type && type->starts_with("text/event-stream");
    if (!streamed) {
      body += piece;
      if (body.size() > kMaxMessageBytes)
        throw ClientError(ClientError::Kind::unreachable,
                          fmt::format("an answer of more than {} bytes", kMaxMessageBytes));
      if (refused && head.whole()) check_status(head, body);
      return true;
    }
    events.feed(piece);
    while (const auto event = events.next())
      if (event->event.empty() || event->event == "message") receiver_.message(event->data);
    return !answered();
  };
  run_http_call(url_, call, until, take);
  if (!streamed && body.find_first_not_of(" \r\n\t") != std::string::npos) receiver_.message(body);
}

}  // namespace quern::mcp
