// Calls read out of text, whole and byte by byte, in each format; what is malformed stays and is told.
#include "quern/serve/tools/tool_stream.h"

#include <gtest/gtest.h>

#include "quern/base/error.h"
#include "quern/base/rng.h"
#include "quern/serve/wire/api_error.h"

namespace quern::serve {
namespace {

ToolUse weather() {
  const Json body = Json::parse(R"({"tools": [
    {"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties":
      {"city": {"type": "string"}, "days": {"type": "integer"}, "tags": {"type": "array"}}, "required": ["city"]}}},
    {"type": "function", "function": {"name": "now"}}]})");
  return read_tools(Fields(body));
}

struct Read {
  std::string content;
  std::vector<ToolCall> streamed, whole;
  std::vector<std::string> warnings;
};

Read read(const ToolFormat& format, const std::string& text, size_t step) {
  const ToolUse use = weather();
  ToolStream s(format, use);
  Read r;
  auto take = [&](const ToolPart& p) {
    r.content += p.content;
    r.warnings.insert(r.warnings.end(), p.warnings.begin(), p.warnings.end());
    for (const CallDelta& d : p.calls) {
      if (d.index >= r.streamed.size()) r.streamed.resize(d.index + 1);
      ToolCall& c = r.streamed[d.index];
      EXPECT_EQ(d.id.empty(), d.name.empty());
      EXPECT_TRUE(d.id.empty() || c.id.empty()) << "begun twice";
      c.id += d.id, c.name += d.name, c.arguments += d.arguments;
    }
  };
  for (size_t i = 0; i < text.size(); i += step) take(s.push(std::string_view(text).substr(i, step)));
  take(s.finish());
  r.whole = s.calls();
  return r;
}

struct Case {
  const ToolFormat* format;
  std::string text, content;
  std::vector<std::pair<std::string, std::string>> calls;  // name, arguments as JSON
};

TEST(ToolStream, ReadsCallsWholeAndByteByByte) {
  const std::vector<Case> cases = {
      {&hermes_format(),
       "Let me see.\n<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Köln }\\\" <\", \"days\": 3}}\n"
       "</tool_call>\n<tool_call>{\"arguments\": {}, \"name\": \"now\"}</tool_call>",
       "Let me see.",
       {{"weather", R"({"city": "Köln }\" <", "days": 3})"}, {"now", "{}"}}},
      {&hermes_format(), "<tool_call>\n{\"name\": \"now\"}\n", "", {{"now", "{}"}}},
      {&hermes_format(),
       R"(<tool_call>{"name": "weather", "arguments": "{\"city\": \"a\"}"}</tool_call> done)",
       "done",
       {{"weather", R"({"city": "a"})"}}},
      {&hermes_format(), "no call, a < b, <tool_\n", "no call, a < b, <tool_\n", {}},
      {&llama3_format(),
       R"({"name": "weather", "parameters": {"city": "x"}}; {"type": "function", "name": "now", "parameters": {}})",
       "",
       {{"weather", R"({"city": "x"})"}, {"now", "{}"}}},
      {&llama3_format(), R"(<|python_tag|>{"name": "now", "parameters": {}})", "", {{"now", "{}"}}},
      {&llama3_format(), R"({"answer": 4})", R"({"answer": 4})", {}},
      {&llama3_format(), "plain {\"name\": 1}", "plain {\"name\": 1}", {}},
      {&zaya_format(),
       "I look.\n<zyphra_tool_call>\n<function=weather>\n<parameter=city>\na \"b\"\n\nc </p\n</parameter>\n"
       "<parameter=days>\n3\n</parameter>\n<parameter=tags>\n[1, \"x\"]\n</parameter>\n</function>\n"
       "</zyphra_tool_call>\n<zyphra_tool_call>\n<function=now>\n</function>\n</zyphra_tool_call>\n",
       "I look.",
       {{"weather", R"({"city": "a \"b\"\n\nc </p", "days": 3, "tags": [1, "x"]})"}, {"now", "{}"}}},
      {&qwen_coder_format(),
       "<tool_call>\n<function=weather>\n<parameter=city>\n12\n</parameter>\n<parameter=days>\nmany\n</parameter>\n"
       "</function>\n</tool_call>",
       "",
       {{"weather", R"({"city": "12", "days": "many"})"}}},
  };
  for (const Case& c : cases)
    for (size_t step : {size_t{1}, size_t{2}, size_t{7}, c.text.size()}) {
      const Read r = read(*c.format, c.text, step);
      EXPECT_EQ(r.content, c.content) << c.text << " by " << step;
      EXPECT_TRUE(r.warnings.empty()) << r.warnings[0];
      ASSERT_EQ(r.whole.size(), c.calls.size()) << c.text << " by " << step;
      ASSERT_EQ(r.streamed.size(), c.calls.size());
      for (size_t i = 0; i < c.calls.size(); ++i) {
        EXPECT_EQ(r.whole[i].name, c.calls[i].first);
        EXPECT_EQ(Json::parse(r.whole[i].arguments), Json::parse(c.calls[i].second)) << r.whole[i].arguments;
        EXPECT_EQ(r.streamed[i].arguments, r.whole[i].arguments);
        EXPECT_EQ(r.streamed[i].id, r.whole[i].id);
      }
    }
}

