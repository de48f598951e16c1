// All generations of one HTTP request: submitted together, and followed together by the request's worker thread.
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <vector>

#include "quern/serve/host/engine_host.h"
#include "quern/serve/http/http_server.h"

namespace quern::serve {

class EventStream;

// The options of a request with this prompt as its caller may have them: user, priority, max_tokens. Throws ApiError when the
// prompt is longer than the caller's context.
void apply_caller(const Caller& caller, size_t prompt, infer::GenerateOptions& options);

class RequestStreams {
 public:
  // keep_alive: silence after which a stream sends a comment.
  RequestStreams(EngineHost& host, Exchange& e, std::chrono::milliseconds keep_alive = std::chrono::seconds(10));
  ~RequestStreams();  // cancels what is left
  RequestStreams(const RequestStreams&) = delete;
  RequestStreams& operator=(const RequestStreams&) = delete;

  std::shared_ptr<GenerationStream> add(infer::Request r, SubmitOptions how);  // as far as its caller may
  struct StreamCallbacks {
    std::function<void(size_t answer, const TextDelta& piece)> piece = {};
    std::function<void(size_t answer)> done = {};
    std::function<void(size_t answer)> read = {};  // prefill progress
  };
  // Until all are done; false: the client disconnected, and the rest is cancelled. Throws ApiError if the model is
  // unloaded meanwhile. Events that arrive together are sent to `stream`, if given, in one write; it is kept alive
  // while nothing arrives.
  bool follow(EventStream* stream, const StreamCallbacks& told);
  int64_t waits() const { return waits_; }  // so far

 private:
  bool whole() const;
  void note(const infer::Generated& g);  // one that is done, in the facts of the exchange
  EngineHost& host_;
  Exchange& exchange_;
  std::chrono::milliseconds keep_alive_;
  int64_t waits_ = 0;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  std::vector<int32_t> counted_prompt_;  // several answers to one prompt count it once
  std::shared_ptr<Notifier> notifier_;
  std::vector<std::shared_ptr<GenerationStream>> answers_;
};

}  // namespace quern::serve
