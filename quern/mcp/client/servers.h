// All configured MCP servers, and their tools under names that a model can call.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "quern/mcp/client/remote_server.h"

namespace quern::mcp {

struct NamedTool {
  std::shared_ptr<RemoteServer> server;
  RemoteTool tool;
  std::string function;  // "server__tool", letters, digits, _ and - alone, at most 64

  std::string full_name() const { return server->name() + "." + tool.name; }  // as permissions name it
};

struct UnreadServer {  // one that could not be asked
  std::string server, message;
};

struct ToolListing {
  std::vector<NamedTool> tools;
  std::vector<UnreadServer> errors;
  const NamedTool* find(const std::string& function) const;
};

class Servers {
 public:
  Servers(std::vector<ServerConfig> configs, const std::string& client_version);
  const std::vector<std::shared_ptr<RemoteServer>>& all() const { return servers_; }
  std::shared_ptr<RemoteServer> find(const std::string& name) const;  // null: there is none
  std::vector<std::string> names() const;
  // Those of `names`, or of all that are not disabled; they are asked at the same time.
  std::vector<std::shared_ptr<RemoteServer>> chosen(const std::vector<std::string>& names) const;
  static ToolListing list_tools(const std::vector<std::shared_ptr<RemoteServer>>& servers);
  // `ask` for every server, at the same time; what it throws becomes an entry of `errors`.
  static std::vector<Json> ask_each(const std::vector<std::shared_ptr<RemoteServer>>& servers,
                                    const std::function<Json(RemoteServer&)>& ask, std::vector<UnreadServer>& errors);

 private:
  std::vector<std::shared_ptr<RemoteServer>> servers_;
};

// Whether a permission covers a tool: "server.tool", "server.*" or "*".
bool permits(const std::vector<std::string>& allow, const NamedTool& tool);

}  // namespace quern::mcp
