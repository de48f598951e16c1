// A server behind a URL: every message is a POST, answered with JSON or with server-sent events.
#pragma once
#include <atomic>
#include <mutex>
#include <string>

#include "quern/mcp/client/config.h"
#include "quern/mcp/client/http_call.h"
#include "quern/mcp/client/transport.h"

namespace quern::mcp {

class HttpTransport final : public Transport {
 public:
  HttpTransport(const ServerConfig& config, Receiver receiver);
  ~HttpTransport() override;  // ends the session
  void send(const Json& message, const Until& until, const std::function<bool()>& answered) override;
  void set_version(const std::string& version) override;
  bool open() const override { return !lost_; }

 private:
  std::vector<std::pair<std::string, std::string>> headers() const;
  void check_status(const HttpReplyReader& head, const std::string& body);

  const ServerConfig& config_;
  HttpUrl url_;
  Receiver receiver_;
  mutable std::mutex mutex_;
  std::string session_, version_;
  std::atomic<bool> lost_ = false;
};

}  // namespace quern::mcp
