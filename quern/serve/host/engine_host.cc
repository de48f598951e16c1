// Steps while there is work, and sleeps while there is none.
#include "quern/serve/host/engine_host.h"

#include <algorithm>
#include <iterator>

#include "quern/base/free_blocks.h"
#include "quern/infer/sampling/think_budget.h"
#include "quern/reason/trace.h"

namespace quern::serve {
namespace {

using Clock = std::chrono::steady_clock;
constexpr infer::Engine::Id kComing = -1;
constexpr double kTrimSeconds = 10;  // memory nobody used for so long goes back to the system
double since(Clock::time_point t) { return std::chrono::duration<double>(Clock::now() - t).count(); }

}  // namespace

EngineHost::EngineHost(models::Model& model, infer::EngineOptions options, int64_t max_waiting, double max_seconds)
    : model_(model),
      observed_(model,
                [this](std::span<const int32_t> ids, int64_t at, ForwardTime time) { on_forward(ids, at, time); }),
      engine_(observed_, options),
      tokenizer_(options.tokenizer),
      max_sequences_(options.max_sequences),
      max_in_flight_(options.max_sequences + max_waiting),
      max_seconds_(max_seconds),
      thread_([this](const std::stop_token& s) { loop(s); }) {}

EngineHost::~EngineHost() {
  thread_.request_stop();
  nudge();
}

void EngineHost::nudge() {
  {
    std::lock_guard lock(mutex_);
    woken_ = true;
  }
  work_.notify_all();
}

bool EngineHost::full() const {
  std::lock_guard lock(mutex_);
  return static_cast<int64_t>(in_flight_.size()) >= max_in_flight_;
}

double EngineHost::limit(double seconds) const {
  if (seconds <= 0 || max_seconds_ <= 0) return std::max(seconds, max_seconds_);
  return std::min(seconds, max_seconds_);
}

std::shared_ptr<GenerationStream> EngineHost::submit(infer::Request r, SubmitOptions how) {
  auto answer = std::make_shared<GenerationStream>();
  answer->notifier_ = how.notifier ? std::move(how.notifier) : std::make_shared<Notifier>();
  answer->reports_progress_ = how.progress, answer->streams_ = how.streams, answer->each_token_ = how.each_token;
  std::weak_ptr<GenerationStream> weak = answer;
  r.on_token = [weak](const infer::Emitted& e) {
    const auto a = weak.lock();
    if (!a || !a->live()) return false;
    a->push(e);
    return !a->enough();
  };
  std::list<InFlight> row;  // before the engine knows of it: its first forward finds it in the list
  row.push_back({kComing, weak, limit(how.seconds), Clock::now(),
                 InFlightRequest(std::move(how.id), r.prompt, r.options.max_tokens), r.options.user,
                 std::move(how.on_end), how.think_start});
  const auto mine = row.begin();
  {
    std::lock_guard lock(mutex_);
    in_flight_.splice(in_flight_.end(), row);
  }
  try {
    const infer::Engine::Id id = engine_.submit(std::move(r));
    std::lock_guard lock(mutex_);
    mine->id = id, ++counts_.requests;
  } catch (...) {
    std::lock_guard lock(mutex_);
    in_flight_.erase(mine);
    throw;
  }
  nudge();
  return answer;
}

// Before and after a forward, on the thread that steps.
void EngineHost::on_forward(std::span<const int32_t> ids, int64_t at, ForwardTime time) {
  std::lock_guard lock(mutex_);
  InFlight* whose = nullptr;
  auto best = InFlightRequest::Match::none;
  for (InFlight& l : in_flight_)
    if (const auto match = l.request.match(ids, at); match > best) best = match, whose = &l;
  if (!whose) return;
  if (time == ForwardTime::before) return whose->request.begins(at);
  whose->request.on_forward(at, static_cast<int64_t>(ids.size()));
  if (const auto answer = whose->answer.lock(); answer && answer->reports_progress_)
    answer->read(whose->request.progress());
}

std::vector<InFlightStatus> EngineHost::live(StatusDetail detail) const {
  std::vector<InFlightStatus> out;
  std::unique_lock lock(mutex_);
  for (const InFlight& l : in_flight_) {
    InFlightStatus f{.progress = l.request.progress()};
    if (detail == StatusDetail::tokens) f.prompt = l.request.prompt();
    if (const auto answer = l.answer.lock()) {
      f.progress.given = answer->given_count();
      if (detail == StatusDetail::tokens) f.answer = answer->given();
    }
    out.push_back(std::move(f));
  }
  lock.unlock();
  std::ranges::move(plans_.status(), std::back_inserter(out));
  return out;
}

void EngineHost::deliver(Clock::duration step) {
  std::lock_guard lock(mutex_);
  std::erase_if(in_flight_, [&](InFlight& l) {
    if (l.id == kComing) return false;
    auto answer = l.answer.lock();
    l.late = l.late || ending_ || (l.seconds > 0 && since(l.since) >= l.seconds);
    if (!answer || !answer->live() || l.late) engine_.cancel(l.id);
    auto g = engine_.take(l.id);
    if (!g) {
      if (answer) answer->after_step(step);
      return false;
    }
    if (l.late && g->finish == "cancelled") {
      g->finish = "timeout";
      if (ending_) g->error = "the server is stopping";
    }
    if (answer && answer->enough() && g->finish == "cancelled") g->finish = "stop";
    counts_.add(*g);
    if (l.on_end) l.on_end(*g);
    if (answer) answer->end(std::move(*g));
    return true;
  });
}

void EngineHost::end_all() {
  ending_ = true;
  nudge();
}

void EngineHost::between_steps(const std::function<void(models::Model&, infer::PrefixCache&)>& job) {
  std::future<void> done = jobs_.push([&] { job(model_, engine_.cache()); });
  nudge();
  done.get();
}

EngineHost::ThinkingEnd EngineHost::end_thinking(const std::string& id, const std::string* user) {
  auto how = ThinkingEnd::unknown;
  if (!tokenizer_) return how;
  std::future<void> done = jobs_.push([&] {
    const std::vector<int32_t> close = infer::thinking_close(*tokenizer_);
    std::lock_guard lock(mutex_);
    for (const InFlight& l : in_flight_) {
      const auto answer = l.answer.lock();
      if (!answer || l.id == kComing || l.request.id() != id || (user && l.user != *user)) continue;
      how = std::max(how, ThinkingEnd::none);
      const bool thinks = !reason::read_trace(answer->given(), *tokenizer_, l.think_start).closed;
      if (thinks && engine_.force_next(l.id, close)) how = ThinkingEnd::ended;
    }
  });
  nudge();
  done.get();
  return how;
}

void EngineHost::loop(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    const auto started = Clock::now();
    const bool ran = jobs_.run_next(), stepped = engine_.step(), worked = ran || stepped;
    deliver(Clock::now() - started);
    stepped_.notify_all();
    trim_free_blocks(kTrimSeconds);
    std::unique_lock lock(mutex_);
    if (worked) {
      ++counts_.steps, counts_.busy_seconds += since(started);
      woken_ = false;
      continue;
    }
    // Half a second at most: an Answer that was let go of while its request waits is noticed then.
    work_.wait_for(lock, std::chrono::milliseconds(500), [&] { return woken_; });
    woken_ = false;
  }
  jobs_.clear();
  std::lock_guard lock(mutex_);
  infer::Generated stopped;
  stopped.finish = "cancelled";
  for (const InFlight& l : in_flight_)
    if (auto answer = l.answer.lock()) answer->end(stopped);
}

