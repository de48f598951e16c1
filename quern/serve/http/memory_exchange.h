// A request that this program makes of its own APIs, without a connection: the answer stays in memory, or is handed on as it
// comes.
#pragma once
#include <functional>
#include <mutex>
#include <string>
#include <utility>

#include "quern/serve/http/http_server.h"

namespace quern::serve {

class MemoryExchange final : public Exchange {
 public:
  // `taken` gets a streamed answer piece by piece; false: nothing more is wanted, the client is gone.
  using Taken = std::function<bool(std::string_view)>;
  explicit MemoryExchange(HttpRequest request) : request_(std::move(request)) {}
  explicit MemoryExchange(std::string body, Taken taken = {});  // a POST

  const HttpRequest& request() const override { return request_; }
  void below(std::string_view prefix) override { request_.path.erase(0, prefix.size()); }
  bool gone() const override;
  void when_gone(std::function<void()> then) override;
  void header(std::string, std::string) override {}
  void answer(int status, std::string_view content_type, std::string_view body) override;
  void begin(int status, std::string_view content_type) override;
  bool write(std::string_view data) override;
  void end() override {}
  int status() const override { return status_; }

  void cancel();                                     // the client is gone; from any thread
  const std::string& body() const { return body_; }  // of an answer that nobody takes piece by piece

 private:
  HttpRequest request_;
  Taken taken_ = {};
  std::string body_;
  int status_ = 0;
  mutable std::mutex mutex_;
  bool gone_ = false;
  std::function<void()> then_;
};

}  // namespace quern::serve
