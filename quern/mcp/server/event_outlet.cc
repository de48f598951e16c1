// Events of one answer.
#include "quern/mcp/server/event_outlet.h"

namespace quern::mcp {
namespace {

constexpr std::chrono::seconds kKeepAlive{10};

bool accepts_events(const serve::HttpRequest& r) {
  const std::string* accept = r.header("accept");
  return accept && accept->find("text/event-stream") != accept->npos;
}

}  // namespace

EventOutlet::EventOutlet(serve::Exchange& e)
    : exchange_(e), takes_events_(accepts_events(e.request())), last_(std::chrono::steady_clock::now()) {}

void EventOutlet::send(std::string_view text) {
  if (!begun_) exchange_.header("cache-control", "no-cache"), exchange_.begin(200, "text/event-stream");
  begun_ = true, last_ = std::chrono::steady_clock::now();
  exchange_.write(text);
}

void EventOutlet::notify(const Json& message) {
  std::lock_guard lock(mutex_);
  if (takes_events_) send("event: message\ndata: " + message.dump() + "\n\n");
}

void EventOutlet::keep_alive() {
  std::lock_guard lock(mutex_);
  if (takes_events_ && std::chrono::steady_clock::now() - last_ >= kKeepAlive) send(": still working\n\n");
}

void EventOutlet::finish(int status, const Json& reply) {
  std::lock_guard lock(mutex_);
  if (!begun_) return exchange_.answer(status, "application/json", reply.dump());
  send("event: message\ndata: " + reply.dump() + "\n\n");
  exchange_.end();
}

void EventOutlet::end_without() {
  std::lock_guard lock(mutex_);
  if (!begun_) return exchange_.answer(202, "", "");
  exchange_.end();
}

}  // namespace quern::mcp
