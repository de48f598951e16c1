// Progress of in-flight requests. The engine reports nothing before the end, so the tokens of its forward passes
// (observed_model.h) are matched to requests by token ids and positions. Requests with the same tokens at the same
// position are told apart by age, which is the order in which the engine takes them.
#pragma once
#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace quern::serve {

struct RequestProgress {
  std::string id = {};               // of its HTTP request
  int64_t prompt = 0, max_new = 0;   // prompt tokens, and maximum new tokens
  int64_t read = 0, cached = 0;      // prompt tokens processed (cached ones included), and cached
  int64_t given = 0;                 // tokens generated
  bool started = false;              // prefill has begun
  double age = 0, read_seconds = 0;  // since submission; duration of the prefill
  const char* state() const { return !started ? "waiting" : read < prompt ? "reading" : "answering"; }
};

enum class StatusDetail { counts, tokens };  // tokens: of prompt and output, too

struct InFlightStatus {  // the current state of a request
  RequestProgress progress;
  std::vector<int32_t> prompt = {}, answer = {};  // with StatusDetail::tokens
  std::string plan = {};                          // of a request with a thinking plan, which has no prompt of its own
  int64_t candidates = 0, all_candidates = 0;     // done, and in all
};

class InFlightRequest {
 public:
  InFlightRequest(std::string id, std::vector<int32_t> prompt, int64_t max_new);
  enum class Match { none, elsewhere, begins, goes_on };  // in ascending order of quality
  Match match(std::span<const int32_t> ids, int64_t at) const;
  void begins(int64_t at);  // before a forward pass; the first position is where the cached prefix ended
  void on_forward(int64_t at, int64_t n);
  RequestProgress progress() const;  // without `given`
  const std::vector<int32_t>& prompt() const { return prompt_; }
  const std::string& id() const { return told_.id; }  // of its HTTP request

 private:
  using Clock = std::chrono::steady_clock;
  std::vector<int32_t> prompt_;
  RequestProgress told_;
  Clock::time_point came_, begun_, read_;
};

}  // namespace quern::serve
