// Where a server listens: sockets with names, and paths below a prefix.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <mutex>
#include <thread>
#include <vector>

#include "quern/base/error.h"
#include "quern/serve/http/listener.h"
#include "tests/serve/serving.h"

namespace quern {
namespace {

class Listening : public Serving {
 protected:
  Listening() { std::filesystem::create_directories(folder_); }
  ~Listening() override {
    std::error_code none;
    std::filesystem::remove_all(folder_, none);
  }
  // What an attempt to listen there says; empty: it works.
  static std::string complaint(const std::string& path) {
    try {
      serve::Listener::at_path(path);
      return "";
    } catch (const Error& e) {
      return e.what();
    }
  }
  void leave_a_stale_socket() {  // bound, never listening, closed: as after a kill
    const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un a{};
    a.sun_family = AF_UNIX;
    path_.copy(a.sun_path, sizeof a.sun_path - 1);
    ASSERT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&a), sizeof a), 0);
    ::close(fd);
    ASSERT_TRUE(std::filesystem::exists(path_));
  }
  std::filesystem::path folder_ = std::filesystem::path(testing::TempDir()) / fmt::format("listen-{}", ::getpid());
  std::string path_ = (folder_ / "s").string();
};

TEST_F(Listening, ANamedSocketIsItsOwnersAndGoesWithTheServer) {
  const mode_t before = ::umask(0);  // the worst there is
  serve::HttpServerOptions options;
  options.unix_path = path_;
  start({}, options);
  ::umask(before);
  struct stat s {};
  ASSERT_EQ(::lstat(path_.c_str(), &s), 0);
  EXPECT_TRUE(S_ISSOCK(s.st_mode));
  EXPECT_EQ(s.st_mode & 0777, 0600u);
  EXPECT_EQ(port(), 0);
  RawClient c(path_), two(path_);
  EXPECT_EQ(ask(c, "GET", "/health").status, 200);
  const RawAnswer a = ask(two, "POST", "/v1/completions", R"({"prompt": "a", "max_tokens": 3, "stream": true})");
  EXPECT_TRUE(a.body.ends_with("data: [DONE]\n\n")) << a.body;
  EXPECT_NE(complaint(path_).find("another server listens on it"), std::string::npos) << complaint(path_);
  EXPECT_TRUE(std::filesystem::exists(path_)) << "the second left the first one's alone";
  server_->stop();
  thread_.join();
  server_.reset();
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(Listening, WhatADeadServerLeftIsReplacedAndNothingElse) {
  leave_a_stale_socket();
  {
    const serve::Listener l = serve::Listener::at_path(path_);
    EXPECT_GE(l.fd(), 0);
    RawClient reaches(path_);
    // Somebody else's name is not taken away in the end.
    std::filesystem::remove(path_);
    std::ofstream(path_) << "a file";
  }
  EXPECT_TRUE(std::filesystem::is_regular_file(path_));
  EXPECT_NE(complaint(path_).find("not a socket"), std::string::npos);
  EXPECT_NE(complaint((folder_ / "no" / "such").string()).find("cannot listen on it"), std::string::npos);
  EXPECT_NE(complaint(std::string(200, 'x')).find("107 bytes"), std::string::npos)
      << complaint(std::string(200, 'x'));
}

TEST_F(Listening, OfServersThatStartTogetherOneGetsTheName) {
  for (int round = 0; round < 20; ++round) {
    leave_a_stale_socket();
    std::mutex mutex;
    std::vector<serve::Listener> have;
    std::vector<std::string> refusals;
    {
      std::vector<std::jthread> servers;
      for (int i = 0; i < 6; ++i)
        servers.emplace_back([&] {
          try {
            serve::Listener l = serve::Listener::at_path(path_);
            std::lock_guard lock(mutex);
            have.push_back(std::move(l));
          } catch (const Error& e) {
            std::lock_guard lock(mutex);
            refusals.push_back(e.what());
          }
        });
    }
    ASSERT_EQ(have.size(), 1u);
    for (const std::string& r : refusals) EXPECT_NE(r.find("another server listens on it"), r.npos) << r;
    RawClient reaches(path_);
  }
}

TEST_F(Listening, EverythingLiesBelowThePrefix) {
  serve::AppOptions options;
  options.prefix = "/llm", options.api_keys = {"k"};
  start(options);
  const char* key = "Authorization: Bearer k\r\n";
  EXPECT_EQ(http(port(), "GET", "/llm/health").status, 200);
  EXPECT_EQ(http(port(), "GET", "/llm/v1/models", {}, key).status, 200);
  EXPECT_EQ(ok(http(port(), "GET", "/llm/v1/models/tiny", {}, key)).at("id").as_string(), "tiny");
  EXPECT_EQ(http(port(), "GET", "/llm/v1/models").status, 401);
  EXPECT_TRUE(http(port(), "GET", "/llm/").body.starts_with("<!doctype html>"));
  const RawAnswer moved = http(port(), "GET", "/llm");
  EXPECT_EQ(moved.status, 308);
  EXPECT_NE(moved.head.find("location: /llm/\r\n"), std::string::npos) << moved.head;
  refused(http(port(), "GET", "/v1/models", {}, key), 404, "begin with /llm/");
  refused(http(port(), "GET", "/llmx/health"), 404, "begin with /llm/");
  EXPECT_EQ(http(port(), "GET", "/").status, 404);
  const Json r = ok(post("/llm/v1/responses", R"({"input": "x", "max_output_tokens": 3})", key));
  const std::string stored = "/llm/v1/responses/" + r.at("id").as_string();
  EXPECT_EQ(ok(http(port(), "GET", stored, {}, key)).at("id"), r.at("id"));
  // Of Anthropic's form, below it too.
  EXPECT_EQ(Json::parse(post("/llm/v1/messages", "{}", key).body).at("type").as_string(), "error");
}

TEST_F(Listening, PagesMayDoWhatTheServerWasTold) {
  serve::AppOptions options;
  options.live.cors = {"*"}, options.live.cors_methods = "GET", options.live.cors_headers = "x-mine";
  start(options);
  const RawAnswer a =
      http(port(), "OPTIONS", "/health", "", "Origin: http://any\r\nAccess-Control-Request-Headers: x\r\n");
  EXPECT_NE(a.head.find("access-control-allow-origin: *\r\n"), std::string::npos) << a.head;
  EXPECT_NE(a.head.find("access-control-allow-methods: GET\r\n"), std::string::npos) << a.head;
  EXPECT_NE(a.head.find("access-control-allow-headers: x-mine"), std::string::npos) << a.head;
}

}  // namespace
}  // namespace quern
