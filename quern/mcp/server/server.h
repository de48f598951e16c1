// The server side of the Model Context Protocol, apart from transports: initialize with version negotiation, ping, lists
// in pages, calls with checked arguments, progress, logging, cancellation, errors. A Server is what is offered, the same
// for all clients; a Session is one client's connection.
#pragma once
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "quern/mcp/protocol/message.h"
#include "quern/mcp/server/offers.h"
#include "quern/verify/json_schema.h"

namespace quern::mcp {

class Server {
 public:
  Server(std::string version, std::string instructions);
  void add_tool(ToolInfo info, ToolFunction call);
  void add_resources(std::shared_ptr<ResourceSource> source) { sources_.push_back(std::move(source)); }
  void add_prompt(PromptInfo info, PromptFunction get);
  size_t tools() const { return tools_.size(); }

 private:
  friend class Session;
  struct OfferedTool {
    ToolInfo info;
    std::unique_ptr<verify::JsonSchema> schema;
    ToolFunction call;
  };
  struct OfferedPrompt {
    PromptInfo info;
    PromptFunction get;
  };
  Json info() const;
  Json capabilities() const;
  Json list_tools(const Json& params) const;
  Json list_resources(const Json& params) const;
  Json list_templates(const Json& params) const;
  Json list_prompts(const Json& params) const;
  Json read_resource(const Json& params) const;
  Json get_prompt(const Json& params) const;
  const OfferedTool& find_tool(const Json& params) const;  // throws RpcError
  static Json call_tool(const OfferedTool& tool, const Json& params, CallContext& context);

  std::string version_, instructions_;
  std::vector<OfferedTool> tools_;
  std::vector<std::shared_ptr<ResourceSource>> sources_;
  std::vector<OfferedPrompt> prompts_;
};

// Where a request came from: takes what is sent before its response.
class Outlet {
 public:
  virtual ~Outlet() = default;
  virtual void notify(const Json& message) = 0;
  virtual void keep_alive() = 0;  // nothing came for a while
  virtual bool gone() const = 0;  // the client is
};

class Session {
 public:
  explicit Session(const Server& server) : server_(server) {}
  // Runs a request to its response; nothing for notifications, responses and cancelled requests. Any thread, several at a
  // time.
  std::optional<Json> handle(const Message& m, Outlet& out);
  void cancel_all();
  bool initialized() const;
  std::string version() const;  // as agreed; empty before initialize
  int running() const;          // requests

 private:
  class Running;
  class Call;
  struct Cancelled {};  // thrown: no response
  Json initialize(const Json& params);
  Json dispatch(const Message& m, Outlet& out);
  Json dispatch_stateless(const Message& m, Outlet& out);
  Json shared(const Message& m, Call& call) const;  // methods of all versions
  void set_level(const Json& params);
  void cancel(const Json& params);

  const Server& server_;
  mutable std::mutex mutex_;
  std::string version_;
  LogLevel level_ = LogLevel::warning;
  std::map<std::string, std::shared_ptr<std::atomic<bool>>> running_;  // by the request's id
};

// Whether a request carries its version itself.
bool is_stateless(const Message& m);

}  // namespace quern::mcp
