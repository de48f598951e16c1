// What requests are doing, seen from beside, and how far a prompt is, told in its stream.
#include <gtest/gtest.h>

#include "tests/serve/serving.h"

namespace quern {
namespace {

class Slots : public Serving {
 protected:
  Json slots(const char* path = "/slots") { return ok(http(port(), "GET", path)); }
  void open_chat(RawClient& c, const std::string& text, int64_t max_tokens) {
    const std::string body = fmt::format(
        R"({{"messages": [{{"role": "user", "content": "{}"}}], "max_tokens": {}, "seed": 1}})", text, max_tokens);
    c.send(fmt::format("POST /v1/chat/completions HTTP/1.1\r\nContent-Length: {}\r\n\r\n{}", body.size(), body));
  }
};

TEST(InFlightRequest, KnowsItsStretchesOfTokens) {
  using Match = serve::InFlightRequest::Match;
  serve::InFlightRequest r("id", {1, 2, 3, 4, 5}, 9);
  auto match = [&](std::vector<int32_t> ids, int64_t at) { return r.match(ids, at); };
  EXPECT_EQ(match({1, 2}, 0), Match::begins);
  EXPECT_EQ(match({3, 4}, 2), Match::begins) << "the cache knew two";
  EXPECT_EQ(match({3}, 2), Match::none) << "another's answer that happens to have the same token there";
  EXPECT_EQ(match({5}, 4), Match::begins);
  EXPECT_EQ(match({5, 6}, 4), Match::none) << "beyond its prompt";
  EXPECT_EQ(match({9}, 7), Match::none);
  EXPECT_STREQ(r.progress().state(), "waiting");
  r.begins(1);
  EXPECT_STREQ(r.progress().state(), "reading");
  r.on_forward(1, 2);
  EXPECT_EQ(r.progress().cached, 1);
  EXPECT_EQ(r.progress().read, 3);
  EXPECT_EQ(match({4, 5}, 3), Match::goes_on);
  EXPECT_EQ(match({2, 3}, 1), Match::elsewhere);
  r.on_forward(3, 2);
  EXPECT_STREQ(r.progress().state(), "answering");
}

TEST_F(Slots, TellWhatRequestsDoButNotWhatTheySay) {
  start();
  EXPECT_EQ(slots().dump(), "[]");
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 5; ++i) {  // four run, one waits
    clients.push_back(std::make_unique<RawClient>(port()));
    open_chat(*clients.back(), fmt::format("secret {}", i), 150'000);
    eventually("it is there", [&] { return slots().as_array().size() == static_cast<size_t>(i) + 1; });
    if (i < 4)
      eventually("it answers", [&] { return slots().as_array().back().at("generated_tokens").as_int() > 0; });
  }
  const Json all = slots("/v1/slots");
  ASSERT_EQ(all.as_array().size(), 5u);
  for (size_t i = 0; i < 5; ++i) {
    const Json& s = all.as_array()[i];
    EXPECT_TRUE(s.at("id").as_string().starts_with("req-"));
    EXPECT_EQ(s.at("model").as_string(), "tiny");
    EXPECT_EQ(s.at("state").as_string(), i < 4 ? "answering" : "waiting") << s.dump();
    EXPECT_EQ(s.at("is_processing").as_bool(), i < 4);
    EXPECT_GT(s.at("prompt_tokens").as_int(), 4);
    EXPECT_EQ(s.at("read_tokens").as_int(), i < 4 ? s.at("prompt_tokens").as_int() : 0);
    EXPECT_EQ(s.at("max_tokens").as_int(), 150'000);
    EXPECT_GT(s.at("age_seconds").as_double(), 0);
  }
  EXPECT_GE(all.as_array()[0].at("age_seconds").as_double(), all.as_array()[4].at("age_seconds").as_double());
  EXPECT_EQ(all.dump().find("secret"), std::string::npos);
  refused(http(port(), "GET", "/slots?text=true"), 403, "does not show the text");
  for (const auto& c : clients) c->hang_up();
  eventually("all are gone", [&] { return slots().as_array().empty(); });
}

TEST_F(Slots, ShowTextsWhereThatIsAllowed) {
  serve::AppOptions shows;
  shows.slots_text = true;
  start(shows);
  RawClient c(port());
  open_chat(c, "a secret", 150'000);
  eventually("it answers", [&] {
    const Json all = slots();
    return !all.as_array().empty() && all.as_array()[0].at("generated_tokens").as_int() > 3;
  });
  EXPECT_EQ(slots().dump().find("secret"), std::string::npos);  // not by itself
  const Json one = slots("/slots?text=true").as_array().at(0);
  EXPECT_NE(one.at("prompt").as_string().find("user: a secret"), std::string::npos);
  EXPECT_FALSE(one.at("generated").as_string().empty());
  refused(http(port(), "GET", "/slots?text=maybe"), 400, "maybe");
  c.hang_up();
}

TEST_F(Slots, AreForKeyHolders) {
  serve::AppOptions locked;
  locked.api_keys = {"k"};
  start(locked);
  EXPECT_EQ(http(port(), "GET", "/slots").status, 401);
  EXPECT_EQ(http(port(), "GET", "/slots", {}, "Authorization: Bearer k\r\n").status, 200);
}

struct Progress {
  int64_t total, cache, processed;
};
std::vector<Progress> progress_of(const std::string& body) {
  std::vector<Progress> out;
  bool words = false;
  for (size_t at = 0; (at = body.find("data: {", at)) != body.npos; at += 6) {
    const Json j = Json::parse(body.substr(at + 6, body.find("\n\n", at) - at - 6));
    if (const Json* p = j.find("prompt_progress")) {
      EXPECT_FALSE(words) << "progress of a prompt behind its answer's words";
      EXPECT_TRUE(j.at("choices").as_array().empty());
      EXPECT_GE(p->at("time_ms").as_double(), 0);
      out.push_back({p->at("total").as_int(), p->at("cache").as_int(), p->at("processed").as_int()});
      continue;
    }
    for (const Json& c : j.at("choices").as_array()) {
      const Json* d = c.find("delta");
      const Json* t = d ? d->find("content") : c.find("text");
      words = words || (t && t->is_string() && !t->as_string().empty());
    }
  }
  return out;
}

TEST_F(Slots, StreamsTellHowFarThePromptIs) {
  start();
  std::string text;
  for (int i = 0; i < 600; ++i) text += fmt::format("{} ", i);  // more than two chunks of 512 tokens
  const std::string chat = fmt::format(
      R"({{"messages": [{{"role": "user", "content": "{}"}}], "max_tokens": 6, "seed": 1, "stream": true)", text);
  const auto first = progress_of(post("/v1/chat/completions", chat + R"(, "return_progress": true})").body);
  ASSERT_FALSE(first.empty());
  for (size_t i = 0; i < first.size(); ++i) {
    EXPECT_EQ(first[i].total, first[0].total);
    EXPECT_EQ(first[i].cache, 0);
    EXPECT_GT(first[i].processed, i > 0 ? first[i - 1].processed : 0);
  }
  EXPECT_GT(first[0].total, 1024);
  EXPECT_EQ(first.back().processed, first.back().total);
  // Once more: it begins where the cache ends.
  const auto again = progress_of(post("/v1/chat/completions", chat + R"(, "return_progress": true})").body);
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].processed, again[0].total);
  EXPECT_GT(again[0].cache, 1024);
  EXPECT_TRUE(progress_of(post("/v1/chat/completions", chat + "}").body).empty());
  EXPECT_EQ(progress_of(post("/v1/completions", R"({"prompt": "What is the answer?", "max_tokens": 4, "stream": true,
                               "return_progress": true})")
                            .body)
                .size(),
            1u);
}

TEST_F(Slots, StreamsOfTheOtherApisTellItToo) {
  start();
  std::string text;
  for (int i = 0; i < 600; ++i) text += fmt::format("{} ", i);
  // Steps that end while the stream is still being written are told as one, so how many there are is the machine's
  // matter: the last one tells of the whole prompt.
  const auto told = [&](const std::string& body, const char* type) {
    std::vector<int64_t> processed;
    int64_t total = 0;
    for (size_t at = 0; (at = body.find("data: {", at)) != body.npos; at += 6) {
      const Json j = Json::parse(body.substr(at + 6, body.find("\n\n", at) - at - 6));
      if (const Json* p = j.find("prompt_progress")) {
        EXPECT_EQ(j.at("type").as_string(), type);
        EXPECT_GT(p->at("processed").as_int(), processed.empty() ? 0 : processed.back());
        processed.push_back(p->at("processed").as_int()), total = p->at("total").as_int();
      }
    }
    EXPECT_EQ(processed.empty() ? 0 : processed.back(), total);
    return processed;
  };
  const std::string messages =
      fmt::format(R"({{"messages": [{{"role": "user", "content": "{}"}}], "max_tokens": 6, "stream": true)", text);
  const std::string responses = fmt::format(R"({{"input": "1 {}", "max_output_tokens": 6, "stream": true)", text);
  EXPECT_FALSE(told(post("/v1/messages", messages + R"(, "return_progress": true})").body, "ping").empty());
  EXPECT_FALSE(
      told(post("/v1/responses", responses + R"(, "return_progress": true})").body, "response.in_progress").empty());
  EXPECT_TRUE(told(post("/v1/messages", messages + "}").body, "").empty());
}

}  // namespace
}  // namespace quern
