// Lists, calls and reads.
#include "quern/mcp/server/server.h"

#include <algorithm>
#include <charconv>

#include "quern/base/nearest.h"

namespace quern::mcp {
namespace {

constexpr size_t kPageSize = 100;

[[noreturn]] void bad_params(const std::string& what) { throw RpcError(RpcCode::invalid_params, what); }

std::string name_in(const Json& params, const char* key) {
  const Json* name = params.find(key);
  if (!name || !name->is_string()) bad_params(fmt::format("params.{}: expected a string", key));
  return name->as_string();
}

// A page of `all`, from the cursor on: the position of the next item, in digits.
template <class T>
Json page(const Json& params, const std::vector<T>& all, const char* key) {
  size_t from = 0;
  if (const Json* cursor = params.find("cursor"); cursor && !cursor->is_null()) {
    const std::string text = name_in(params, "cursor");
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), from);
    if (fault != std::errc() || end != text.data() + text.size() || from > all.size())
      bad_params(fmt::format("params.cursor: '{}' is not of this list", text.substr(0, 40)));
  }
  const size_t end = std::min(all.size(), from + kPageSize);
  Json j = Json::object(), list = Json::array();
  for (size_t i = from; i < end; ++i) list.push(all[i].json());
  j.set(key, std::move(list));
  if (end < all.size()) j.set("nextCursor", std::to_string(end));
  return j;
}

Json arguments_of(const Json& params) {
  const Json* given = params.find("arguments");
  if (!given || given->is_null()) return Json::object();
  if (!given->is_object()) bad_params("params.arguments: expected an object");
  return *given;
}

}  // namespace

Server::Server(std::string version, std::string instructions)
    : version_(std::move(version)), instructions_(std::move(instructions)) {}

void Server::add_tool(ToolInfo info, ToolFunction call) {
  auto schema = std::make_unique<verify::JsonSchema>(info.input_schema);
  tools_.push_back({std::move(info), std::move(schema), std::move(call)});
}

void Server::add_prompt(PromptInfo info, PromptFunction get) {
  prompts_.push_back({std::move(info), std::move(get)});
}

Json Server::info() const {
  Json j = Json::object();
  j.set("name", "quern"), j.set("title", "Quern"), j.set("version", version_);
  return j;
}

Json Server::capabilities() const {
  Json j = Json::object();
  Json fixed = Json::object();
  fixed.set("listChanged", false);
  j.set("logging", Json::object());
  if (!tools_.empty()) j.set("tools", fixed);
  if (!prompts_.empty()) j.set("prompts", fixed);
  if (!sources_.empty()) {
    Json resources = fixed;
    resources.set("subscribe", false);
    j.set("resources", std::move(resources));
  }
  return j;
}

Json Server::list_tools(const Json& params) const {
  std::vector<ToolInfo> all;
  for (const OfferedTool& t : tools_) all.push_back(t.info);
  return page(params, all, "tools");
}

Json Server::list_prompts(const Json& params) const {
  std::vector<PromptInfo> all;
  for (const OfferedPrompt& p : prompts_) all.push_back(p.info);
  return page(params, all, "prompts");
}

Json Server::list_resources(const Json& params) const {
  std::vector<ResourceInfo> all;
  for (const auto& source : sources_)
    for (ResourceInfo& r : source->list()) all.push_back(std::move(r));
  return page(params, all, "resources");
}

Json Server::list_templates(const Json& params) const {
  std::vector<ResourceTemplate> all;
  for (const auto& source : sources_)
    for (ResourceTemplate& t : source->templates()) all.push_back(std::move(t));
  return page(params, all, "resourceTemplates");
}

Json Server::read_resource(const Json& params) const {
  const std::string uri = name_in(params, "uri");
  for (const auto& source : sources_) {
    const std::optional<ResourceText> found = source->read(uri);
    if (!found) continue;
    Json one = Json::object(), list = Json::array(), j = Json::object();
    one.set("uri", uri), one.set("mimeType", found->mime_type), one.set("text", found->text);
    list.push(std::move(one)), j.set("contents", std::move(list));
    return j;
  }
  Json data = Json::object();
  data.set("uri", uri);
  throw RpcError(RpcCode::resource_not_found, fmt::format("there is no resource '{}'", uri), std::move(data));
}

Json Server::get_prompt(const Json& params) const {
  const std::string name = name_in(params, "name");
  const auto at = std::find_if(prompts_.begin(), prompts_.end(), [&](const auto& p) { return p.info.name == name; });
  if (at == prompts_.end()) {
    std::vector<std::string> names;
    for (const OfferedPrompt& p : prompts_) names.push_back(p.info.name);
    bad_params(fmt::format("there is no prompt '{}'{}", name, did_you_mean(name, names)));
  }
  const Json arguments = arguments_of(params);
  for (const auto& [key, value] : arguments.as_object()) {
    if (!value.is_string()) bad_params(fmt::format("params.arguments.{}: expected a string", key));
    if (std::none_of(at->info.arguments.begin(), at->info.arguments.end(),
                     [&](const auto& a) { return a.name == key; }))
      bad_params(fmt::format("params.arguments.{}: the prompt '{}' has no such argument", key, name));
  }
  for (const PromptArgument& a : at->info.arguments)
    if (a.required && !arguments.find(a.name))
      bad_params(fmt::format("params.arguments.{}: the prompt '{}' needs it", a.name, name));
  try {
    return at->get(arguments).json();
  } catch (const RpcError&) {
    throw;
  } catch (const Error& e) {
    bad_params(e.what());
  }
}

const Server::OfferedTool& Server::find_tool(const Json& params) const {
  const std::string name = name_in(params, "name");
  std::vector<std::string> names;
  for (const OfferedTool& t : tools_) {
    if (t.info.name == name) return t;
    names.push_back(t.info.name);
  }
  bad_params(fmt::format("there is no tool '{}'{}", name, did_you_mean(name, names)));
}

Json Server::call_tool(const OfferedTool& tool, const Json& params, CallContext& context) {
  const Json arguments = arguments_of(params);
  if (const auto complaint = tool.schema->complaint(arguments))
    return ToolResult::error(
               fmt::format("the arguments do not follow the schema of {}: {}", tool.info.name, *complaint))
        .json();
  try {
    return tool.call(arguments, context).json();
  } catch (const RpcError&) {
    throw;
  } catch (const Error& e) {
    return ToolResult::error(e.what()).json();
  }
}

}  // namespace quern::mcp
