// Which MCP servers there are: {"mcpServers": {NAME: {"command", "args", "env", "cwd"} or {"url", "headers"}}}, the form
// of other tools. ${NAME} and ${NAME:-default} in texts stand for variables of the environment.
#pragma once
#include <array>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "quern/base/json.h"

namespace quern::mcp {

// Variables that every stdio server gets, and nothing of which is a secret.
constexpr std::array<const char*, 8> kPassedOn = {"HOME",  "PATH", "USER", "LOGNAME",
                                                  "SHELL", "LANG", "TERM", "TMPDIR"};

struct ServerConfig {
  std::string name;
  std::string command = {}, cwd = {};  // of a stdio server
  std::vector<std::string> args = {};
  std::vector<std::pair<std::string, std::string>> env = {};
  std::string url = {};  // of a streamable HTTP server
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::vector<std::string> expanded = {};  // values of variables that stand in any of these texts
  bool disabled = false;
  double call_seconds = 60, start_seconds = 30;

  bool over_http() const { return !url.empty(); }
  // `text` without the values of env, headers and variables, so that it can be shown.
  std::string without_secrets(std::string text) const;
};

using Environment = std::function<std::optional<std::string>(const std::string& name)>;
std::optional<std::string> process_environment(const std::string& name);

// Throws Error naming file, server and key. Keys that are not known are put into `notes`: files of other tools have some.
std::vector<ServerConfig> read_servers(const Json& file, const std::string& where, const Environment& environment,
                                       std::vector<std::string>& notes);
std::vector<ServerConfig> read_servers(const std::filesystem::path& file, std::vector<std::string>& notes);

}  // namespace quern::mcp
