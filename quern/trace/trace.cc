#include "quern/trace/trace.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <utility>

#include "quern/base/stopwatch.h"
#include "quern/trace/thread_names.h"

namespace quern::trace {
namespace {

struct Recorded {
  std::mutex mutex;
  std::vector<Event> events;
  double start = 0;
};
Recorded& recorded() {
  static Recorded r;
  return r;
}

thread_local Span* innermost = nullptr;

void keep(Event e) {
  Recorded& r = recorded();
  const std::lock_guard lock(r.mutex);
  e.begin -= r.start;
  // One that began before the recording, or outlived it, is no part of it.
  if (recording() && e.begin >= 0) r.events.push_back(std::move(e));
}

}  // namespace

std::string_view kind_name(Kind k) {
  constexpr std::array<std::string_view, 6> kNames = {"step",      "part",    "layer",
                                                      "operation", "product", "communication"};
  return kNames[static_cast<size_t>(k)];
}

void Span::begin(Kind kind, std::string name, int64_t number) {
  if (kind == Kind::step || kind == Kind::part || kind == Kind::product)  // one inside another is part of that one
    for (const Span* s = innermost; s; s = s->outer_)
      if (s->event_->kind == kind) return;
  event_ = std::make_unique<Event>();
  event_->name = std::move(name), event_->kind = kind, event_->number = number, event_->thread = thread_number();
  outer_ = std::exchange(innermost, this);
  event_->begin = steady_seconds();
}

void Span::end() {
  event_->seconds = steady_seconds() - event_->begin;
  event_->own_seconds = event_->seconds - inner_;
  innermost = outer_;
  const bool operation = event_->kind == Kind::operation;
  for (Span* s = outer_; s && operation; s = s->outer_)
    if (s->event_->kind == Kind::operation) {
      s->inner_ += event_->seconds;
      break;
    }
  keep(std::move(*event_));
}

void Pending::begin(Kind kind, std::string_view name, double bytes) {
  if (!recording()) return;
  event_ = std::make_unique<Event>();
  event_->name = name, event_->kind = kind, event_->bytes = bytes, event_->thread = thread_number();
  event_->begin = steady_seconds();
}

void Pending::end() {
  if (!event_) return;
  event_->seconds = event_->own_seconds = steady_seconds() - event_->begin;
  keep(std::move(*event_));
  event_ = nullptr;
}

void count(double flops, double bytes) {
  if (innermost) innermost->count(flops, bytes);
}

std::string operation_now() {
  if (!recording()) return {};
  for (const Span* s = innermost; s; s = s->outer_)
    if (s->event_->kind == Kind::operation) return s->event_->name;
  return {};
}

void start() {
  Recorded& r = recorded();
  const std::lock_guard lock(r.mutex);
  r.events.clear(), r.start = steady_seconds();
  recording_now = true;
}

std::vector<Event> stop() {
  Recorded& r = recorded();
  const std::lock_guard lock(r.mutex);
  recording_now = false;
  std::ranges::stable_sort(r.events, {}, &Event::begin);
  return std::exchange(r.events, {});
}

}  // namespace quern::trace
