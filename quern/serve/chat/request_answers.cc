// Takes what has arrived, writes it at once, and waits for more.
#include "quern/serve/chat/request_answers.h"

#include <algorithm>
#include <optional>

#include "quern/serve/wire/api_error.h"
#include "quern/serve/wire/wire.h"

namespace quern {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

RequestAnswers::RequestAnswers(EngineHost& host, Exchange& e, std::chrono::milliseconds keep_alive)
    : host_(host), exchange_(e), keep_alive_(keep_alive), bell_(std::make_shared<AnswerBell>()) {
  e.when_gone([bell = bell_] { bell->hang_up(); });
}

RequestAnswers::~RequestAnswers() {
  exchange_.when_gone({});
  bell_->hang_up();
}

std::shared_ptr<Answer> RequestAnswers::add(Request r, Submission how) {
  how.bell = bell_, how.id = exchange_.id;
  return answers_.emplace_back(host_.submit(std::move(r), std::move(how)));
}

bool RequestAnswers::follow(EventStream* stream, const Told& told) {
  std::vector<bool> done(answers_.size());
  size_t left = answers_.size();
  auto heard = Clock::now();
  const auto take = [&](size_t i) {
    for (AnswerPiece piece;;) {
      const Answer::Next what = answers_[i]->next(piece);
      if (what == Answer::Next::nothing) return;
      heard = Clock::now();
      if (what == Answer::Next::piece && told.piece) told.piece(i, piece);
      if (what == Answer::Next::read && told.read) told.read(i);
      if (what != Answer::Next::done) continue;
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
      bell_->hang_up();
      return false;
    }
    bell_->wait(std::chrono::duration<double>(heard + keep_alive_ - Clock::now()).count());
    ++waits_;
  }
}

// None was cancelled: by a client that is gone, or by a host that stops.
bool RequestAnswers::whole() const {
  if (std::ranges::none_of(answers_, [](const auto& a) { return a->result().finish == "cancelled"; })) return true;
  if (exchange_.gone()) return false;
  throw ApiError(503, "server_error", "", "the model is put away before the answer is whole; try again");
}

}  // namespace quern
