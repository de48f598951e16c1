// The C interface in steps: streams without a callback, several sessions at once, tool calls, and rows of a corpus.
#include <gtest/gtest.h>
#include <quern.h>

#include <fstream>

#include "quern/base/json.h"
#include "tests/cli/shell.h"

namespace quern {
namespace {

template <class F, class... A>
std::string text_of(F function, A... arguments) {
  std::string out(1 << 14, '\0');
  const int64_t n = function(arguments..., out.data(), static_cast<int64_t>(out.size()));
  EXPECT_GE(n, 0) << quern_last_error();
  out.resize(static_cast<size_t>(std::max<int64_t>(n, 0)));
  return out;
}
Json result(const quern_session* s) { return Json::parse(text_of(quern_session_result, s)); }

class CApiSteps : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    scratch_ = new ScratchFolder;
    ASSERT_EQ(shell("quern new --family zaya --size tiny --seed 1 " + path("model")).code, 0);
    model_ = quern_load(path("model").c_str(), "f32");
    ASSERT_NE(model_, nullptr) << quern_last_error();
  }
  static void TearDownTestSuite() {
    quern_free(model_);
    delete scratch_;
  }
  static std::string path(const std::string& name) { return *scratch_ / name; }
  void SetUp() override {
    sampling_ = quern_sampling_new(model_);
    set("temperature", "0"), set("ignore_eos", "true"), set("max_tokens", "12");
  }
  void TearDown() override { quern_sampling_free(sampling_); }
  void set(const char* name, const char* value) {
    ASSERT_EQ(quern_sampling_set(sampling_, name, value), 0) << quern_last_error();
  }
  static quern_session* session(const char* text) {
    quern_session* s = quern_session_new(model_);
    EXPECT_GT(quern_session_append(s, text), 0) << quern_last_error();
    return s;
  }
  static std::string stepped(quern_session* s) {
    std::string text;
    int going = 1;
    while (going == 1) {
      going = quern_session_step(s);
      text += text_of(quern_session_text, s);
    }
    EXPECT_EQ(going, 0) << quern_last_error();
    return text;
  }

  static ScratchFolder* scratch_;
  static quern_model* model_;
  quern_sampling* sampling_ = nullptr;
};
ScratchFolder* CApiSteps::scratch_ = nullptr;
quern_model* CApiSteps::model_ = nullptr;

TEST_F(CApiSteps, StepsComeToTheSameText) {
  quern_session *whole = session("Once"), *steps = session("Once");
  ASSERT_EQ(quern_session_generate(whole, sampling_, nullptr, nullptr), 12) << quern_last_error();
  EXPECT_EQ(quern_session_step(steps), 0);  // nothing was started
  ASSERT_EQ(quern_session_start(steps, sampling_), 0) << quern_last_error();
  EXPECT_EQ(stepped(steps), result(whole).at("text").as_string());
  EXPECT_EQ(result(steps).at("tokens"), result(whole).at("tokens"));
  EXPECT_EQ(quern_session_length(steps), quern_session_length(whole));
  EXPECT_EQ(quern_session_step(steps), 0);
  quern_session_free(whole), quern_session_free(steps);
}

TEST_F(CApiSteps, SessionsRunTogether) {
  quern_session *a = session("Once"), *b = session("There was a mill");
  quern_session *a_alone = quern_session_fork(a), *b_alone = quern_session_fork(b);
  ASSERT_EQ(quern_session_start(a, sampling_), 0);
  ASSERT_EQ(quern_session_start(b, sampling_), 0);
  const std::string first = stepped(a);  // and b with it
  EXPECT_GT(text_of(quern_session_text, b).size(), first.size() / 2);
  stepped(b);
  quern_session_generate(a_alone, sampling_, nullptr, nullptr);
  quern_session_generate(b_alone, sampling_, nullptr, nullptr);
  EXPECT_EQ(result(a).at("tokens"), result(a_alone).at("tokens"));
  EXPECT_EQ(result(b).at("tokens"), result(b_alone).at("tokens"));
  for (quern_session* s : {a, b, a_alone, b_alone}) quern_session_free(s);
}

