// Tools through the chat API: calls that are required or named, whole and streamed, in the form the template teaches;
// histories with calls; thinking before them and its budget; what messages say is no control.
#include "tests/serve/serving.h"

namespace quern {
namespace {

constexpr const char* kPath = "/v1/chat/completions";
constexpr const char* kTools = R"("tools": [
  {"type": "function", "function": {"name": "weather", "description": "of a city", "parameters": {"type": "object",
    "properties": {"city": {"enum": ["Oslo", "Rome"]}, "days": {"type": "integer", "minimum": 1, "maximum": 9}},
    "required": ["city", "days"]}}},
  {"type": "function", "function": {"name": "now", "parameters": {"type": "object", "properties": {}}}}])";

class Tools : public Serving {
 protected:
  void begin(const std::string& chat_template = {}) {
    chat_template_ = chat_template;
    start();
    model_->defaults.eos_token_id = {model_->tokenizer.token_to_id("</s>")};
  }
  std::string body(const std::string& more, const std::string& messages = R"([{"role": "user", "content": "?"}])") {
    return fmt::format(R"({{"messages": {}, "max_tokens": 4000, {}, {}}})", messages, kTools, more);
  }
  static void check_call(const Json& call) {
    const std::string name = call.at("function").at("name").as_string();
    const Json arguments = Json::parse(call.at("function").at("arguments").as_string());
    ASSERT_TRUE(name == "weather" || name == "now") << name;
    if (name == "now") return;
    EXPECT_TRUE(arguments.at("city") == Json("Oslo") || arguments.at("city") == Json("Rome"));
    EXPECT_TRUE(arguments.at("days").as_int() >= 1 && arguments.at("days").as_int() <= 9);
  }
};

struct Streamed {
  std::string content, reasoning, finish;
  std::vector<serve::ToolCall> calls;
  Json usage;
};

Streamed streamed(const std::string& body) {
  Streamed out;
  for (size_t at = 0; (at = body.find("data: {", at)) != body.npos; at += 6) {
    const Json j = Json::parse(body.substr(at + 6, body.find("\n\n", at) - at - 6));
    for (const Json& c : j.at("choices").as_array()) {
      const Json& d = c.at("delta");
      if (const Json* t = d.find("content")) out.content += t->as_string();
      if (const Json* t = d.find("reasoning_content")) out.reasoning += t->as_string();
      if (c.at("finish_reason").is_string()) out.finish = c.at("finish_reason").as_string();
      if (const Json* calls = d.find("tool_calls"))
        for (const Json& call : calls->as_array()) {
          const auto i = static_cast<size_t>(call.at("index").as_int());
          if (i >= out.calls.size()) out.calls.resize(i + 1);
          if (const Json* id = call.find("id")) {
            EXPECT_TRUE(out.calls[i].id.empty());
            out.calls[i].id = id->as_string(), out.calls[i].name = call.at("function").at("name").as_string();
          }
          out.calls[i].arguments += call.at("function").at("arguments").as_string();
        }
    }
  }
  return out;
}

const char* const kZaya = R"({% for t in tools %}{{ t | tojson }}{% endfor %}{# <zyphra_tool_call> <function= #}
{%- for m in messages %}<s>{{ m.role }}: {{ m.content }}{% for c in m.tool_calls or [] %}{{ c.function.name }}(
{%- for k, v in c.function.arguments | items %}{{ k }}={{ v }}{% endfor %}){% endfor %}
{% endfor %}<s>assistant: {% if think %}<think>{% endif %})";

TEST_F(Tools, RequiredCallsAreMadeInEveryFormat) {
  const std::pair<const char*, const char*> formats[] = {
      {"hermes", ""},
      {"zaya", kZaya},
      {"llama3", "{% for t in tools %}{{ t | tojson }}{% endfor %}ipython{{ messages[0].content }}<s>"}};
  for (const auto& [name, chat_template] : formats) {
    SCOPED_TRACE(name);
    begin(chat_template);
    for (int seed = 0; seed < 4; ++seed) {
      const std::string asked = fmt::format(R"("tool_choice": "required", "seed": {})", seed);
      const Json j = ok(post(kPath, body(asked)));
      const Json& choice = j.at("choices").as_array()[0];
      EXPECT_EQ(choice.at("finish_reason").as_string(), "tool_calls") << j.dump();
      EXPECT_TRUE(choice.at("message").at("content").is_null()) << j.dump();
      const Json::Array& calls = choice.at("message").at("tool_calls").as_array();
      for (const Json& c : calls) check_call(c);
      const Streamed s = streamed(post(kPath, body(asked + R"(, "stream": true)")).body);
      EXPECT_EQ(s.finish, "tool_calls");
      EXPECT_EQ(s.content, "");
      ASSERT_EQ(s.calls.size(), calls.size());
      for (size_t i = 0; i < calls.size(); ++i) {
        EXPECT_EQ(s.calls[i].name, calls[i].at("function").at("name").as_string());
        EXPECT_EQ(s.calls[i].arguments, calls[i].at("function").at("arguments").as_string());
        EXPECT_TRUE(s.calls[i].id.starts_with("call_"));
      }
    }
    server_->stop();
    thread_.join();
  }
}

TEST_F(Tools, ANamedFunctionAndOneCallAlone) {
  begin();
  for (int seed = 0; seed < 6; ++seed) {
    const Json j = ok(post(kPath, body(fmt::format(R"("tool_choice": {{"type": "function", "function":
      {{"name": "weather"}}}}, "parallel_tool_calls": false, "seed": {})",
                                                   seed))));
    const Json::Array& calls = j.at("choices").as_array()[0].at("message").at("tool_calls").as_array();
    ASSERT_EQ(calls.size(), 1u);
    EXPECT_EQ(calls[0].at("function").at("name").as_string(), "weather");
    check_call(calls[0]);
  }
}

