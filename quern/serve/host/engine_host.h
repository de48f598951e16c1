// Owns the thread that steps the engine. Requests are submitted from any thread; text arrives through a
// GenerationStream as soon as it is certain. Releasing the stream cancels the rest, so that a disconnected client
// costs no further step.
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "quern/infer/engine/engine.h"
#include "quern/infer/sampling/grammar_constraint.h"
#include "quern/reason/think.h"
#include "quern/serve/host/generation_stream.h"
#include "quern/serve/host/host_counts.h"
#include "quern/serve/host/in_flight_plans.h"
#include "quern/serve/host/in_flight_requests.h"
#include "quern/serve/host/job_queue.h"
#include "quern/serve/host/observed_model.h"

namespace quern::serve {

struct SubmitOptions {      // options of a submission beyond the engine's request
  double seconds = 0;       // timeout; 0 = only the host's own limit
  std::string id = {};      // of the HTTP request
  bool progress = false;    // report prefill progress
  bool streams = true;      // deliver deltas as they come; else all when it is done
  bool each_token = false;  // deltas are single tokens, as logprobs and tool calls need
  infer::ThinkStart think_start = infer::ThinkStart::may_open;
  std::shared_ptr<Notifier> notifier = {};                   // notified of news; null: one of its own
  std::function<void(const infer::Generated&)> on_end = {};  // on the engine's thread, before the stream ends
};

struct ThinkWatch {             // of a request with a thinking plan
  std::function<bool()> alive;  // false cancels
  std::function<void(const reason::ThinkEvent&)> on_event;
  std::string id = {};  // of the HTTP request
};

class EngineHost {
 public:
  // max_seconds: timeout of every request, from its submission; 0 = none.
  EngineHost(models::Model& model, infer::EngineOptions options, int64_t max_waiting, double max_seconds = 0);
  ~EngineHost();

  bool full() const;  // the queue is full
  int64_t max_sequences() const { return max_sequences_; }
  // Throws Error when it can never be served. After `seconds` it ends with what it has, also in the queue or during
  // prefill, with finish "timeout".
  std::shared_ptr<GenerationStream> submit(infer::Request r, SubmitOptions how = {});
  std::vector<InFlightStatus> live(StatusDetail detail) const;  // oldest first
  // Closes the thinking of an HTTP request's generations, which continue with the answer.
  enum class ThinkingEnd { unknown, none, ended };  // no such request; it is not thinking
  ThinkingEnd end_thinking(const std::string& id, const std::string* user = nullptr);  // of this user's; null: of any
  double limit(double seconds) const;  // the timeout that applies to a request with this one
  reason::ThinkResult think(reason::ThinkRequest request,
                            const ThinkWatch& watch);  // to the end; the calling thread only waits
  // Runs between steps on the engine's thread, the only one that may use the model and the prefix cache; returns when
  // it has. Exceptions pass through.
  void between_steps(const std::function<void(models::Model&, infer::PrefixCache&)>& job);
  HostCounts counts() const;
  // From now on every request, running or new, ends with what it has, as after a timeout; one without a token fails with
  // an error that says that the server stops.
  void end_all();
  bool ending() const { return ending_; }

 private:
  struct InFlight {
    infer::Engine::Id id;  // kComing: not assigned yet
    std::weak_ptr<GenerationStream> answer;
    double seconds;  // 0 = no timeout
    std::chrono::steady_clock::time_point since;
    InFlightRequest request;
    std::string user;
    std::function<void(const infer::Generated&)> on_end;
    infer::ThinkStart think_start;
    bool late = false;
  };
  void on_forward(std::span<const int32_t> ids, int64_t at, ForwardTime time);
  void loop(const std::stop_token& stop);
  void deliver(std::chrono::steady_clock::duration step);
  void nudge();

  models::Model& model_;
  ObservedModel observed_;
  infer::Engine engine_;
  const text::Tokenizer* tokenizer_;
  int64_t max_sequences_, max_in_flight_;
  double max_seconds_;
  mutable std::mutex mutex_;
  std::condition_variable work_, stepped_;
  bool woken_ = false;
  std::atomic<bool> ending_ = false;
  std::list<InFlight> in_flight_;
  InFlightPlans plans_;
  JobQueue jobs_;
  HostCounts counts_;
  std::jthread thread_;
};

}  // namespace quern::serve
