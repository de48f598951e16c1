// Lists and calls of MCP servers.
#include "quern/serve/api/mcp_api.h"

#include <algorithm>

#include "quern/base/nearest.h"
#include "quern/base/stopwatch.h"
#include "quern/serve/wire/api_error.h"
#include "quern/serve/wire/generation_fields.h"

namespace quern::serve {
namespace {

void set_text(Json& j, const char* name, const std::string& text) {
  if (!text.empty()) j.set(name, text);
}

void set_value(Json& j, const char* name, const Json& value) {
  if (!value.is_null()) j.set(name, value);
}

// Members of `from` under our names, where it has them.
void copy(Json& to, const Json& from, std::initializer_list<std::pair<const char*, const char*>> names) {
  for (const auto& [theirs, ours] : names)
    if (const Json* v = from.find(theirs)) to.set(ours, *v);
}

Json status_json(const mcp::ServerStatus& s) {
  Json j = Json::object();
  j.set("name", s.name), j.set("transport", s.transport), j.set("state", s.state);
  set_text(j, "title", s.greeting.title.empty() ? s.greeting.name : s.greeting.title);
  set_text(j, "version", s.greeting.version), set_text(j, "protocol", s.greeting.protocol);
  set_text(j, "instructions", s.greeting.instructions), set_text(j, "error", s.error);
  if (s.tools) j.set("tools", *s.tools);
  j.set("starts", s.starts);
  return j;
}

Json tool_json(const mcp::NamedTool& t) {
  Json j = Json::object();
  j.set("server", t.server->name()), j.set("name", t.tool.name), j.set("function", t.function);
  set_text(j, "title", t.tool.title), set_text(j, "description", t.tool.description);
  set_value(j, "input_schema", t.tool.input_schema), set_value(j, "output_schema", t.tool.output_schema);
  set_value(j, "annotations", t.tool.annotations);
  return j;
}

Json list_json(Json data, const std::vector<mcp::UnreadServer>& errors) {
  Json j = Json::object();
  j.set("object", "list"), j.set("data", std::move(data)), j.set("errors", unread_servers_json(errors));
  return j;
}

// What servers list themselves: `from` → our members.
Json listed_json(const std::vector<std::shared_ptr<mcp::RemoteServer>>& servers, Json (mcp::RemoteServer::*list)()) {
  std::vector<mcp::UnreadServer> errors;
  const std::vector<Json> answers = mcp::Servers::ask_each(
      servers, [&](mcp::RemoteServer& s) { return (s.*list)(); }, errors);
  Json data = Json::array();
  for (size_t i = 0; i < answers.size(); ++i) {
    if (!answers[i].is_array()) continue;
    for (const Json& one : answers[i].as_array()) {
      Json j = Json::object();
      j.set("server", servers[i]->name());
      copy(j, one,
           {{"uri", "uri"},
            {"uriTemplate", "uri_template"},
            {"name", "name"},
            {"title", "title"},
            {"description", "description"},
            {"mimeType", "mime_type"},
            {"size", "size"},
            {"arguments", "arguments"}});
      data.push(std::move(j));
    }
  }
  return list_json(std::move(data), errors);
}

[[noreturn]] void not_found(const std::string& field, const std::string& message) {
  ApiError e(404, "invalid_request_error", "not_found", message);
  e.param = field;
  throw e;
}

// Failures of a server as statuses.
template <class F>
auto reaching(F&& call) {
  using Kind = mcp::ClientError::Kind;
  try {
    return call();
  } catch (const mcp::ClientError& e) {
    const bool late = e.kind == Kind::timeout;
    throw ApiError(late ? 504 : 502, "server_error", late ? "mcp_timeout" : "mcp_unreachable", e.what());
  } catch (const mcp::RpcError& e) {
    throw ApiError(400, "invalid_request_error", "mcp_error", e.what());
  }
}

Json call_tool_json(const std::shared_ptr<mcp::RemoteServer>& server, const std::string& tool, const Json& arguments,
                    const mcp::RequestOptions& options) {
  const Stopwatch watch;
  const mcp::RemoteResult r = reaching([&] {
    const std::vector<mcp::RemoteTool> tools = server->tools();
    std::vector<std::string> names;
    for (const mcp::RemoteTool& t : tools) names.push_back(t.name);
    if (std::find(names.begin(), names.end(), tool) == names.end())
      not_found("tool",
                fmt::format("MCP server '{}' has no tool '{}'{}", server->name(), tool, did_you_mean(tool, names)));
    return server->call(tool, arguments, options);
  });
  Json j = Json::object();
  j.set("server", server->name()), j.set("tool", tool), j.set("content", r.content);
  if (!r.structured.is_null()) j.set("structured", r.structured);
  j.set("text", r.text), j.set("is_error", r.is_error), j.set("truncated", r.truncated);
  j.set("ms", 1e3 * watch.seconds());
  return j;
}

Json read_resource_json(mcp::RemoteServer& server, const std::string& uri, const mcp::RequestOptions& options) {
  const Json found = reaching([&] { return server.read_resource(uri, options); });
  Json j = Json::object();
  const Json* contents = found.find("contents");
  std::string text;
  if (contents && contents->is_array())
    for (const Json& c : contents->as_array())
      if (const Json* t = c.find("text"); t && t->is_string()) text += (text.empty() ? "" : "\n") + t->as_string();
  j.set("server", server.name()), j.set("resource", uri), j.set("contents", contents ? *contents : Json::array());
  j.set("text", text);
  return j;
}

Json get_prompt_json(mcp::RemoteServer& server, const std::string& prompt, const Json& arguments,
                     const mcp::RequestOptions& options) {
  const Json found = reaching([&] { return server.get_prompt(prompt, arguments, options); });
  Json j = Json::object(), messages = Json::array();
  j.set("server", server.name()), j.set("prompt", prompt);
  copy(j, found, {{"description", "description"}});
  const Json* list = found.find("messages");
  if (list && list->is_array())
    for (const Json& m : list->as_array()) {
      const Json *role = m.find("role"), *content = m.find("content");
      Json wrapped = Json::object(), one = Json::object();
      wrapped.set("content",
                  content && content->is_array() ? *content : Json(Json::Array{content ? *content : Json::object()}));
      one.set("role", role ? *role : Json("user"));
      one.set("content", reaching([&] { return mcp::read_result(wrapped); }).text);
      messages.push(std::move(one));
    }
  j.set("messages", std::move(messages));
  return j;
}

}  // namespace

Json unread_servers_json(const std::vector<mcp::UnreadServer>& errors) {
  Json list = Json::array();
  for (const mcp::UnreadServer& e : errors) {
    Json one = Json::object();
    one.set("server", e.server), one.set("message", e.message), list.push(std::move(one));
  }
  return list;
}

std::shared_ptr<mcp::RemoteServer> mcp_server_named(const mcp::Servers& servers, const std::string& name,
                                                    const std::string& field) {
  if (auto s = servers.find(name)) return s;
  not_found(field, fmt::format("{}: there is no MCP server '{}'{}; there are: {}", field, name,
                               did_you_mean(name, servers.names()), fmt::join(servers.names(), ", ")));
}

Json mcp_list_json(const mcp::Servers& servers, const std::string& what, const HttpRequest& r) {
  std::vector<std::string> names;
  for (const auto& [key, value] : r.query)
    if (key == "server") names.push_back(mcp_server_named(servers, value, "server")->name());
  if (what == "servers") {
    Json data = Json::array();
    for (const auto& s : servers.all())
      if (names.empty() || s->name() == names[0]) data.push(status_json(s->status()));
    return list_json(std::move(data), {});
  }
  const auto chosen = servers.chosen(names);
  if (what == "resources") return listed_json(chosen, &mcp::RemoteServer::resources);
  if (what == "prompts") return listed_json(chosen, &mcp::RemoteServer::prompts);
  if (what != "tools")
    not_found("", fmt::format("there is no /v1/mcp/{}; expected servers, tools, resources or prompts", what));
  const mcp::ToolListing listing = mcp::Servers::list_tools(chosen);
  Json data = Json::array();
  for (const mcp::NamedTool& t : listing.tools) data.push(tool_json(t));
  return list_json(std::move(data), listing.errors);
}

Json mcp_call_json(const mcp::Servers& servers, const Json& body, const std::function<bool()>& gone) {
  const Fields f(body);
  const auto function = f.text("function"), server = f.text("server"), tool = f.text("tool"),
             resource = f.text("resource"), prompt = f.text("prompt");
  const Json* given = f.find("arguments");
  if (given && !given->is_object()) bad_field("arguments", "expected an object");
  const Json arguments = given ? *given : Json::object();
  const auto seconds = f.number("timeout", 0.001, 86'400);
  if (int{function.has_value()} + int{tool.has_value()} + int{resource.has_value()} + int{prompt.has_value()} != 1)
    throw ApiError("expected exactly one of tool, function, resource and prompt");
  if (function) {
    const mcp::ToolListing listing = mcp::Servers::list_tools(servers.chosen({}));
    const mcp::NamedTool* named = listing.find(*function);
    if (!named) not_found("function", fmt::format("no MCP server has a tool with the function name '{}'", *function));
    return call_tool_json(named->server, named->tool.name, arguments,
                          {.seconds = seconds.value_or(named->server->call_seconds()), .cancelled = gone});
  }
  if (!server) bad_field("server", "expected the name of an MCP server");
  const auto s = mcp_server_named(servers, *server, "server");
  const mcp::RequestOptions options{.seconds = seconds.value_or(s->call_seconds()), .cancelled = gone};
  if (tool) return call_tool_json(s, *tool, arguments, options);
  if (resource) return read_resource_json(*s, *resource, options);
  return get_prompt_json(*s, *prompt, arguments, options);
}

}  // namespace quern::serve
