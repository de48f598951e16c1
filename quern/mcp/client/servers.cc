// Names of tools, and questions to several servers.
#include "quern/mcp/client/servers.h"

#include <algorithm>
#include <cctype>
#include <future>
#include <set>

namespace quern::mcp {
namespace {

constexpr size_t kMaxFunction = 64;

std::string function_name(const std::string& server, const std::string& tool, const std::set<std::string>& taken) {
  std::string name = server + "__" + tool;
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_' && c != '-') c = '_';
  if (name.size() > kMaxFunction) name.resize(kMaxFunction);
  const std::string whole = name;
  for (int n = 2; taken.contains(name); ++n) {
    const std::string number = fmt::format("_{}", n);
    name = whole.substr(0, kMaxFunction - number.size()) + number;
  }
  return name;
}

}  // namespace

const NamedTool* ToolListing::find(const std::string& function) const {
  const auto at =
      std::find_if(tools.begin(), tools.end(), [&](const NamedTool& t) { return t.function == function; });
  return at == tools.end() ? nullptr : &*at;
}

Servers::Servers(std::vector<ServerConfig> configs, const std::string& client_version) {
  for (ServerConfig& c : configs) servers_.push_back(std::make_shared<RemoteServer>(std::move(c), client_version));
}

std::shared_ptr<RemoteServer> Servers::find(const std::string& name) const {
  const auto at = std::find_if(servers_.begin(), servers_.end(), [&](const auto& s) { return s->name() == name; });
  return at == servers_.end() ? nullptr : *at;
}

std::vector<std::string> Servers::names() const {
  std::vector<std::string> all;
  for (const auto& s : servers_) all.push_back(s->name());
  return all;
}

std::vector<std::shared_ptr<RemoteServer>> Servers::chosen(const std::vector<std::string>& names) const {
  std::vector<std::shared_ptr<RemoteServer>> out;
  for (const auto& s : servers_)
    if (names.empty() ? !s->disabled() : std::find(names.begin(), names.end(), s->name()) != names.end())
      out.push_back(s);
  return out;
}

std::vector<Json> Servers::ask_each(const std::vector<std::shared_ptr<RemoteServer>>& servers,
                                    const std::function<Json(RemoteServer&)>& ask,
                                    std::vector<UnreadServer>& errors) {
  std::vector<std::future<Json>> answers;
  for (const auto& s : servers) answers.push_back(std::async(std::launch::async, [&ask, s] { return ask(*s); }));
  std::vector<Json> all;
  for (size_t i = 0; i < servers.size(); ++i) {
    try {
      all.push_back(answers[i].get());
    } catch (const Error& e) {
      all.emplace_back();
      errors.push_back({servers[i]->name(), e.what()});
    }
  }
  return all;
}

ToolListing Servers::list_tools(const std::vector<std::shared_ptr<RemoteServer>>& servers) {
  ToolListing listing;
  std::vector<std::vector<RemoteTool>> tools(servers.size());
  ask_each(
      servers,
      [&](RemoteServer& s) {
        const auto at =
            std::find_if(servers.begin(), servers.end(), [&](const auto& one) { return one.get() == &s; });
        tools[static_cast<size_t>(at - servers.begin())] = s.tools();
        return Json();
      },
      listing.errors);
  std::set<std::string> taken;
  for (size_t i = 0; i < servers.size(); ++i)
    for (RemoteTool& t : tools[i]) {
      std::string function = function_name(servers[i]->name(), t.name, taken);
      taken.insert(function);
      listing.tools.push_back({.server = servers[i], .tool = std::move(t), .function = std::move(function)});
    }
  return listing;
}

bool permits(const std::vector<std::string>& allow, const NamedTool& tool) {
  return std::any_of(allow.begin(), allow.end(), [&](const std::string& a) {
    return a == "*" || a == tool.full_name() || a == tool.server->name() + ".*";
  });
}

}  // namespace quern::mcp
