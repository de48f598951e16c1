// Reading the file that names MCP servers.
#include "quern/mcp/client/config.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "quern/base/error.h"
#include "quern/base/nearest.h"
#include "quern/mcp/client/http_call.h"

namespace quern::mcp {
namespace {

constexpr size_t kMaxServers = 64, kMinSecret = 4;

const std::vector<std::string> kKeys = {"command", "args", "env",      "cwd",     "url",
                                        "headers", "type", "disabled", "timeout", "transport"};

class ConfigReader {
 public:
  ConfigReader(std::string where, const Environment& environment)
      : where_(std::move(where)), environment_(environment) {}

  ServerConfig read(const std::string& name, const Json& j, std::vector<std::string>& notes) {
    if (!j.is_object()) fail("{}: expected an object with a command or a url", where_);
    ServerConfig c{.name = name};
    for (const auto& [key, value] : j.as_object())
      if (std::find(kKeys.begin(), kKeys.end(), key) == kKeys.end())
        notes.push_back(fmt::format("{}.{}: not known, ignored{}", where_, key, did_you_mean(key, kKeys)));
    if (const Json* disabled = j.find("disabled")) c.disabled = disabled->as_bool(where_ + ".disabled");
    if (c.disabled) return c;  // its variables need not be set
    c.command = text(j, "command"), c.cwd = text(j, "cwd"), c.url = text(j, "url");
    if (const Json* args = j.find("args"))
      for (const Json& a : args->as_array(where_ + ".args"))
        c.args.push_back(expanded(a.as_string(where_ + ".args"), where_ + ".args"));
    c.env = pairs(j, "env"), c.headers = pairs(j, "headers");
    if (const Json* t = j.find("timeout")) c.call_seconds = t->as_double(where_ + ".timeout");
    if (!(c.call_seconds > 0 && c.call_seconds <= 86'400))
      fail("{}.timeout: expected seconds above 0, at most 86400", where_);
    check_kind(j, c);
    c.expanded = std::move(values_);
    return c;
  }

 private:
  // What stands between ${ and }: "NAME", "env:NAME" or "NAME:-default".
  std::string value_of(std::string_view inside, const std::string& where) {
    if (inside.starts_with("env:")) inside.remove_prefix(4);
    const size_t dash = inside.find(":-");
    const std::string name(inside.substr(0, dash));
    if (const auto value = environment_(name)) {
      if (std::find(kPassedOn.begin(), kPassedOn.end(), name) == kPassedOn.end()) values_.push_back(*value);
      return *value;
    }
    if (dash == inside.npos)
      fail("{}: the variable {} is not set: set it, or write ${{{}:-default}}", where, name, name);
    return std::string(inside.substr(dash + 2));
  }
  std::string expanded(std::string_view text, const std::string& where) {
    std::string out;
    for (size_t at = 0; at < text.size();) {
      const size_t open = text.find("${", at), close = open == text.npos ? text.npos : text.find('}', open);
      if (close == text.npos) return out + std::string(text.substr(at));
      out += text.substr(at, open - at);
      out += value_of(text.substr(open + 2, close - open - 2), where);
      at = close + 1;
    }
    return out;
  }
  std::string text(const Json& j, const char* key) {
    const Json* t = j.find(key);
    const std::string at = where_ + "." + key;
    return t && !t->is_null() ? expanded(t->as_string(at), at) : std::string();
  }
  std::vector<std::pair<std::string, std::string>> pairs(const Json& j, const char* key) {
    std::vector<std::pair<std::string, std::string>> out;
    const Json* o = j.find(key);
    if (!o || o->is_null()) return out;
    const std::string at = where_ + "." + key;
    for (const auto& [name, value] : o->as_object(at)) {
      const bool good = !name.empty() && name.find_first_of("=\r\n: ") == name.npos && name.find('\0') == name.npos;
      if (!good) fail("{}: '{}' is not a name", at, name);
      out.emplace_back(name, expanded(value.as_string(at + "." + name), at + "." + name));
      if (out.back().second.find_first_of(std::string_view("\r\n\0", 3)) != std::string::npos)
        fail("{}.{}: a value of one line is expected", at, name);
    }
    return out;
  }
  void check_kind(const Json& j, const ServerConfig& c) {
    std::string type = text(j, "type");
    if (type.empty()) type = text(j, "transport");
    if (type == "sse")
      fail("{}: the older HTTP+SSE transport is not supported: give the url of its streamable HTTP endpoint", where_);
    if (!type.empty() && type != "stdio" && type != "http" && type != "streamable-http" && type != "streamableHttp")
      fail("{}.type: '{}' is unknown, expected stdio, http or streamable-http", where_, type);
    if (c.command.empty() == c.url.empty()) fail("{}: expected either a command or a url", where_);
    if (!type.empty() && (type == "stdio") != c.url.empty())
      fail("{}.type: '{}' does not go with a {}", where_, type, c.url.empty() ? "command" : "url");
    if (c.over_http()) parse_url(c.url);
  }

  std::string where_;
  const Environment& environment_;
  std::vector<std::string> values_;  // of variables
};

// Permissions name a tool as "server.tool": of two servers "a" and "a.b", the tools "b.c" and "c" would have one name.
bool confusable(const std::string& a, const std::string& b) {
  return a.starts_with(b + ".") || b.starts_with(a + ".");
}

}  // namespace

std::string ServerConfig::without_secrets(std::string text) const {
  auto hide = [&](const std::string& secret) {
    if (secret.size() < kMinSecret) return;
    for (size_t at = 0; (at = text.find(secret, at)) != text.npos; at += 3) text.replace(at, secret.size(), "***");
  };
  for (const auto& [name, value] : env) hide(value);
  for (const auto& [name, value] : headers) {
    hide(value);
    if (const size_t space = value.find(' '); space != value.npos) hide(value.substr(space + 1));
  }
  for (const std::string& value : expanded) hide(value);
  return text;
}

std::optional<std::string> process_environment(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  if (!value) return std::nullopt;
  return std::string(value);
}

std::vector<ServerConfig> read_servers(const Json& file, const std::string& where, const Environment& environment,
                                       std::vector<std::string>& notes) {
  const Json* servers = file.find("mcpServers");
  if (!servers) servers = file.find("servers");  // as some editors call it
  if (!servers || !servers->is_object()) fail("{}: expected {{\"mcpServers\": {{NAME: {{\"command\": …}}}}}}", where);
  std::vector<ServerConfig> all;
  for (const auto& [name, j] : servers->as_object()) {
    const bool good = !name.empty() && name.size() <= 64 &&
                      std::all_of(name.begin(), name.end(),
                                  [](unsigned char c) { return c > ' ' && c < 127 && c != '"' && c != '*'; });
    if (!good) fail("{}: the name '{}': expected 1 to 64 printable characters without blanks, \" and *", where, name);
    if (all.size() >= kMaxServers) fail("{}: more than {} servers", where, kMaxServers);
    for (const ServerConfig& other : all)
      if (other.name == name)
        fail("{}: the name '{}' stands twice", where, name);
      else if (confusable(other.name, name))
        fail(
            "{}: the names '{}' and '{}': one may not begin with the other and a dot, because permissions are "
            "written "
            "server.tool: rename one of them",
            where, other.name, name);
    all.push_back(ConfigReader(fmt::format("{}: {}", where, name), environment).read(name, j, notes));
  }
  return all;
}

std::vector<ServerConfig> read_servers(const std::filesystem::path& file, std::vector<std::string>& notes) {
  return read_servers(Json::read(file), file.string(), process_environment, notes);
}

}  // namespace quern::mcp
