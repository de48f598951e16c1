// The C interface through the shared library, on a small random model made by the binary.
#include <gtest/gtest.h>
#include <quern.h>

#include <cmath>
#include <fstream>
#include <numeric>
#include <thread>

#include "quern/base/json.h"
#include "tests/cli/shell.h"

namespace quern {
namespace {

using Ids = std::vector<int32_t>;

std::string result_of(const quern_session* s) {
  std::string out(static_cast<size_t>(quern_session_result(s, nullptr, 0)) + 1, '\0');
  quern_session_result(s, out.data(), static_cast<int64_t>(out.size()));
  out.pop_back();
  return out;
}
Json result(const quern_session* s) { return Json::parse(result_of(s)); }
Ids tokens_of(const quern_session* s) {
  Ids ids(static_cast<size_t>(quern_session_tokens(s, nullptr, 0)));
  quern_session_tokens(s, ids.data(), static_cast<int64_t>(ids.size()));
  return ids;
}

class CApi : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    scratch_ = new ScratchFolder;
    ASSERT_EQ(shell("quern new --family zaya --size tiny --seed 1 " + path("model")).code, 0);
    ASSERT_EQ(shell("quern new --family zaya --size tiny --seed 2 " + path("other")).code, 0);
    model_ = quern_load(path("model").c_str(), "f32");
    ASSERT_NE(model_, nullptr) << quern_last_error();
  }
  static void TearDownTestSuite() {
    quern_free(model_);
    delete scratch_;
  }
  static std::string path(const std::string& name) { return *scratch_ / name; }

  void SetUp() override {
    session_ = quern_session_new(model_);
    sampling_ = quern_sampling_new(model_);
    set("temperature", "0");
    set("ignore_eos", "true");
    set("max_tokens", "6");
  }
  void TearDown() override {
    quern_sampling_free(sampling_);
    quern_session_free(session_);
  }
  void set(const char* name, const char* value) {
    ASSERT_EQ(quern_sampling_set(sampling_, name, value), 0) << quern_last_error();
  }
  int64_t generate(quern_session* s) {
    const int64_t n = quern_session_generate(s, sampling_, nullptr, nullptr);
    EXPECT_GE(n, 0) << quern_last_error();
    return n;
  }
  Ids tokenized(const char* text) {
    Ids ids(static_cast<size_t>(quern_tokenize(model_, text, 1, nullptr, 0)));
    quern_tokenize(model_, text, 1, ids.data(), static_cast<int64_t>(ids.size()));
    return ids;
  }

  static ScratchFolder* scratch_;
  static quern_model* model_;
  quern_session* session_ = nullptr;
  quern_sampling* sampling_ = nullptr;
};
ScratchFolder* CApi::scratch_ = nullptr;
quern_model* CApi::model_ = nullptr;

TEST_F(CApi, LoadSaysWhatIsWrong) {
  EXPECT_EQ(quern_load(path("model").c_str(), "q5"), nullptr);
  EXPECT_NE(std::string(quern_last_error()).find("q8a8"), std::string::npos) << quern_last_error();
  EXPECT_EQ(quern_load_with(path("model").c_str(), R"({"cache_mb": 1})"), nullptr);
  EXPECT_NE(std::string(quern_last_error()).find("did you mean 'cache_mib'"), std::string::npos)
      << quern_last_error();
  EXPECT_EQ(quern_load_with(path("model").c_str(), R"({"cache_mib": -1})"), nullptr);
  EXPECT_STREQ(quern_last_error(), "options, cache_mib: -1 is below 0");
  EXPECT_EQ(quern_load_with(path("model").c_str(), R"({"head": "q8"})"), nullptr);
  EXPECT_EQ(quern_load(nullptr, "f32"), nullptr);
  EXPECT_STREQ(quern_last_error(), "folder is NULL");
  EXPECT_EQ(std::string(quern_version())
                .rfind(std::to_string(QUERN_VERSION_MAJOR) + "." + std::to_string(QUERN_VERSION_MINOR) + ".", 0),
            0u);
}

