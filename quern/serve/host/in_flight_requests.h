// Progress of in-flight requests. The engine reports nothing before the end, so the tokens of its forward passes
// (observed_model.h) are matched to requests by token ids and positions. Requests with the same tokens at the same
// position are told apart by age, which is the order in which the engine takes them.
#pragma once
#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace quern {

struct RequestProgress {
  std::string id = {};               // of the HTTP request it belongs to
  int64_t prompt = 0, max_new = 0;   // tokens it has, and may get
  int64_t read = 0, cached = 0;      // of the prompt; read counts the cached ones too
  int64_t given = 0;                 // tokens of the answer
  bool started = false;              // the engine has begun to read
  double age = 0, read_seconds = 0;  // since it came; since before its first forward, until its prompt was read
  const char* state() const { return !started ? "waiting" : read < prompt ? "reading" : "answering"; }
};

class InFlightRequest {
 public:
  InFlightRequest(std::string id, std::vector<int32_t> prompt, int64_t max_new);
  enum class Match { none, elsewhere, begins, goes_on };  // the better, the greater
  Match match(std::span<const int32_t> ids, int64_t at) const;
  void begins(int64_t at);  // before a forward of these; the first one's place is where the cache ended
  void on_forward(int64_t at, int64_t n);
  RequestProgress progress() const;  // but for `given`
  const std::vector<int32_t>& prompt() const { return prompt_; }

 private:
  using Clock = std::chrono::steady_clock;
  std::vector<int32_t> prompt_;
  RequestProgress told_;
  Clock::time_point came_, begun_, read_;
};

}  // namespace quern
