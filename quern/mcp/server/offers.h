// What an MCP server offers: tools with the JSON Schema of their arguments, resources, prompts. The server (server.h)
// does the protocol.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "quern/base/json.h"

namespace quern::mcp {

enum class LogLevel { debug, info, notice, warning, error, critical, alert, emergency };
const char* log_level_name(LogLevel level);
std::optional<LogLevel> log_level_of(const std::string& name);

// What a tool may use of its caller while it works.
class CallContext {
 public:
  virtual ~CallContext() = default;
  virtual bool cancelled() const = 0;  // nobody waits for the result any more
  // Sent when the client asked for it; else what keeps a slow connection open. `total` 0: not known.
  virtual void progress(double done, double total, const std::string& message) = 0;
  virtual void log(LogLevel level, const std::string& text) = 0;
};

struct ToolInfo {
  std::string name, title, description;
  Json input_schema;
  Json output_schema = {};  // null: no structured result is promised
  bool read_only = false, destructive = false, idempotent = false;
  Json json() const;
};

struct ToolResult {
  Json content = Json::array();
  Json structured = {};
  bool is_error = false;
  static ToolResult text(std::string_view text);
  static ToolResult error(std::string_view text);  // that the model reads and can act on
  static ToolResult value(Json structured);        // and its text
  Json json() const;
};

// A mistake that throws Error becomes a result with isError.
using ToolFunction = std::function<ToolResult(const Json& arguments, CallContext& context)>;

struct ResourceInfo {
  std::string uri, name, title = {}, description = {}, mime_type = {};
  int64_t size = -1;  // bytes; −1: not known
  Json json() const;
};

struct ResourceTemplate {
  std::string uri_template, name, title = {}, description = {}, mime_type = {};
  Json json() const;
};

struct ResourceText {
  std::string text, mime_type = "text/plain";
};

class ResourceSource {
 public:
  virtual ~ResourceSource() = default;
  virtual std::vector<ResourceInfo> list() = 0;
  virtual std::vector<ResourceTemplate> templates() = 0;
  virtual std::optional<ResourceText> read(const std::string& uri) = 0;  // nothing: there is none of this name
};

struct PromptArgument {
  std::string name, description;
  bool required = false;
};

struct PromptInfo {
  std::string name, title, description;
  std::vector<PromptArgument> arguments;
  Json json() const;
};

struct PromptResult {
  std::string description;
  std::vector<std::pair<std::string, std::string>> messages;  // role (user or assistant) and text
  Json json() const;
};
using PromptFunction = std::function<PromptResult(const Json& arguments)>;

Json text_content(std::string_view text);

// "quern-document:a%20b.md": characters that a URI may not have are escaped, and back. '/' stays.
std::string uri_escaped(std::string_view text);
std::string uri_unescaped(std::string_view text);

}  // namespace quern::mcp