TEST_F(CApi, GeneratesWhatTheBinaryDoes) {
  const Ran r = shell("quern run " + path("model") + " --plain -p Once -n 6 --temp 0 --dtype f32 --json");
  ASSERT_EQ(r.code, 0) << r.err;
  set("ignore_eos", "false");
  quern_session_append(session_, "Once");
  const Ids prompt = tokens_of(session_);
  EXPECT_EQ(prompt, tokenized("Once"));
  const int64_t n = generate(session_);
  const Json expected = Json::parse(r.out);
  EXPECT_EQ(result(session_).at("tokens"), expected.at("tokens"));
  EXPECT_EQ(result(session_).at("text"), expected.at("text"));
  EXPECT_EQ(result(session_).at("finish"), expected.at("finish"));
  EXPECT_EQ(quern_session_length(session_), static_cast<int64_t>(prompt.size()) + n);
}

TEST_F(CApi, ASessionContinuesFromItsState) {
  quern_session_append(session_, "A long prompt to begin with, of more than a few tokens");
  quern_session* whole = quern_session_fork(session_);
  EXPECT_EQ(generate(session_), 6);
  EXPECT_EQ(generate(session_), 6);
  // All but the newest token came from the cache.
  EXPECT_GE(result(session_).at("cached_tokens").as_int(), result(session_).at("prompt_tokens").as_int() - 1);
  set("max_tokens", "12");
  EXPECT_EQ(generate(whole), 12);
  EXPECT_EQ(tokens_of(session_), tokens_of(whole));
  quern_session_reset(whole);
  EXPECT_EQ(quern_session_length(whole), 0);
  EXPECT_EQ(quern_session_generate(whole, nullptr, nullptr, nullptr), -1);
  quern_session_free(whole);
}

TEST_F(CApi, RecurrentStateContinuesToo) {
  ASSERT_EQ(shell("quern new --family zamba2 --size tiny --seed 3 " + path("hybrid")).code, 0);
  quern_model* hybrid = quern_load(path("hybrid").c_str(), "f32");
  ASSERT_NE(hybrid, nullptr) << quern_last_error();
  quern_sampling* greedy = quern_sampling_new(hybrid);
  quern_sampling_set(greedy, "ignore_eos", "true");
  quern_session *parts = quern_session_new(hybrid), *whole = quern_session_new(hybrid);
  for (quern_session* s : {parts, whole}) quern_session_append(s, "A prompt of a few tokens");
  quern_sampling_set(greedy, "max_tokens", "5");
  EXPECT_EQ(quern_session_generate(parts, greedy, nullptr, nullptr), 5) << quern_last_error();
  EXPECT_EQ(quern_session_generate(parts, greedy, nullptr, nullptr), 5) << quern_last_error();
  EXPECT_GE(result(parts).at("cached_tokens").as_int(), result(parts).at("prompt_tokens").as_int() - 1);
  quern_sampling_set(greedy, "max_tokens", "10");
  EXPECT_EQ(quern_session_generate(whole, greedy, nullptr, nullptr), 10) << quern_last_error();
  EXPECT_EQ(tokens_of(parts), tokens_of(whole));
  quern_session_free(parts);
  quern_session_free(whole);
  quern_sampling_free(greedy);
  quern_free(hybrid);
}

TEST_F(CApi, ForksGoTheirOwnWays) {
  quern_session_append(session_, "One");
  quern_session* other = quern_session_fork(session_);
  EXPECT_GT(quern_session_append(other, " two"), quern_session_length(session_));
  EXPECT_EQ(generate(session_), 6);
  EXPECT_EQ(generate(other), 6);
  EXPECT_NE(tokens_of(session_), tokens_of(other));
  quern_session_free(other);
}

