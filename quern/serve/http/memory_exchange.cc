// Requests without a connection.
#include "quern/serve/http/memory_exchange.h"

namespace quern::serve {

MemoryExchange::MemoryExchange(std::string body, Taken taken) : taken_(std::move(taken)) {
  request_.method = "POST";
  request_.body = std::move(body);
}

bool MemoryExchange::gone() const {
  std::lock_guard lock(mutex_);
  return gone_;
}

void MemoryExchange::when_gone(std::function<void()> then) {
  std::lock_guard lock(mutex_);
  if (gone_ && then) return then();
  then_ = std::move(then);
}

void MemoryExchange::cancel() {
  std::lock_guard lock(mutex_);
  if (!std::exchange(gone_, true) && then_) std::exchange(then_, {})();
}

void MemoryExchange::answer(int status, std::string_view, std::string_view body) { status_ = status, body_ = body; }

void MemoryExchange::begin(int status, std::string_view) { status_ = status; }

bool MemoryExchange::write(std::string_view data) {
  if (!taken_) body_ += data;
  if (taken_ && !gone() && !taken_(data)) cancel();
  return !gone();
}

}  // namespace quern::serve
