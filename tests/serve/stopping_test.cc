// A server that is told to stop, by signals to this process: readiness, running requests, new ones, and the second signal.
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <mutex>

#include "quern/serve/run/server_run.h"
#include "tests/serve/serving.h"

namespace quern {
namespace {

class Stopping : public Serving {
 protected:
  ~Stopping() override {
    if (server_) server_->stop();
    if (thread_.joinable()) thread_.join();
  }
  // As Serving::start, but until a signal ends it.
  void run(serve::ServerRunOptions options) {
    start();
    server_->stop();
    thread_.join();
    server_ = std::make_unique<serve::HttpServer>(serve::HttpServerOptions{.port = 0},
                                                  [this](serve::Exchange& e) { app_->handle(e); });
    options_ = std::move(options);
    options_.say = [this](const std::string& line) {
      std::lock_guard lock(mutex_);
      said_ += line + "\n";
    };
    thread_ = std::jthread([this] {
      serve::run_until_stopped(*server_, *app_, options_);
      over_ = true;
    });
    eventually("it listens and catches signals", [&] {
      struct sigaction now {};
      ::sigaction(SIGTERM, nullptr, &now);
      return now.sa_handler != SIG_DFL && http(port(), "GET", "/ready").status == 200;
    });
  }
  std::string said() {
    std::lock_guard lock(mutex_);
    return said_;
  }
  std::unique_ptr<RawClient> stream(const std::string& body) {
    auto c = std::make_unique<RawClient>(port());
    c->send(fmt::format("POST /v1/chat/completions HTTP/1.1\r\nContent-Length: {}\r\n\r\n{}", body.size(), body));
    EXPECT_NE(c->read_until("\"content\"").find("200 OK"), std::string::npos);
    return c;
  }
  static std::string asks(int tokens) {
    return fmt::format(
        R"({{"messages": [{{"role": "user", "content": "x"}}], "max_tokens": {}, "ignore_eos": true, "stream": true}})",
        tokens);
  }
  serve::ServerRunOptions options_;
  std::mutex mutex_;
  std::string said_;
  std::atomic<bool> over_ = false;
};

TEST_F(Stopping, WhatRunsIsFinishedAndNothingNewBegun) {
  run({.drain_seconds = 60});
  const auto client = stream(asks(6000));
  ::kill(::getpid(), SIGTERM);
  eventually("it is not ready", [&] { return http(port(), "GET", "/ready").status == 503; });
  const RawAnswer ready = http(port(), "GET", "/health/ready");
  EXPECT_NE(ready.body.find("the server is stopping"), std::string::npos) << ready.body;
  EXPECT_EQ(http(port(), "GET", "/health").status, 200) << "but alive";
  const RawAnswer late = post("/v1/completions", R"({"prompt": "x"})");
  refused(late, 503, "stopping");
  EXPECT_NE(late.head.find("retry-after: "), std::string::npos);
  const std::string rest = client->read_until("[DONE]\n\n", 60);
  EXPECT_NE(rest.find(R"("finish_reason":"length")"), std::string::npos);
  EXPECT_EQ(rest.find("timed out"), std::string::npos) << "it had the time it needed";
  eventually("the server ends", [&] { return over_.load(); });
}

TEST_F(Stopping, WhatTakesTooLongEndsProperlyWithWhatItHas) {
  run({.drain_seconds = 0.3});
  const auto client = stream(asks(150000));
  ::kill(::getpid(), SIGTERM);
  const std::string rest = client->read_until("[DONE]\n\n", 30);
  EXPECT_NE(rest.find(R"("finish_reason":"length")"), std::string::npos) << rest.substr(rest.size() / 2);
  EXPECT_TRUE(rest.find("data: [DONE]\n\n") != rest.npos);
  eventually("the server ends", [&] { return over_.load(); });
  EXPECT_NE(said().find("ending 1 requests"), std::string::npos) << said();
}

TEST_F(Stopping, ASecondSignalEndsItAtOnce) {
  run({.drain_seconds = 1000});
  const auto client = stream(asks(150000));
  ::kill(::getpid(), SIGINT);
  eventually("it drains", [&] { return http(port(), "GET", "/ready").status == 503; });
  EXPECT_FALSE(over_);
  ::kill(::getpid(), SIGINT);
  eventually("the server ends", [&] { return over_.load(); });
}

TEST_F(Stopping, ASignalOrAChangedFileReadsAgain) {
  const std::string file = testing::TempDir() + fmt::format("reload-{}", ::getpid());
  std::ofstream(file) << "1";
  std::atomic<int> reloads = 0;
  run({.watched = {file}, .reload = [&]() -> std::string {
         if (++reloads == 2) fail("line 1: wrong");
         return "two keys";
       }});
  ::kill(::getpid(), SIGHUP);
  eventually("it was read", [&] { return said().find("two keys") != std::string::npos; });
  std::ofstream(file) << "wrong";
  eventually("the failure is said",
             [&] { return said().find("all stays as it was: line 1: wrong") != std::string::npos; });
  EXPECT_EQ(http(port(), "GET", "/ready").status, 200);
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace quern