TEST_F(CApi, LogitsScoresAndTokensAgree) {
  const Ids ids = tokenized("Some text to look at, twice over");
  const auto n = static_cast<int64_t>(ids.size());
  const auto vocab = static_cast<size_t>(quern_vocab_size(model_));
  std::vector<float> all(ids.size() * vocab), last(vocab);
  ASSERT_EQ(quern_logits(model_, ids.data(), n, nullptr, 0), static_cast<int64_t>(all.size()));
  ASSERT_EQ(quern_logits(model_, ids.data(), n, all.data(), static_cast<int64_t>(all.size())),
            static_cast<int64_t>(all.size()))
      << quern_last_error();
  std::vector<double> scores(ids.size() - 1);
  ASSERT_EQ(quern_score(model_, ids.data(), n, scores.data(), n - 1), n - 1) << quern_last_error();
  for (size_t t = 0; t + 1 < ids.size(); ++t) {  // log softmax, by hand
    const float* row = &all[t * vocab];
    double sum = 0;
    for (size_t v = 0; v < vocab; ++v) sum += std::exp(static_cast<double>(row[v]));
    EXPECT_NEAR(scores[t], static_cast<double>(row[ids[t + 1]]) - std::log(sum), 1e-4) << t;
  }
  quern_session_append_tokens(session_, ids.data(), n - 2);
  EXPECT_EQ(quern_session_prefill(session_), n - 2);
  EXPECT_EQ(quern_session_prefill(session_), 0);
  quern_session_append_tokens(session_, &ids[ids.size() - 2], 2);
  ASSERT_EQ(quern_session_logits(session_, last.data(), static_cast<int64_t>(vocab)), static_cast<int64_t>(vocab))
      << quern_last_error();
  for (size_t v = 0; v < vocab; ++v) EXPECT_NEAR(last[v], all[all.size() - vocab + v], 1e-4F) << v;
  const int32_t beyond = static_cast<int32_t>(vocab);
  EXPECT_EQ(quern_session_append_tokens(session_, &beyond, 1), -1);
  EXPECT_EQ(quern_session_length(session_), n);
}

TEST_F(CApi, EmbeddingsHaveLengthOne) {
  const int64_t d = quern_embed(model_, "one", nullptr, 0);
  ASSERT_GT(d, 1) << quern_last_error();
  std::vector<float> a(static_cast<size_t>(d)), b = a;
  ASSERT_EQ(quern_embed(model_, "one text", a.data(), d), d);
  ASSERT_EQ(quern_embed(model_, "another, longer", b.data(), d), d);
  EXPECT_NEAR(std::inner_product(a.begin(), a.end(), a.begin(), 0.0), 1, 1e-5);
  EXPECT_LT(std::inner_product(a.begin(), a.end(), b.begin(), 0.0), 0.9999);
  EXPECT_EQ(quern_embed(model_, nullptr, a.data(), d), -1);
}

TEST_F(CApi, QuantizesAtLoad) {
  const Ids ids = tokenized("Some text");
  const auto size =
      static_cast<size_t>(quern_logits(model_, ids.data(), static_cast<int64_t>(ids.size()), nullptr, 0));
  std::vector<float> exact(size), rounded(size);
  auto fill = [&](quern_model* m, std::vector<float>& out) {
    return quern_logits(m, ids.data(), static_cast<int64_t>(ids.size()), out.data(), static_cast<int64_t>(size));
  };
  fill(model_, exact);
  quern_model* q8 = quern_load_with(path("model").c_str(), R"({"format": "q8", "kv": "q8", "cache_mib": 16})");
  ASSERT_NE(q8, nullptr) << quern_last_error();
  fill(q8, rounded);
  quern_free(q8);
  double difference = 0, square = 0;
  for (size_t i = 0; i < size; ++i) difference += std::pow(exact[i] - rounded[i], 2), square += std::pow(exact[i], 2);
  EXPECT_GT(difference, 0);
  EXPECT_LT(difference, 0.01 * square);
}

TEST_F(CApi, OptionsHaveNames) {
  EXPECT_EQ(quern_sampling_set(sampling_, "topp", "0.9"), -1);
  EXPECT_NE(std::string(quern_last_error()).find("did you mean 'top_p'"), std::string::npos) << quern_last_error();
  for (const auto& [name, value] :
       std::initializer_list<std::pair<const char*, const char*>>{{"top_p", "1.5"},
                                                                  {"top_k", "many"},
                                                                  {"max_tokens", "0"},
                                                                  {"temperature", ""},
                                                                  {"samplers", "luck"},
                                                                  {"logit_bias", "x=1"},
                                                                  {"ignore_eos", "perhaps"},
                                                                  {"regex", "("},
                                                                  {"speculative", "draft"},
                                                                  {"stop", ""}}) {
    EXPECT_EQ(quern_sampling_set(sampling_, name, value), -1) << name;
    EXPECT_STRNE(quern_last_error(), "") << name;
  }
  quern_session_append(session_, "Once");
  quern_session* again = quern_session_fork(session_);
  EXPECT_EQ(generate(session_), 6);  // none of them changed anything
  const Json free = result(session_);
  const int64_t first = free.at("tokens").as_array()[0].as_int();
  set("logit_bias", (std::to_string(first) + "=-100").c_str());
  set("top_logprobs", "3");
  EXPECT_EQ(generate(again), 6);
  EXPECT_NE(result(again).at("tokens").as_array()[0].as_int(), first);
  EXPECT_EQ(result(again).at("top_logprobs").as_array()[0].as_array().size(), 3u);
  quern_session_free(again);
}

