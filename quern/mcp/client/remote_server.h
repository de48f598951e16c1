// One configured MCP server: started at the first use, started again after it ended, with growing pauses after failed
// starts. Keeps what the server lists for a minute. For all threads.
#pragma once
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "quern/mcp/client/connection.h"

namespace quern::mcp {

constexpr size_t kMaxToolText = size_t{256} << 10;  // bytes of a result that a model reads

struct RemoteTool {
  std::string name, title, description;
  Json input_schema, output_schema, annotations;  // null: not given
};

struct RemoteResult {  // of a tool
  Json content = Json::array(), structured = {};
  std::string text;  // what a model reads: texts as they are, other things by name
  bool is_error = false, truncated = false;
};

struct ServerStatus {
  std::string name, transport, state, error;  // state: idle, running, failed, disabled
  ServerGreeting greeting;                    // of the last start
  std::optional<int64_t> tools;               // as last listed
  int64_t starts = 0;
};

class RemoteServer {
 public:
  RemoteServer(ServerConfig config, std::string client_version)
      : config_(std::move(config)), client_version_(std::move(client_version)) {}
  const std::string& name() const { return config_.name; }
  bool disabled() const { return config_.disabled; }
  ServerStatus status() const;
  // These start the server. They throw ClientError, or RpcError as the server answered.
  std::vector<RemoteTool> tools();
  Json resources();  // and templates, as the server lists them
  Json prompts();
  RemoteResult call(const std::string& tool, const Json& arguments, RequestOptions options);
  Json read_resource(const std::string& uri, RequestOptions options);
  Json get_prompt(const std::string& prompt, const Json& arguments, RequestOptions options);
  double call_seconds() const { return config_.call_seconds; }

 private:
  using Clock = std::chrono::steady_clock;
  std::shared_ptr<Connection> connect();
  Json ask(const std::string& method, const Json& params, const RequestOptions& options);
  Json list_all(const std::string& method, const char* key);  // every page
  [[noreturn]] void explain(const ClientError& e) const;      // with the server's name

  const ServerConfig config_;
  const std::string client_version_;
  std::mutex start_mutex_;    // held while it starts
  mutable std::mutex mutex_;  // guards the members below
  std::shared_ptr<Connection> connection_;
  ServerGreeting greeting_;
  std::string error_;  // of the last failed start
  int64_t starts_ = 0, failures_ = 0;
  Clock::time_point next_start_{};
  struct ToolList {
    std::vector<RemoteTool> tools;
    int changes = 0;
    const Connection* from = nullptr;
    Clock::time_point at;
  };
  std::optional<ToolList> listed_;
};

RemoteResult read_result(const Json& result);  // of tools/call; throws ClientError

}  // namespace quern::mcp
