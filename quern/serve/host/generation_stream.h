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
#include "quern/serve/host/in_flight_requests.h"

namespace quern {

class Notifier {
 public:
  void notify();
  void wait(double seconds);  // until it rang since the last wait, or so long
  void close();               // nobody listens any more
  bool closed() const { return closed_; }

 private:
  std::mutex mutex_;
  std::condition_variable came_;
  bool notified_ = false;
  std::atomic<bool> closed_ = false;
};

struct TextDelta {
  int32_t token = -1;  // −1: text held back until now, or of several tokens
  double logprob = 0;
  std::string text;
  std::vector<TokenLogprob> top;
};

class GenerationStream {
 public:
  enum class Next { piece, read, nothing, done };
  // What came; read: more of the prompt was read, told only where it was asked for. Does not wait.
  Next next(TextDelta& out);
  RequestProgress progress();                          // how far it was when `read` was told last
  const Generated& result() const { return result_; }  // once done

 private:
  friend class EngineHost;
  bool live() const { return !notifier_->closed(); }
  void push(const Emitted& e);
  void read(const RequestProgress& p);
  void end(Generated result);
  // Rings, if there is something to hear and it is time, or will be before the next step ends, should that take as
  // long.
  void after_step(std::chrono::steady_clock::duration step);
  std::vector<int32_t> given();
  int64_t given_count();

  std::shared_ptr<Notifier> notifier_;
  bool reports_progress_ = false;  // how much of the prompt is read
  bool streams_ = true;            // pieces are told before the end
  bool each_token_ = false;        // pieces are never put together
  bool unheard_ = false;
  std::chrono::steady_clock::time_point notified_{};  // with unheard_ the stepping thread's own
  std::mutex mutex_;                                  // guards what follows
  std::deque<TextDelta> pieces_;
  std::vector<int32_t> given_;
  bool read_on_ = false, done_ = false;
  RequestProgress progress_;
  Generated result_;
};

}  // namespace quern
