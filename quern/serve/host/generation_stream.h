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

namespace quern::serve {

class Notifier {
 public:
  void notify();
  void wait(double seconds);  // until notified since the last wait, or a timeout
  void close();               // the receiver is gone
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
  std::vector<infer::TokenLogprob> top;
};

class GenerationStream {
 public:
  enum class Next { piece, read, nothing, done };
  // The next event, without waiting; read: prefill progress, reported only on request.
  Next next(TextDelta& out);
  RequestProgress progress();                                 // at the last `read` event
  const infer::Generated& result() const { return result_; }  // once done
  void stop() { enough_ = true; }                             // ends it as if the model had; tokens may still come

 private:
  friend class EngineHost;
  bool live() const { return !notifier_->closed(); }
  bool enough() const { return enough_; }
  void push(const infer::Emitted& e);
  void read(const RequestProgress& p);
  void end(infer::Generated result);
  // Notifies, if there is something new and it is time, or will be before the next step ends if that takes as long.
  void after_step(std::chrono::steady_clock::duration step);
  std::vector<int32_t> given();
  int64_t given_count();

  std::shared_ptr<Notifier> notifier_;
  bool reports_progress_ = false;  // report prefill progress
  bool streams_ = true;            // deltas are delivered before the end
  bool each_token_ = false;        // deltas are never joined
  std::atomic<bool> enough_ = false;
  bool unheard_ = false;
  std::chrono::steady_clock::time_point notified_{};  // used by the engine thread only, as is unheard_
  std::mutex mutex_;                                  // guards the members below
  std::deque<TextDelta> pieces_;
  std::vector<int32_t> given_;
  bool read_on_ = false, done_ = false;
  RequestProgress progress_;
  infer::Generated result_;
};

}  // namespace quern::serve
