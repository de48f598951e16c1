// Takes what has arrived, writes it at once, and waits for more.
#include "quern/serve/chat/request_streams.h"

#include <algorithm>
#include <optional>

#include "quern/serve/wire/api_error.h"
#include "quern/serve/wire/wire.h"

namespace quern::serve {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

RequestStreams::RequestStreams(EngineHost& host, Exchange& e, std::chrono::milliseconds keep_alive)
    : host_(host), exchange_(e), keep_alive_(keep_alive), notifier_(std::make_shared<Notifier>()) {
  e.when_gone([notifier = notifier_] { notifier->close(); });
}

RequestStreams::~RequestStreams() {
  exchange_.when_gone({});
  notifier_->close();
}

std::shared_ptr<GenerationStream> RequestStreams::add(infer::Request r, SubmitOptions how) {
  how.notifier = notifier_, how.id = exchange_.id;
  return answers_.emplace_back(host_.submit(std::move(r), std::move(how)));
}

bool RequestStreams::follow(EventStream* stream, const StreamCallbacks& told) {
  std::vector<bool> done(answers_.size());
  size_t left = answers_.size();
  auto heard = Clock::now();
  const auto take = [&](size_t i) {
    for (TextDelta piece;;) {
      const GenerationStream::Next what = answers_[i]->next(piece);
      if (what == GenerationStream::Next::nothing) return;
      heard = Clock::now();
      if (what == GenerationStream::Next::piece && told.piece) told.piece(i, piece);
      if (what == GenerationStream::Next::read && told.read) told.read(i);
      if (what != GenerationStream::Next::done) continue;
      done[i] = true, --left;
      if (told.done) told.done(i);
      return;
    }
  };
  std::optional<EventStream::Together> together;
  if (stream) together.emplace(*stream);
  for (;;) {
    for (size_t i = 0; i < answers_.size(); ++i)
      if (!done[i]) take(i);
    if (stream) stream->flush();
    if (left == 0) return whole();
    if (Clock::now() - heard >= keep_alive_) {
      if (stream) stream->keep_alive(), stream->flush();
      heard = Clock::now();
    }
    if (exchange_.gone()) {
      notifier_->close();
      return false;
    }
    notifier_->wait(std::chrono::duration<double>(heard + keep_alive_ - Clock::now()).count());
    ++waits_;
  }
}

// None was cancelled: by a client that is gone, or by a host that stops.
bool RequestStreams::whole() const {
  if (std::ranges::none_of(answers_, [](const auto& a) { return a->result().finish == "cancelled"; })) return true;
  if (exchange_.gone()) return false;
  throw ApiError(503, "server_error", "", "the model was unloaded before the answer was complete; try again");
}

}  // namespace quern::serve
