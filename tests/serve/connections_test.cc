// Connections to the server: clients that hang up, are slow, are many; queues that are full; what is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tests/serve/serving.h"

namespace quern {
namespace {

TEST_F(Serving, AClientThatHangsUpCostsNoMore) {
  start();
  for (const char* stream : {"true", "false"}) {
    RawClient c(port());
    const std::string body = fmt::format(
        R"({{"messages": [{{"role": "user", "content": "x"}}], "max_tokens": 150000, "stream": {}}})", stream);
    c.send(fmt::format("POST /v1/chat/completions HTTP/1.1\r\nContent-Length: {}\r\n\r\n{}", body.size(), body));
    eventually("the request runs", [&] { return model_->host->counts().running == 1; });
    c.hang_up();
    eventually("it is cancelled", [&] { return model_->host->counts().running == 0; });
  }
  EXPECT_EQ(ok(post("/v1/chat/completions", R"({"messages": [{"role": "user", "content": "x"}], "max_tokens": 12})"))
                .at("object")
                .as_string(),
            "chat.completion");
}

TEST_F(Serving, AFullQueueSaysSo) {
  start({}, {}, 1);
  const std::string body = R"({"messages": [{"role": "user", "content": "x"}], "max_tokens": 150000})";
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 5; ++i) {  // four run, one waits
    clients.push_back(std::make_unique<RawClient>(port()));
    clients.back()->send(
        fmt::format("POST /v1/chat/completions HTTP/1.1\r\nContent-Length: {}\r\n\r\n{}", body.size(), body));
    eventually("it is taken", [&] { return model_->host->counts().requests == i + 1; });
    eventually("it runs", [&] { return model_->host->counts().running == std::min(i + 1, 4); });
  }
  refused(post("/v1/chat/completions", R"({"messages": [{"role": "user", "content": "x"}], "max_tokens": 12})"), 429,
          "queue_full");
  EXPECT_NE(post("/v1/completions", R"({"prompt": "x"})").head.find("retry-after: 1"), std::string::npos);
}

TEST(HttpServerOptions, LookupsAreAnsweredBesideAsManyRequestsAsAnAppTakes) {
  EXPECT_GT(serve::HttpServerOptions().workers, serve::AppOptions().max_requests);
}

TEST_F(Serving, ReadinessAndRefusalAgreeOnTheMaximumOfRequests) {
  serve::AppOptions options;
  options.max_requests = 1;
  start(options);
  RawClient c(port());
  const std::string body = R"({"prompt": "x", "max_tokens": 150000, "ignore_eos": true})";
  c.send(fmt::format("POST /v1/completions HTTP/1.1\r\nContent-Length: {}\r\n\r\n{}", body.size(), body));
  eventually("it runs", [&] { return model_->host->counts().running == 1; });
  const RawAnswer ready = http(port(), "GET", "/ready");
  EXPECT_EQ(ready.status, 503);
  EXPECT_NE(ready.body.find("1 requests are running"), std::string::npos) << ready.body;
  refused(post("/v1/completions", R"({"prompt": "x"})"), 429, "too_many_requests");
  EXPECT_EQ(http(port(), "GET", "/health").status, 200);
  c.hang_up();
  eventually("it is ready again", [&] { return http(port(), "GET", "/ready").status == 200; });
}

TEST_F(Serving, ARequestEndsWithItsTime) {
  start();
  const std::string chat = R"({"messages": [{"role": "user", "content": "x"}], "max_tokens": 150000, "timeout": )";
  const Json whole = ok(post("/v1/chat/completions", chat + "1}"));
  const Json& choice = whole.at("choices").as_array()[0];
  EXPECT_EQ(choice.at("finish_reason").as_string(), "length");
  EXPECT_NE(choice.at("message").at("x_warnings").dump().find("timed out"), std::string::npos) << whole.dump();
  const int64_t tokens = whole.at("usage").at("completion_tokens").as_int();
  EXPECT_GT(tokens, 0);
  EXPECT_LT(tokens, 150000);
  const std::string streamed = post("/v1/chat/completions", chat + R"(1, "stream": true})").body;
  EXPECT_NE(streamed.find("timed out"), std::string::npos);
  EXPECT_NE(streamed.find(R"("finish_reason":"length")"), std::string::npos);
  const Json text = ok(post("/v1/completions", R"({"prompt": "x", "max_tokens": 150000, "timeout": 1})"));
  EXPECT_EQ(text.at("choices").as_array()[0].at("finish_reason").as_string(), "length");
  EXPECT_NE(text.at("x_warnings").dump().find("timed out"), std::string::npos);
  EXPECT_NE(post("/v1/completions", R"({"prompt": "x", "max_tokens": 150000, "timeout": 1, "stream": true})")
                .body.find(R"("x_warnings":["the request timed out)"),
            std::string::npos);
  EXPECT_EQ(ok(post("/v1/messages", chat + "1}")).at("stop_reason").as_string(), "max_tokens");
  refused(post("/v1/chat/completions", chat + R"(0.3, "x_think": "vote:2,beta=90000"})"), 504, "timeout");
  refused(post("/v1/chat/completions", chat + "0}"), 400, "timeout");
  eventually("nothing runs", [&] { return model_->host->counts().running == 0; });

  std::vector<std::unique_ptr<RawClient>> clients;  // every place taken: the time of one that waits is over, too
  for (int i = 0; i < 4; ++i) {
    clients.push_back(std::make_unique<RawClient>(port()));
    const std::string body = chat + "1000}";
    clients.back()->send(
        fmt::format("POST /v1/chat/completions HTTP/1.1\r\nContent-Length: {}\r\n\r\n{}", body.size(), body));
    eventually("it runs", [&] { return model_->host->counts().running == i + 1; });
  }
  refused(post("/v1/chat/completions", chat + "0.2}"), 504, "timeout");
  refused(post("/v1/completions", R"({"prompt": "x", "max_tokens": 9, "timeout": 0.2})"), 504, "timeout");
  EXPECT_NE(post("/v1/completions", R"({"prompt": "x", "max_tokens": 9, "timeout": 0.2, "stream": true})")
                .body.find(R"("code":"timeout")"),
            std::string::npos);

  const serve::EngineHost capped(*model_->model, {.tokenizer = &model_->tokenizer}, 4, 2);
  EXPECT_EQ(capped.limit(0), 2);
  EXPECT_EQ(capped.limit(1), 1);
  EXPECT_EQ(capped.limit(5), 2);
  EXPECT_EQ(model_->host->limit(5), 5);
  EXPECT_EQ(model_->host->limit(0), 0);
}

TEST_F(Serving, SlowAndBrokenClientsAreCutOff) {
  start({}, {.header_seconds = 0.3, .idle_seconds = 0.3});
  RawClient silent(port()), slow(port()), broken(port());
  slow.send("POST /v1/models HT");
  broken.send("\x16\x03\x01\x02 hello\r\n\r\n");
  EXPECT_NE(broken.read_all(5).find("HTTP/1.1 400"), std::string::npos);
  EXPECT_NE(slow.read_all(5).find("HTTP/1.1 408"), std::string::npos);
  EXPECT_EQ(silent.read_all(5), "");
  RawClient pipelined(port());
  pipelined.send("GET /health HTTP/1.1\r\n\r\nGET /health HTTP/1.1\r\nConnection: close\r\n\r\n");
  const std::string two = pipelined.read_all(5);
  EXPECT_NE(two.find("keep-alive"), two.npos);
  EXPECT_NE(two.find("connection: close"), two.npos);
}

TEST_F(Serving, ManyClientsGetTheirOwnAnswers) {
  start();
  std::vector<std::string> alone(8);
  auto ask = [&](size_t i) {
    return post("/v1/completions", fmt::format(R"({{"prompt": "client {}", "max_tokens": 16, "seed": {}}})", i, i))
        .body;
  };
  auto text_of = [](const std::string& body) {
    return Json::parse(body).at("choices").as_array()[0].at("text").as_string();
  };
  for (size_t i = 0; i < alone.size(); ++i) alone[i] = text_of(ask(i));
  std::vector<std::string> together(32);
  {
    std::vector<std::jthread> clients;
    for (size_t i = 0; i < together.size(); ++i) clients.emplace_back([&, i] { together[i] = ask(i % 8); });
  }
  for (size_t i = 0; i < together.size(); ++i) EXPECT_EQ(text_of(together[i]), alone[i % 8]);
}

// A descriptor's number is used again as soon as it is closed: what was said of the old line must not end the new
// one.
TEST_F(Serving, LinesThatEndDoNotTakeNewOnesWithThem) {
  start();
  std::mutex mutex;
  std::map<int, int> answered;  // status → how often
  const auto ask = [&] {
    const int status = http(port(), "GET", "/health").status;
    const std::lock_guard lock(mutex);
    ++answered[status];
  };
  {
    std::vector<std::jthread> threads;
    for (int k = 0; k < 4; ++k) {
      threads.emplace_back([&] {
        for (int i = 0; i < 1500; ++i) ask();
      });
      threads.emplace_back([&] {
        for (int i = 0; i < 1500; ++i) {
          RawClient c(port());
          c.send("GET /health HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
          c.hang_up();
          if (i % 32 == 31) ask();  // so that never more lines wait than a server takes
        }
      });
    }
  }
  EXPECT_EQ(answered, (std::map<int, int>{{200, 4 * 1500 + 4 * (1500 / 32)}}));
}

// Who is refused while still sending reads why: the line ends, it is not reset.
TEST_F(Serving, ARefusalArrivesThoughMoreWasSent) {
  start({}, {.connections = 2, .parting_seconds = 60});
  const std::string much(6 << 20, 'x');
  for (int i = 0; i < 20; ++i) {
    RawClient bad(port());
    EXPECT_TRUE(bad.send("GET / HTTP/7.7\r\nhost: x\r\n\r\n" + much)) << "round " << i;
    EXPECT_NE(bad.read_all().find("HTTP/1.1 505"), std::string::npos) << "round " << i;
  }
  RawClient a(port()), b(port());
  a.send("GET /health HTTP/1.1\r\nhost: x\r\n\r\n"), b.send("GET /health HTTP/1.1\r\nhost: x\r\n\r\n");
  ASSERT_NE(a.read_until("\r\n\r\n").find(" 200 "), std::string::npos);
  ASSERT_NE(b.read_until("\r\n\r\n").find(" 200 "), std::string::npos);
  for (int i = 0; i < 20; ++i) {
    RawClient third(port());
    EXPECT_TRUE(third.send("POST /tokenize HTTP/1.1\r\nhost: x\r\ncontent-length: 6291456\r\n\r\n" + much))
        << "round " << i;
    EXPECT_NE(third.read_all().find("HTTP/1.1 503"), std::string::npos) << "round " << i;
  }
  a.hang_up();
  eventually("a place is free again", [&] { return http(port(), "GET", "/health").status == 200; });
}

}  // namespace
}  // namespace quern
