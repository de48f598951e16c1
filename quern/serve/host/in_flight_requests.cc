// Matches token spans to requests.
#include "quern/serve/host/in_flight_requests.h"

#include <algorithm>

namespace quern::serve {

InFlightRequest::InFlightRequest(std::string id, std::vector<int32_t> prompt, int64_t max_new)
    : prompt_(std::move(prompt)), came_(Clock::now()) {
  told_.id = std::move(id), told_.prompt = static_cast<int64_t>(prompt_.size()), told_.max_new = max_new;
}

InFlightRequest::Match InFlightRequest::match(std::span<const int32_t> ids, int64_t at) const {
  const auto n = static_cast<int64_t>(ids.size());
  if (n > told_.prompt - at) return Match::none;
  if (n == 1 && at + 1 < told_.prompt)
    return Match::none;  // prompts are not read so: this is an answer's newest token
  if (!std::equal(ids.begin(), ids.end(), prompt_.begin() + at)) return Match::none;
  if (!told_.started) return Match::begins;
  return at == told_.read ? Match::goes_on : Match::elsewhere;
}

void InFlightRequest::begins(int64_t at) {
  if (told_.started) return;
  told_.started = true, told_.cached = told_.read = at;
  begun_ = read_ = Clock::now();
}

void InFlightRequest::on_forward(int64_t at, int64_t n) {
  begins(at);
  told_.read = at + n, read_ = Clock::now();
}

RequestProgress InFlightRequest::progress() const {
  RequestProgress p = told_;
  const auto seconds = [](Clock::duration d) { return std::chrono::duration<double>(d).count(); };
  p.age = seconds(Clock::now() - came_);
  if (p.started) p.read_seconds = seconds(read_ - begun_);
  return p;
}

}  // namespace quern::serve