TEST(ToolStream, MalformedCallsStayAndAreTold) {
  const std::pair<const ToolFormat*, std::string> cases[] = {
      {&hermes_format(), "<tool_call>\n{\"name\": \"wether\", \"arguments\": {}}\n</tool_call>"},
      {&hermes_format(), "<tool_call>\n{\"name\": \"now\", \"arguments\": {oops}}\n</tool_call>"},
      {&hermes_format(), "<tool_call>\n{\"name\": \"now\", \"arguments\": {}"},
      {&hermes_format(), "<tool_call>\nnow()\n</tool_call>"},
      {&hermes_format(), R"(<tool_call>{"name": "now", "arguments": {}, "arguments": {"a": 1}}</tool_call>)"},
      {&hermes_format(), R"(<tool_call>{"name": "now", "arguments": [1]}</tool_call>)"},
      {&hermes_format(), R"(<tool_call>{"name": "now", "arguments": {}} more)"},
      {&zaya_format(), "<zyphra_tool_call>\n<function=now>\n<parameter=x>\n1\n"},
      {&zaya_format(), "<zyphra_tool_call>\n<function=nope>\n</function>\n</zyphra_tool_call>"},
      {&llama3_format(), R"({"name": "nope", "parameters": {}})"},
  };
  for (const auto& [format, text] : cases)
    for (size_t step : {size_t{1}, text.size()}) {
      const Read r = read(*format, text, step);
      EXPECT_EQ(r.content, text);
      EXPECT_EQ(r.warnings.size(), 1u) << text;
      EXPECT_TRUE(r.whole.empty()) << text;
    }
  // What is right beside it is not lost.
  const Read r =
      read(hermes_format(), "<tool_call>{\"name\": 3}</tool_call>\n<tool_call>{\"name\": \"now\"}</tool_call>", 3);
  EXPECT_EQ(r.whole.size(), 1u);
  EXPECT_EQ(r.warnings.size(), 1u);
  EXPECT_EQ(r.content, "<tool_call>{\"name\": 3}</tool_call>");
}

TEST(ToolStream, AnyTextIsReadWithoutHarm) {
  const std::vector<std::string> words = {"<tool_call>",
                                          "</tool_call>",
                                          "{",
                                          "}",
                                          "\"name\"",
                                          ":",
                                          "\"now\"",
                                          "\"weather\"",
                                          ",",
                                          "\"arguments\"",
                                          "\"city\"",
                                          "[",
                                          "]",
                                          "\n",
                                          " ",
                                          "\\",
                                          "\"",
                                          "<function=now>",
                                          "<function=weather>",
                                          "<parameter=city>",
                                          "</parameter>",
                                          "</function>",
                                          "<zyphra_tool_call>",
                                          "</zyphra_tool_call>",
                                          "12",
                                          "null",
                                          "<|python_tag|>",
                                          ";"};
  Rng rng(7, 1);
  for (int i = 0; i < 4000; ++i) {
    std::string text;
    for (uint64_t n = rng.below(14); n > 0; --n) text += words[rng.below(words.size())];
    for (const ToolFormat* f : {&hermes_format(), &llama3_format(), &zaya_format(), &qwen_coder_format()}) {
      const Read a = read(*f, text, 1), b = read(*f, text, text.size() + 1);
      EXPECT_EQ(a.whole.size(), b.whole.size()) << text;
      EXPECT_EQ(a.content, b.content) << text;
      for (const ToolCall& c : a.whole) EXPECT_TRUE(Json::parse(c.arguments).is_object()) << text;
    }
  }
}

TEST(ToolStream, TemplatesSayTheFormat) {
  EXPECT_EQ(tool_format_of("… <zyphra_tool_call> <function= …").name(), "zaya");
  EXPECT_EQ(tool_format_of("… <tool_call> <function=name> …").name(), "qwen-coder");
  EXPECT_EQ(tool_format_of("… <tool_call>{…}</tool_call> …").name(), "hermes");
  EXPECT_EQ(tool_format_of("… Environment: ipython …").name(), "llama3");
  EXPECT_EQ(tool_format_of("nothing").name(), "hermes");
}

TEST(ToolUse, IsCheckedByField) {
  auto refused = [](const char* body, const char* word) {
    try {
      const Json j = Json::parse(body);
      read_tools(Fields(j));
      ADD_FAILURE() << body;
    } catch (const ApiError& e) {
      EXPECT_NE(std::string(e.what()).find(word), std::string::npos) << e.what();
    }
  };
  refused(R"({"tools": 3})", "tools");
  refused(R"({"tools": [{"type": "web_search"}]})", "tools[0]");
  refused(R"({"tools": [{"type": "function", "function": {"name": "a b"}}]})", "tools[0].function.name");
  refused(R"({"tools": [{"type": "function", "function": {"name": "a", "parameters": {"type": "array"}}}]})",
          "schema");
  refused(R"({"tools": [{"type": "function", "function": {"name": "abc"}}],
              "tool_choice": {"type": "function", "function": {"name": "abd"}}})",
          "did you mean");
  refused(R"({"tool_choice": "required"})", "no tools");
  refused(R"({"tool_choice": "some"})", "auto, none, required");
}

}  // namespace
}  // namespace quern::serve