TEST_F(CApi, ConstrainsAndStops) {
  quern_session_append(session_, "Count");
  set("max_tokens", "40");
  set("regex", "[a-c]{9}!");
  quern_session* stopped = quern_session_fork(session_);
  generate(session_);
  const std::string text = result(session_).at("text").as_string();
  ASSERT_EQ(text.size(), 10u) << text;
  EXPECT_EQ(text.find_first_not_of("abc"), 9u) << text;
  EXPECT_EQ(text.back(), '!');
  set("stop", "!");
  set("stop", text.substr(3, 1).c_str());
  generate(stopped);
  EXPECT_EQ(result(stopped).at("text").as_string(), text.substr(0, text.find(text[3])));
  EXPECT_EQ(result(stopped).at("finish").as_string(), "stop");
  quern_session_free(stopped);
}

TEST_F(CApi, CancelFromAnotherThread) {
  set("max_tokens", "200");
  quern_session_append(session_, "Once");
  struct Seen {
    quern_session* session;
    int pieces = 0;
  } seen{session_};
  auto on_text = [](const char*, size_t, void* user) {
    auto& s = *static_cast<Seen*>(user);
    if (++s.pieces == 2) std::thread(quern_session_cancel, s.session).join();
    return 0;
  };
  const int64_t n = quern_session_generate(session_, sampling_, on_text, &seen);
  EXPECT_GT(n, 0) << quern_last_error();
  EXPECT_LT(n, 200);
  EXPECT_EQ(result(session_).at("finish").as_string(), "cancelled");
  set("max_tokens", "3");
  EXPECT_EQ(generate(session_), 3);  // a cancellation is over with its call
  EXPECT_EQ(quern_session_generate(
                session_, sampling_, [](const char*, size_t, void*) { return 1; }, nullptr),
            1);
}

TEST_F(CApi, ChatsAreSavedAndResumed) {
  EXPECT_EQ(quern_chat_reply(session_, sampling_, nullptr, nullptr), -1);
  EXPECT_EQ(quern_chat_add(session_, "system", "Be short."), 1);
  EXPECT_EQ(quern_chat_add(session_, "user", "Hello \"you\""), 2);
  ASSERT_EQ(quern_chat_reply(session_, sampling_, nullptr, nullptr), 6) << quern_last_error();
  char messages[1024], prompt[1024];
  ASSERT_LT(quern_chat_messages(session_, messages, sizeof messages), 1024);
  const Json all = Json::parse(messages);
  ASSERT_EQ(all.as_array().size(), 3u);
  EXPECT_EQ(all.as_array()[2].at("role").as_string(), "assistant");
  EXPECT_EQ(all.as_array()[2].at("content"), result(session_).at("text"));
  // The prompt as the template renders it is what the session was given.
  ASSERT_GT(quern_chat_prompt(
                model_, R"([{"role":"system","content":"Be short."},{"role":"user","content":"Hello \"you\""}])",
                nullptr, prompt, sizeof prompt),
            0);
  Ids expected(256);
  expected.resize(static_cast<size_t>(quern_tokenize(model_, prompt, 0, expected.data(), 256)));
  Ids given = tokens_of(session_);
  given.resize(given.size() - 6);
  EXPECT_EQ(given, expected);

  const std::string file = path("saved");
  ASSERT_EQ(quern_session_save(session_, file.c_str()), 0) << quern_last_error();
  quern_model* fresh = quern_load(path("model").c_str(), "f32");  // whose cache is empty
  quern_session* resumed = quern_session_new(fresh);
  ASSERT_EQ(quern_session_load(resumed, file.c_str()), 0) << quern_last_error();
  EXPECT_EQ(tokens_of(resumed), tokens_of(session_));
  EXPECT_EQ(quern_session_prefill(resumed), 0);
  std::vector<float> a(static_cast<size_t>(quern_vocab_size(model_))), b = a;
  quern_session_logits(session_, a.data(), static_cast<int64_t>(a.size()));
  quern_session_logits(resumed, b.data(), static_cast<int64_t>(b.size()));
  for (size_t v = 0; v < a.size(); ++v) EXPECT_NEAR(a[v], b[v], 1e-4F);
  EXPECT_EQ(quern_chat_add(resumed, "user", "And now?"), 4);
  quern_session_free(resumed);
  quern_free(fresh);

  quern_model* other = quern_load(path("other").c_str(), "f32");
  quern_session* refused = quern_session_new(other);
  EXPECT_EQ(quern_session_load(refused, file.c_str()), -1);
  EXPECT_EQ(quern_session_length(refused), 0);
  EXPECT_EQ(quern_session_generate(refused, sampling_, nullptr, nullptr), -1);
  EXPECT_NE(std::string(quern_last_error()).find("another model"), std::string::npos) << quern_last_error();
  quern_session_free(refused);
  quern_free(other);
}