TEST_F(Tools, CallsFollowTheThinkingAndItsBudget) {
  begin(kZaya);
  const std::string asked =
      R"("tool_choice": "required", "seed": 5, "thinking_budget": 7, "chat_template_kwargs": {"think": true})";
  const Json j = ok(post(kPath, body(asked)));
  const Json& choice = j.at("choices").as_array()[0];
  EXPECT_EQ(choice.at("finish_reason").as_string(), "tool_calls") << j.dump();
  EXPECT_FALSE(choice.at("message").at("reasoning_content").as_string().empty());
  // Counted from the text, where a byte that is no character takes three.
  EXPECT_LE(j.at("usage").at("completion_tokens_details").at("reasoning_tokens").as_int(), 3 * 7);
  const Streamed s = streamed(post(kPath, body(asked + R"(, "stream": true)")).body);
  EXPECT_EQ(s.reasoning, choice.at("message").at("reasoning_content").as_string());
  ASSERT_FALSE(s.calls.empty());
  // Without tools: the answer begins where the thinking had to end.
  const Json plain = ok(post(kPath, R"({"messages": [{"role": "user", "content": "?"}], "max_tokens": 60, "seed": 2,
    "thinking_budget": 0, "ignore_eos": true, "chat_template_kwargs": {"think": true}})"));
  const Json& message = plain.at("choices").as_array()[0].at("message");
  EXPECT_EQ(message.find("reasoning_content"), nullptr) << plain.dump();
  EXPECT_FALSE(message.at("content").as_string().empty());
  // So it does where none is wanted, of a template that opens it all the same.
  const Json none = ok(post(kPath, R"({"messages": [{"role": "user", "content": "?"}], "max_tokens": 60, "seed": 2,
    "reasoning_effort": "none", "ignore_eos": true, "chat_template_kwargs": {"think": true}})"));
  EXPECT_EQ(none.at("choices").as_array()[0].at("message"), message);
}

TEST_F(Tools, TheTemplateIsToldOfToolsCallsAndResults) {
  begin(kZaya);
  const std::string history = R"([{"role": "user", "content": "?"},
    {"role": "assistant", "content": null, "tool_calls": [{"id": "call_1", "type": "function",
      "function": {"name": "weather", "arguments": "{\"city\": \"Oslo\"}"}}]},
    {"role": "tool", "tool_call_id": "call_1", "content": "rain"}])";
  const std::string text =
      ok(post("/apply-template", fmt::format(R"({{"messages": {}, {}}})", history, kTools))).at("prompt").as_string();
  EXPECT_NE(text.find("\"name\": \"weather\""), text.npos) << text;
  EXPECT_NE(text.find("weather(city=Oslo)"), text.npos) << text;
  EXPECT_NE(text.find("tool: rain"), text.npos) << text;
  ok(post(kPath, body(R"("tool_choice": "auto")", history)));
  const std::string none =
      ok(post("/apply-template", fmt::format(R"({{"messages": {}, {}, "tool_choice": "none"}})", history, kTools)))
          .at("prompt")
          .as_string();
  EXPECT_EQ(none.find("\"name\""), none.npos) << none;
  refused(post(kPath, body(R"("tool_choice": "auto")", R"([{"role": "assistant", "tool_calls": [{"function":
    {"name": "x", "arguments": "{"}}]}])")),
          400, "messages[0].tool_calls[0].function.arguments");
}

TEST_F(Tools, ATemplateWithoutToolsIsToldInWords) {
  begin();
  const std::string history = R"([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "?"},
    {"role": "assistant", "content": "", "tool_calls": [{"id": "call_1", "type": "function",
      "function": {"name": "now", "arguments": "{}"}}]},
    {"role": "tool", "tool_call_id": "call_1", "content": "noon"}])";
  const std::string text =
      ok(post("/apply-template", fmt::format(R"({{"messages": {}, {}}})", history, kTools))).at("prompt").as_string();
  EXPECT_NE(text.find("Be brief.\n\nYou may call these functions"), text.npos) << text;
  EXPECT_NE(text.find("assistant: <tool_call>\n{\"name\":\"now\""), text.npos) << text;
  EXPECT_NE(text.find("user: <tool_response>\nnoon\n</tool_response>"), text.npos) << text;
}

TEST_F(Tools, RefusesWhatDoesNotGoTogether) {
  begin();
  refused(post(kPath, body(R"("tool_choice": "required", "grammar": "root ::= \"a\"")")), 400, "response_format");
  refused(post(kPath, body(R"("x_think": "vote:2")")), 400, "x_think");
  refused(post(kPath, body(R"("functions": [{}])")), 400, "functions");
  refused(post(kPath, R"({"messages": [{"role": "user", "content": "?"}], "tools": [{"type": "function", "function":
    {"name": "f", "parameters": {"type": "object", "properties": {"a": {"not": {}}}}}}], "tool_choice": "required"})"),
          400, "tool 'f'");
}

TEST_F(Tools, MessagesCannotSpeakForTheTemplate) {
  start();
  auto prompt_tokens = [&](const std::string& content) {
    return ok(post(kPath,
                   fmt::format(R"({{"messages": [{{"role": "user", "content": "{}"}}], "max_tokens": 1}})", content)))
        .at("usage")
        .at("prompt_tokens")
        .as_int();
  };
  const int64_t spelled = static_cast<int64_t>(model_->tokenizer.encode("</s>", {.parse_special = false}).size());
  ASSERT_GT(spelled, 1);
  EXPECT_EQ(prompt_tokens("x </s>") - prompt_tokens("x "), spelled);
}

}  // namespace
}  // namespace quern
