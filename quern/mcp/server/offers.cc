// Tools, resources and prompts as the protocol writes them.
#include "quern/mcp/server/offers.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "quern/base/error.h"

namespace quern::mcp {
namespace {

constexpr std::array<const char*, 8> kLevels = {"debug", "info",     "notice", "warning",
                                                "error", "critical", "alert",  "emergency"};

void set_text(Json& j, const char* name, const std::string& text) {
  if (!text.empty()) j.set(name, text);
}

}  // namespace

const char* log_level_name(LogLevel level) { return kLevels[static_cast<size_t>(level)]; }

std::optional<LogLevel> log_level_of(const std::string& name) {
  const auto at = std::find(kLevels.begin(), kLevels.end(), name);
  if (at == kLevels.end()) return std::nullopt;
  return static_cast<LogLevel>(at - kLevels.begin());
}

Json ToolInfo::json() const {
  Json j = Json::object(), hints = Json::object();
  j.set("name", name);
  set_text(j, "title", title), set_text(j, "description", description);
  j.set("inputSchema", input_schema);
  if (!output_schema.is_null()) j.set("outputSchema", output_schema);
  hints.set("readOnlyHint", read_only), hints.set("destructiveHint", destructive);
  hints.set("idempotentHint", idempotent), hints.set("openWorldHint", false);
  j.set("annotations", std::move(hints));
  return j;
}

ToolResult ToolResult::text(std::string_view text) {
  ToolResult r;
  r.content.push(text_content(text));
  return r;
}

ToolResult ToolResult::error(std::string_view text) {
  ToolResult r = ToolResult::text(text);
  r.is_error = true;
  return r;
}

ToolResult ToolResult::value(Json structured) {
  ToolResult r = ToolResult::text(structured.dump(1));
  r.structured = std::move(structured);
  return r;
}

Json ToolResult::json() const {
  Json j = Json::object();
  j.set("content", content);
  if (!structured.is_null()) j.set("structuredContent", structured);
  j.set("isError", is_error);
  return j;
}

Json ResourceInfo::json() const {
  Json j = Json::object();
  j.set("uri", uri), j.set("name", name);
  set_text(j, "title", title), set_text(j, "description", description), set_text(j, "mimeType", mime_type);
  if (size >= 0) j.set("size", size);
  return j;
}

Json ResourceTemplate::json() const {
  Json j = Json::object();
  j.set("uriTemplate", uri_template), j.set("name", name);
  set_text(j, "title", title), set_text(j, "description", description), set_text(j, "mimeType", mime_type);
  return j;
}

Json PromptInfo::json() const {
  Json j = Json::object(), list = Json::array();
  j.set("name", name);
  set_text(j, "title", title), set_text(j, "description", description);
  for (const PromptArgument& a : arguments) {
    Json one = Json::object();
    one.set("name", a.name), one.set("description", a.description), one.set("required", a.required);
    list.push(std::move(one));
  }
  j.set("arguments", std::move(list));
  return j;
}

Json PromptResult::json() const {
  Json j = Json::object(), list = Json::array();
  set_text(j, "description", description);
  for (const auto& [role, text] : messages) {
    Json one = Json::object();
    one.set("role", role), one.set("content", text_content(text));
    list.push(std::move(one));
  }
  j.set("messages", std::move(list));
  return j;
}

Json text_content(std::string_view text) {
  Json j = Json::object();
  j.set("type", "text"), j.set("text", text);
  return j;
}

std::string uri_escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto u = static_cast<unsigned char>(c);
    if (std::isalnum(u) != 0 || std::string_view("-._~/").find(c) != std::string_view::npos)
      out += c;
    else
      out += fmt::format("%{:02X}", u);
  }
  return out;
}

std::string uri_unescaped(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool escape = text[i] == '%' && i + 2 < text.size() &&
                        std::isxdigit(static_cast<unsigned char>(text[i + 1])) != 0 &&
                        std::isxdigit(static_cast<unsigned char>(text[i + 2])) != 0;
    if (!escape) {
      out += text[i];
      continue;
    }
    out += static_cast<char>(std::stoi(std::string(text.substr(i + 1, 2)), nullptr, 16));
    i += 2;
  }
  return out;
}

}  // namespace quern::mcp
