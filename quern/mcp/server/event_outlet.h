// The answer to one POST: JSON when the response comes before anything else, else server-sent events, which begin with
// the first notification, or with the first sign that the work takes long.
#pragma once
#include <chrono>

#include "quern/mcp/server/server.h"
#include "quern/serve/http/http_server.h"

namespace quern::mcp {

class EventOutlet final : public Outlet {
 public:
  explicit EventOutlet(serve::Exchange& e);
  void notify(const Json& message) override;
  void keep_alive() override;
  bool gone() const override { return exchange_.gone(); }
  void finish(int status, const Json& reply);
  void end_without();  // of a request that was cancelled

 private:
  void send(std::string_view text);
  serve::Exchange& exchange_;
  bool takes_events_, begun_ = false;
  std::mutex mutex_;
  std::chrono::steady_clock::time_point last_;
};

}  // namespace quern::mcp
