// Hands results over under a lock, and decides when to notify.
#include "quern/serve/host/generation_stream.h"

#include <utility>

namespace quern::serve {
namespace {

// A stream is not woken more often: waking a thread takes a core from the step that is at work, and nobody reads so
// fast.
constexpr auto kTogether = std::chrono::milliseconds(20);
// So many tokens are told one by one: what counts events to see how fast a model is sees the usual ones right. Where
// more wait, they are one piece: each costs an event.
constexpr size_t kSingly = 4;

}  // namespace

void Notifier::notify() {
  {
    std::lock_guard lock(mutex_);
    notified_ = true;
  }
  came_.notify_one();
}

void Notifier::wait(double seconds) {
  std::unique_lock lock(mutex_);
  came_.wait_for(lock, std::chrono::duration<double>(seconds), [&] { return notified_; });
  notified_ = false;
}

void Notifier::close() {
  closed_ = true;
  notify();
}

GenerationStream::Next GenerationStream::next(TextDelta& out) {
  std::lock_guard lock(mutex_);
  if (std::exchange(read_on_, false)) return Next::read;
  if (pieces_.empty()) return done_ ? Next::done : Next::nothing;
  out = std::move(pieces_.front());
  pieces_.pop_front();
  if (each_token_ || pieces_.size() < kSingly) return Next::piece;
  out.token = -1;
  for (const TextDelta& p : pieces_) out.text += p.text;
  pieces_.clear();
  return Next::piece;
}

RequestProgress GenerationStream::progress() {
  std::lock_guard lock(mutex_);
  return progress_;
}

std::vector<int32_t> GenerationStream::given() {
  std::lock_guard lock(mutex_);
  return given_;
}

void GenerationStream::push(const infer::Emitted& e) {
  std::lock_guard lock(mutex_);
  if (e.token >= 0) given_.push_back(e.token);
  pieces_.push_back({e.token, e.logprob, std::string(e.text), {e.top.begin(), e.top.end()}});
  unheard_ = streams_;
}

void GenerationStream::read(const RequestProgress& p) {
  {
    std::lock_guard lock(mutex_);
    progress_ = p, read_on_ = true;
  }
  notifier_->notify();
}

void GenerationStream::end(infer::Generated result) {
  {
    std::lock_guard lock(mutex_);
    result_ = std::move(result), done_ = true;
  }
  notifier_->notify();
}

int64_t GenerationStream::given_count() {
  std::lock_guard lock(mutex_);
  return static_cast<int64_t>(given_.size());
}

void GenerationStream::after_step(std::chrono::steady_clock::duration step) {
  if (!unheard_) return;
  const auto now = std::chrono::steady_clock::now();
  if (now - notified_ + step < kTogether) return;
  unheard_ = false, notified_ = now;
  notifier_->notify();
}

}  // namespace quern::serve
