// Matches token spans to requests.
#include "quern/serve/host/live_requests.h"

#include <algorithm>

namespace quern {

LiveRequest::LiveRequest(std::string id, std::vector<int32_t> prompt, int64_t most_new)
    : prompt_(std::move(prompt)), came_(Clock::now()) {
  told_.id = std::move(id), told_.prompt = static_cast<int64_t>(prompt_.size()), told_.most_new = most_new;
}

LiveRequest::Fit LiveRequest::fit(std::span<const int32_t> ids, int64_t at) const {
  const auto n = static_cast<int64_t>(ids.size());
  if (n > told_.prompt - at) return Fit::none;
  if (n == 1 && at + 1 < told_.prompt) return Fit::none;  // prompts are not read so: this is an answer's newest token
  if (!std::equal(ids.begin(), ids.end(), prompt_.begin() + at)) return Fit::none;
  if (!told_.started) return Fit::begins;
  return at == told_.read ? Fit::goes_on : Fit::elsewhere;
}

void LiveRequest::begins(int64_t at) {
  if (told_.started) return;
  told_.started = true, told_.cached = told_.read = at;
  begun_ = read_ = Clock::now();
}

void LiveRequest::saw(int64_t at, int64_t n) {
  begins(at);
  told_.read = at + n, read_ = Clock::now();
}

RequestProgress LiveRequest::progress() const {
  RequestProgress p = told_;
  const auto seconds = [](Clock::duration d) { return std::chrono::duration<double>(d).count(); };
  p.age = seconds(Clock::now() - came_);
  if (p.started) p.read_seconds = seconds(read_ - begun_);
  return p;
}

}  // namespace quern
