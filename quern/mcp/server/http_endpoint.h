// The streamable HTTP transport: POST of one message, sessions by the header Mcp-Session-Id, answers as JSON or as
// server-sent events, DELETE of a session. Checks Origin and Host, so that a page in a browser cannot reach a server on
// the loopback address.
#pragma once
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "quern/mcp/server/server.h"
#include "quern/serve/http/http_server.h"
#include "quern/serve/http/sha256.h"

namespace quern::mcp {

struct EndpointOptions {
  std::string path = "/mcp";
  std::vector<std::string> origins = {};   // of pages that may call, "*" for all; loopback pages always may
  std::vector<std::string> api_keys = {};  // empty: no key is needed
  size_t max_clients = 256;
  double idle_seconds = 3600;  // of a session
};

class HttpEndpoint {
 public:
  HttpEndpoint(const Server& server, EndpointOptions options);
  void handle(serve::Exchange& e);

 private:
  struct Client {
    explicit Client(const Server& server) : session(server) {}
    Session session;
    std::chrono::steady_clock::time_point used;
  };
  bool admitted(serve::Exchange& e) const;  // false: it is answered
  void post(serve::Exchange& e);
  void take(serve::Exchange& e, const Json& j);  // a message, or a batch of them
  void remove(serve::Exchange& e);
  void initialize(serve::Exchange& e, const Message& m);
  void answer(serve::Exchange& e, Session& session, const Message& m);
  void answer_batch(serve::Exchange& e, Session& session, const Json& batch);
  std::shared_ptr<Client> find(const serve::HttpRequest& r);  // of the session header; throws HttpRefusal
  std::string keep(std::shared_ptr<Client> client);           // its new session id

  struct Key {
    serve::Sha256Digest digest;
  };
  const Server& server_;
  EndpointOptions o_;
  std::vector<Key> keys_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Client>> clients_;
};

}  // namespace quern::mcp
