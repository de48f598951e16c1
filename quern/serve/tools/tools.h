// Tools offered by a chat request, and the tool calls of a response.
#pragma once
#include <string>
#include <vector>

#include "quern/serve/wire/generation_fields.h"

namespace quern::serve {

struct Tool {
  std::string name, description;
  Json parameters;      // a JSON Schema of one object
  bool strict = false;  // calls follow the schema also where none is required
};

struct ToolUse {
  enum class Choice { none, automatic, required };
  std::vector<Tool> tools = {};
  Choice choice = Choice::automatic;
  std::vector<std::string> allowed = {};  // names of those that may be called; empty: all
  bool parallel = true;                   // more than one call an answer

  bool active() const { return !tools.empty() && choice != Choice::none; }
  bool strict() const;
  bool forced() const { return active() && choice == Choice::required; }
  bool may_call(std::string_view name) const;
  const Tool* find(std::string_view name) const;  // among those that may be called
  std::vector<const Tool*> callable() const;
  Json json() const;  // as chat templates read them
};

// tools, tool_choice, parallel_tool_calls of the OpenAI form; an ApiError names the field.
ToolUse read_tools(const Fields& f);

struct ToolCall {
  std::string id, name, arguments;  // arguments: the text of a JSON object
  Json json() const;                // as the OpenAI API writes it
};

// The tool_calls of an assistant's message in a history, arguments read into objects.
Json read_tool_calls(const Json& list, const std::string& where);

}  // namespace quern::serve
