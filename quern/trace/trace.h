// Traces: what a program did, when, on which thread, with how many operations and bytes, for people who ask where the
// time goes. While nothing records, a span costs one read of a flag.
//
//   trace::start();
//   { const trace::Span span(trace::Kind::operation, "attention"); … }
//   std::vector<trace::Event> events = trace::stop();
//
// quern/host/trace_report.h makes tables and Chrome's trace format of them.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace quern::trace {

enum class Kind : uint8_t {
  step,           // of training, or of the engine where it works for itself
  part,           // of a step: data, forward, optimizer, …; parts do not overlap
  layer,          // of a model
  operation,      // of a tape, forward or backward
  product,        // of matrices. A step, part or product inside another one is not recorded: it is part of that one
  communication,  // between ranks
};
std::string_view kind_name(Kind k);

struct Event {
  std::string name;
  Kind kind = Kind::step;
  bool backward = false;
  int64_t number = -1;            // of a layer or a step
  int thread = 0;                 // numbered in the order in which threads first recorded
  double begin = 0, seconds = 0;  // since start()
  double own_seconds = 0;         // without the operations inside it on the same thread
  double flops = 0, bytes = 0;
};

inline std::atomic<bool> recording_now{false};
inline bool recording() { return recording_now.load(std::memory_order_relaxed); }

class Span {
 public:
  Span() = default;
  Span(Kind kind, std::string_view name, int64_t number = -1) {
    if (recording()) [[unlikely]]
      begin(kind, std::string(name), number);
  }
  ~Span() {
    if (event_) [[unlikely]]
      end();
  }
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;

  void begin(Kind kind, std::string name, int64_t number = -1);  // where a name costs something to make
  void backward() {
    if (event_) event_->backward = true;
  }
  void count(double flops, double bytes) {
    if (event_) event_->flops += flops, event_->bytes += bytes;
  }

 private:
  void end();
  std::unique_ptr<Event> event_;
  Span* outer_ = nullptr;  // of this thread
  double inner_ = 0;       // seconds of the operations inside
  friend std::string operation_now();
  friend void count(double flops, double bytes);
};

// What is under way between two moments that no scope holds, such as a transfer.
class Pending {
 public:
  void begin(Kind kind, std::string_view name, double bytes);
  void end();  // nothing, where it did not begin
 private:
  std::unique_ptr<Event> event_;
};

void count(double flops, double bytes);  // for the innermost span of this thread

// The innermost operation of this thread, which gives its backward pass a name; "" where nothing records.
std::string operation_now();

void start();               // forgets what was recorded before
std::vector<Event> stop();  // in the order of their begin; spans that are still open are not among them

}  // namespace quern::trace
