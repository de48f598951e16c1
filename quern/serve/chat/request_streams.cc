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

void apply_caller(const Caller& caller, size_t prompt, infer::GenerateOptions& options) {
  options.user = caller.user;
  options.priority = std::max(options.priority, caller.lowest_priority);
  if (caller.max_tokens > 0) options.max_tokens = std::min(options.max_tokens, caller.max_tokens);
  if (caller.max_context <= 0) return;
  const auto used = static_cast<int64_t>(prompt);
  if (used >= caller.max_context)
    throw ApiError(
        400, "invalid_request_error", "context_length_exceeded",
        fmt::format("the context of this API key is {} tokens; the prompt has {}", caller.max_context, used));
  options.max_tokens = std::min(options.max_tokens, caller.max_context - used);
}

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
  const Caller& caller = exchange_.caller;
  apply_caller(caller, r.prompt.size(), r.options);
  if (r.prompt != counted_prompt_) {
    exchange_.facts.input_tokens += static_cast<int64_t>(r.prompt.size());
    caller.spend(static_cast<int64_t>(r.prompt.size()), 0);
    counted_prompt_ = r.prompt;
  }
  if (caller.on_spent)
    how.on_end = [caller](const infer::Generated& g) { caller.spend(0, static_cast<int64_t>(g.tokens.size())); };
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
      note(answers_[i]->result());
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

void RequestStreams::note(const infer::Generated& g) {
  RequestFacts& f = exchange_.facts;
  f.finish_reasons.push_back(g.finish);
  f.cached_tokens = std::max(f.cached_tokens, g.cached_tokens);
  if (f.keep_output) f.outputs.push_back(g.text);
  if (g.tokens.empty()) return;
  const auto tokens = static_cast<int64_t>(g.tokens.size());
  const double first = std::chrono::duration<double>(Clock::now() - began_).count() - g.decode_seconds;
  if (f.first_token_seconds < 0 || first < f.first_token_seconds) f.first_token_seconds = std::max(first, 0.0);
  f.output_tokens += tokens, f.decoded_tokens += tokens - 1, f.decode_seconds += g.decode_seconds;
}

// None was cancelled: by a client that is gone, or by a host that stops.
bool RequestStreams::whole() const {
  if (std::ranges::none_of(answers_, [](const auto& a) { return a->result().finish == "cancelled"; })) return true;
  if (exchange_.gone()) return false;
  throw ApiError(503, "server_error", "", "the model was unloaded before the answer was complete; try again");
}

}  // namespace quern::serve
