// A request that comes from the server itself, and whose answer stays in memory.
#pragma once
#include <functional>
#include <mutex>
#include <string>
#include <utility>

#include "quern/serve/http/http_server.h"

namespace quern::serve {

class MemoryExchange final : public Exchange {
 public:
  explicit MemoryExchange(HttpRequest request) : request_(std::move(request)) {}
  const HttpRequest& request() const override { return request_; }
  void below(std::string_view prefix) override { request_.path.erase(0, prefix.size()); }
  bool gone() const override {
    std::lock_guard lock(mutex_);
    return gone_;
  }
  void when_gone(std::function<void()> then) override {
    std::lock_guard lock(mutex_);
    if (gone_ && then) return then();
    then_ = std::move(then);
  }
  void cancel() {  // from any thread
    std::lock_guard lock(mutex_);
    if (!std::exchange(gone_, true) && then_) std::exchange(then_, {})();
  }
  void header(std::string, std::string) override {}
  void answer(int status, std::string_view, std::string_view body) override { status_ = status, body_ = body; }
  void begin(int status, std::string_view) override { status_ = status; }
  bool write(std::string_view data) override {
    body_ += data;
    return !gone();
  }
  void end() override {}
  int status() const override { return status_; }
  const std::string& body() const { return body_; }

 private:
  HttpRequest request_;
  int status_ = 0;
  std::string body_;
  mutable std::mutex mutex_;
  bool gone_ = false;
  std::function<void()> then_;
};

}  // namespace quern::serve
