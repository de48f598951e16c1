// A JSON-RPC client of one MCP server: requests with a time limit, responses matched by id, the handshake. What the
// server asks of us is answered: ping, and a refusal of everything else.
#pragma once
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "quern/mcp/client/config.h"
#include "quern/mcp/client/transport.h"
#include "quern/mcp/protocol/message.h"

namespace quern::mcp {

struct RequestOptions {
  double seconds = 60;
  std::function<bool()> cancelled = {};
  std::function<void(double done, double total, const std::string& message)> progress = {};
};

struct ServerGreeting {  // what initialize answered
  std::string protocol, name, title, version, instructions;
  bool tools = false, resources = false, prompts = false;
};

class Connection {
 public:
  // Starts or reaches the server and shakes hands; throws ClientError or RpcError. client_version: of this program.
  Connection(const ServerConfig& config, const std::string& client_version);
  ~Connection();
  // The result; throws RpcError as the server answered it, or ClientError.
  Json request(const std::string& method, Json params, const RequestOptions& options);
  const ServerGreeting& greeting() const { return greeting_; }
  bool open() const;
  int changes() const { return changes_; }  // how often the server said that a list of its changed

 private:
  struct Pending {
    std::optional<Message> answer;
    std::function<void(double, double, const std::string&)> progress;
  };
  void receive(const std::string& text);
  void take(const Json& j);
  void take_request(const Message& m);
  void take_notification(const Message& m);
  void greet(const std::string& client_version);
  Json wait(int64_t id, const Until& until);

  const ServerConfig& config_;
  mutable std::mutex mutex_;
  std::condition_variable came_;
  std::map<int64_t, std::shared_ptr<Pending>> pending_;
  int64_t next_id_ = 1;
  bool closed_ = false;
  std::string why_closed_;
  std::atomic<int> changes_ = 0;
  ServerGreeting greeting_;
  std::unique_ptr<Transport> transport_;  // last: its thread calls back
};

}  // namespace quern::mcp