TEST_F(CApiSteps, ASessionThatGeneratesTakesNothingElse) {
  set("max_tokens", "500");
  quern_session* s = session("Once");
  ASSERT_EQ(quern_session_start(s, sampling_), 0);
  EXPECT_EQ(quern_session_step(s), 1);
  EXPECT_EQ(quern_session_append(s, "x"), -1);
  EXPECT_NE(std::string(quern_last_error()).find("is generating"), std::string::npos) << quern_last_error();
  EXPECT_EQ(quern_session_start(s, sampling_), -1);
  EXPECT_EQ(quern_session_generate(s, sampling_, nullptr, nullptr), -1);
  EXPECT_EQ(quern_chat_set(s, "[]"), -1);
  quern_session_cancel(s);
  stepped(s);
  EXPECT_EQ(result(s).at("finish").as_string(), "cancelled");
  EXPECT_GT(quern_session_append(s, "x"), 0) << quern_last_error();
  ASSERT_EQ(quern_session_start(s, sampling_), 0);
  quern_session_step(s);
  quern_session_reset(s);
  EXPECT_EQ(quern_session_length(s), 0);
  EXPECT_EQ(quern_session_step(s), 0);
  quern_session_append(s, "Once");
  ASSERT_EQ(quern_session_start(s, sampling_), 0);
  quern_session_step(s);
  quern_session_free(s);  // in the middle
  quern_session* after = session("Once");
  set("max_tokens", "3");
  EXPECT_EQ(quern_session_generate(after, sampling_, nullptr, nullptr), 3) << quern_last_error();
  quern_session_free(after);
}

TEST_F(CApiSteps, TextWaitsForRoom) {
  quern_session* s = session("Once");
  ASSERT_EQ(quern_session_start(s, sampling_), 0);
  while (quern_session_step(s) == 1) {
  }
  const std::string all = result(s).at("text").as_string();
  ASSERT_GT(all.size(), 4u);
  char small[4];
  EXPECT_EQ(quern_session_text(s, small, sizeof small), static_cast<int64_t>(all.size()));
  EXPECT_EQ(text_of(quern_session_text, s), all);
  EXPECT_EQ(text_of(quern_session_text, s), "");
  quern_session_free(s);
}

constexpr const char* kTools = R"({"tools": [{"type": "function", "function": {"name": "weather", "parameters":
  {"type": "object", "properties": {"city": {"enum": ["Rome", "Oslo"]}}, "required": ["city"],
  "additionalProperties": false}}}], "tool_choice": "required", "parallel_tool_calls": false})";

TEST_F(CApiSteps, ARequiredToolIsCalled) {
  set("ignore_eos", "false"), set("max_tokens", "300");
  quern_session* s = quern_session_new(model_);
  EXPECT_EQ(quern_chat_message(s, nullptr, 0), -1);
  EXPECT_EQ(quern_chat_setup(s, R"({"tool": []})"), -1);
  EXPECT_NE(std::string(quern_last_error()).find("did you mean 'tools'"), std::string::npos) << quern_last_error();
  EXPECT_EQ(quern_chat_setup(s, R"({"tools": [{"name": "weather"}]})"), -1);
  ASSERT_EQ(quern_chat_setup(s, kTools), 0) << quern_last_error();
  EXPECT_EQ(quern_chat_set(s, R"([{"role": "wizard", "content": "Hi"}])"), -1);
  EXPECT_EQ(quern_chat_add(s, "user", "How is it in Rome?"), 1);
  set("regex", "a+");
  EXPECT_EQ(quern_chat_start(s, sampling_), -1) << "two constraints";
  set("regex", "");
  ASSERT_EQ(quern_chat_start(s, sampling_), 0) << quern_last_error();
  EXPECT_EQ(stepped(s), "");
  const Json message = Json::parse(text_of(quern_chat_message, s));
  const Json& call = message.at("tool_calls").as_array().at(0).at("function");
  EXPECT_EQ(call.at("name").as_string(), "weather");
  const std::string city = Json::parse(call.at("arguments").as_string()).at("city").as_string();
  EXPECT_TRUE(city == "Rome" || city == "Oslo") << city;
  // Kept with its call, which the next turn's prompt shows.
  const Json messages = Json::parse(text_of(quern_chat_messages, s));
  EXPECT_EQ(messages.as_array().at(1).at("tool_calls"), message.at("tool_calls"));
  EXPECT_EQ(quern_chat_add(s, "tool", "Sunny"), 3);
  ASSERT_EQ(quern_chat_setup(s, nullptr), 0);
  set("max_tokens", "4");
  EXPECT_GT(quern_chat_reply(s, sampling_, nullptr, nullptr), 0) << quern_last_error();
  quern_session_free(s);
}