reason::ThinkResult EngineHost::think(reason::ThinkRequest request, const ThinkWatch& watch) {
  InFlightPlans::Entry entry = plans_.add(watch.id, request.plan.name());
  reason::ThinkRunner thinker(engine_, std::move(request));
  thinker.on_event([&](const reason::ThinkEvent& e) {
    entry.record(e);
    watch.on_event(e);
  });
  for (bool cancelled = false; thinker.advance();) {
    nudge();
    std::unique_lock lock(mutex_);
    stepped_.wait_for(lock, std::chrono::milliseconds(100));
    lock.unlock();
    if (!cancelled && !watch.alive()) thinker.cancel(), cancelled = true;
  }
  const reason::ThinkResult& t = thinker.thought();
  std::lock_guard lock(mutex_);
  ++counts_.requests, counts_.add(t);
  return t;
}

HostCounts EngineHost::counts() const {
  std::lock_guard lock(mutex_);
  HostCounts c = counts_;
  const infer::Engine::Load load = engine_.load();
  c.waiting = load.waiting, c.running = load.running, c.state_bytes = load.state_bytes,
  c.cache_bytes = load.cache_bytes, c.disk_bytes = load.disk_bytes, c.disk_read_tokens = load.disk_read_tokens;
  return c;
}

}  // namespace quern::serve