TEST(CApiSearch, FindsTextsAndTurns) {
  const ScratchFolder scratch;
  quern_index* index = quern_index_open((scratch / "index").c_str());
  ASSERT_NE(index, nullptr) << quern_last_error();
  EXPECT_EQ(quern_index_put(index, "mill", "The mill stands still on Sundays."), 0);
  EXPECT_EQ(quern_index_put(index, "sea", "Waves break on the long beach."), 0);
  std::string buffer(1 << 16, '\0');
  const auto room = static_cast<int64_t>(buffer.size());
  ASSERT_GT(quern_index_search(index, "When does the mill stand still?", 1, buffer.data(), room), 0);
  const Json chunks = Json::parse(buffer.c_str()).at("chunks");
  ASSERT_EQ(chunks.as_array().size(), 1u);
  EXPECT_EQ(chunks.as_array()[0].at("path").as_string(), "mill");
  EXPECT_EQ(chunks.as_array()[0].at("text").as_string(), "The mill stands still on Sundays.");
  EXPECT_EQ(quern_index_search(index, "mill", 0, buffer.data(), room), -1);
  quern_index_free(index);

  quern_memory* memory = quern_memory_open((scratch / "talks.db").c_str(), "kitchen", "Europe/Berlin");
  ASSERT_NE(memory, nullptr) << quern_last_error();
  const int64_t monday = 1683547200;  // 2023-05-08 12:00 UTC
  const int64_t ada = quern_memory_add(memory, "Ada", "The mill is broken.", monday);
  EXPECT_GT(quern_memory_add(memory, "Ben", "The mill runs again.", monday + 86400), ada);
  ASSERT_GT(quern_memory_ask(memory, "What was said on May 8?", nullptr, monday + 3 * 86400, buffer.data(), room), 0)
      << quern_last_error();
  const Json turns = Json::parse(buffer.c_str()).at("turns");
  ASSERT_EQ(turns.as_array().size(), 1u);
  EXPECT_EQ(turns.as_array()[0].at("response").as_int(), ada);
  EXPECT_EQ(turns.as_array()[0].at("speaker").as_string(), "Ada");
  EXPECT_EQ(turns.as_array()[0].at("time").as_string(), "2023-05-08 14:00:00");

  EXPECT_EQ(quern_memory_time(memory, "2023-05-08 14:00"), monday);  // on Berlin's wall
  EXPECT_EQ(quern_memory_time(memory, "2023-05-08T12:00:00Z"), monday);
  EXPECT_EQ(quern_memory_time(memory, "some day"), INT64_MIN);
  for (const int64_t far : {monday * 1000, -monday * 1000, int64_t{253'402'300'800}, INT64_MIN, INT64_MAX}) {
    EXPECT_EQ(quern_memory_add(memory, "Ada", "In milliseconds.", far), -1) << far;
    EXPECT_EQ(quern_memory_ask(memory, "What was said?", nullptr, far, buffer.data(), room), -1) << far;
  }
  ASSERT_GT(quern_memory_add(memory, "Ben", "I live in Ghent now.", monday + 2 * 86400), 0);
  ASSERT_GT(quern_memory_ask(memory, "Where do I live now?", "Ben", monday + 3 * 86400, buffer.data(), room), 0);
  EXPECT_EQ(Json::parse(buffer.c_str()).at("turns").as_array().at(0).at("text").as_string(), "I live in Ghent now.");
  ASSERT_GT(quern_memory_ask(memory, "Where do I live now?", nullptr, monday + 3 * 86400, buffer.data(), room), 0);
  EXPECT_NE(Json::parse(buffer.c_str()).at("notes").dump().find("who asks was not said"), std::string::npos);
  quern_memory_free(memory);
}

}  // namespace
}  // namespace quern