TEST(CApiRows, ReadsDocuments) {
  const ScratchFolder scratch;
  std::ofstream(scratch / "a.jsonl") << "{\"text\": \"one\", \"url\": \"http://a\"}\nnothing\n{\"text\": \"two\"}\n";
  const auto open = [&](const std::string& more) {
    return quern_rows_open((R"({"paths": ["notes=)" + (scratch / "a.jsonl") + "\"]" + more + "}").c_str());
  };
  const auto field = [](quern_rows* rows, const char* name) {
    int64_t n = 0;
    const char* text = quern_rows_field(rows, name, &n);
    return text ? std::string(text, static_cast<size_t>(n)) : "no " + std::string(quern_last_error());
  };
  quern_rows* rows = open(R"(, "url_field": "url")");
  ASSERT_NE(rows, nullptr) << quern_last_error();
  EXPECT_EQ(field(rows, "text").substr(0, 3), "no ");
  ASSERT_EQ(quern_rows_next(rows), 1) << quern_last_error();
  EXPECT_EQ(field(rows, "text") + field(rows, "url") + field(rows, "source"), "onehttp://anotes");
  EXPECT_EQ(field(rows, "line"), "{\"text\": \"one\", \"url\": \"http://a\"}");
  EXPECT_EQ(field(rows, "txet").substr(0, 3), "no ");
  ASSERT_EQ(quern_rows_next(rows), 1);
  EXPECT_EQ(field(rows, "text") + field(rows, "url"), "two");
  EXPECT_EQ(quern_rows_next(rows), 0);
  EXPECT_EQ(quern_rows_next(rows), 0);
  EXPECT_EQ(quern_rows_skipped(rows), 1);
  quern_rows_free(rows);

  rows = open("");
  const int64_t* ends = nullptr;
  ASSERT_EQ(quern_rows_next_block(rows), 2) << quern_last_error();
  EXPECT_EQ(quern_rows_block_field(rows, "text", &ends), std::string("onetwo"));
  EXPECT_EQ((std::vector<int64_t>{ends[0], ends[1]}), (std::vector<int64_t>{3, 6}));
  EXPECT_EQ(quern_rows_block_field(rows, "txet", &ends), nullptr);
  EXPECT_EQ(quern_rows_next_block(rows), 0);
  quern_rows_free(rows);

  rows = open(R"(, "on_bad": "stop")");
  ASSERT_NE(rows, nullptr) << quern_last_error();
  EXPECT_EQ(quern_rows_next(rows), -1);
  quern_rows_free(rows);
  EXPECT_EQ(open(R"(, "from": "jsonl")"), nullptr);
  EXPECT_EQ(open(R"(, "filter": "c4")"), nullptr);
  EXPECT_EQ(quern_rows_open(nullptr), nullptr);
}

}  // namespace
}  // namespace quern
