// Streaming result of one generation, from the engine thread to an HTTP worker: text deltas, then the final result.
// All generations of a request share one notifier, so that the worker waits for them together. Releasing the stream,
// or a client disconnect, cancels what is left.
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "quern/infer/engine/request.h"
#include "quern/serve/host/live_requests.h"

namespace quern {

class AnswerBell {
 public:
  void ring();
  void wait(double seconds);  // until it rang since the last wait, or so long
  void hang_up();             // nobody listens any more
  bool hung_up() const { return hung_up_; }

 private:
  std::mutex mutex_;
  std::condition_variable came_;
  bool rang_ = false;
  std::atomic<bool> hung_up_ = false;
};

struct AnswerPiece {
  int32_t token = -1;  // −1: text held back until now, or of several tokens
  double logprob = 0;
  std::string text;
  std::vector<TokenLogprob> top;
};

class Answer {
 public:
  enum class Next { piece, read, nothing, done };
  // What came; read: more of the prompt was read, told only where it was asked for. Does not wait.
  Next next(AnswerPiece& out);
  RequestProgress progress();                          // how far it was when `read` was told last
  const Generated& result() const { return result_; }  // once done

 private:
  friend class EngineHost;
  bool live() const { return !bell_->hung_up(); }
  void push(const Emitted& e);
  void read(const RequestProgress& p);
  void end(Generated result);
  // Rings, if there is something to hear and it is time, or will be before the next step ends, should that take as
  // long.
  void after_step(std::chrono::steady_clock::duration step);
  std::vector<int32_t> given();
  int64_t given_count();

  std::shared_ptr<AnswerBell> bell_;
  bool tells_ = false;       // how much of the prompt is read
  bool streams_ = true;      // pieces are told before the end
  bool each_token_ = false;  // pieces are never put together
  bool unheard_ = false;
  std::chrono::steady_clock::time_point rang_{};  // with unheard_ the stepping thread's own
  std::mutex mutex_;                              // guards what follows
  std::deque<AnswerPiece> pieces_;
  std::vector<int32_t> given_;
  bool read_on_ = false, done_ = false;
  RequestProgress progress_;
  Generated result_;
};

}  // namespace quern
