#include "quern/capi/running.h"

#include "quern/capi/session.h"

namespace quern::capi {
namespace {

// What a token adds, for whoever asks for the text of a session later.
void keep_text(quern_session& s, ReplyParts* reply, std::string_view text) {
  if (!reply) return static_cast<void>(s.text += text);
  const ReplyParts::Part part = reply->push(text);
  s.text += part.content, s.reasoning += part.reasoning;
}

void submit(quern_session& s, std::shared_ptr<Running> running, infer::GenerateOptions options) {
  infer::Request r{.prompt = running->prompt,
                   .options = std::move(options),
                   .on_token = [&s, running = running.get(), alive = running](const infer::Emitted& e) {
                     if (!running->listening) return false;
                     if (running->on_token) return running->on_token(e);
                     keep_text(s, running->reply.get(), e.text);
                     return true;
                   }};
  s.cancelled = false;
  s.text.clear(), s.reasoning.clear();
  running->id = s.model->engine->submit(std::move(r));
  s.running = std::move(running);
}

void end(quern_session& s, infer::Generated g) {
  const std::shared_ptr<Running> running = std::exchange(s.running, nullptr);
  if (g.finish == "error") fail("{}", g.error);
  s.tokens = running->prompt;
  s.tokens.insert(s.tokens.end(), g.tokens.begin(), g.tokens.end());
  if (ReplyParts* reply = running->reply.get()) {
    if (running->on_token) reply->push(g.text);  // whose listener had the text as it came
    const ReplyParts::Part rest = reply->finish();
    if (!running->on_token) s.text += rest.content, s.reasoning += rest.reasoning;
    s.reply = reply->message();
    s.messages.push(reply->history(g.text));
  }
  s.last = std::move(g);
}

}  // namespace

void drop_running(quern_session& s) noexcept {
  const std::shared_ptr<Running> running = std::exchange(s.running, nullptr);
  if (!running) return;
  running->listening = false;
  try {
    infer::Engine& engine = *s.model->engine;
    engine.cancel(running->id);
    while (!engine.take(running->id)) engine.step();
  } catch (...) {  // of another session's request, which is told so by its own step
  }
}

void start(quern_session& s, const quern_sampling* sampling, Listener on_token) {
  auto running = std::make_shared<Running>();
  running->prompt = s.tokens, running->on_token = std::move(on_token);
  submit(s, std::move(running), options_of(sampling, *s.model, infer::ThinkStart::none));
}

void start_reply(quern_session& s, const quern_sampling* sampling, Listener on_token) {
  auto running = std::make_shared<Running>();
  running->reply = std::make_unique<ReplyParts>(*s.model, s.setup, s.messages);
  running->prompt = running->reply->prompt(), running->on_token = std::move(on_token);
  infer::GenerateOptions options = options_of(sampling, *s.model, running->reply->form_start());
  running->reply->constrain(options);
  submit(s, std::move(running), std::move(options));
}

bool step(quern_session& s) {
  if (!s.running) return false;
  infer::Engine& engine = *s.model->engine;
  const infer::Engine::Id id = s.running->id;
  std::optional<infer::Generated> g = engine.take(id);
  if (!g) {
    if (s.cancelled) engine.cancel(id);
    try {
      engine.step();
    } catch (...) {  // the request may still be in the engine, the listener is not
      s.running->listening = false;
      engine.cancel(id);
      s.running.reset();
      throw;
    }
    g = engine.take(id);
  }
  if (g) end(s, std::move(*g));
  return s.running != nullptr;
}

int64_t finish(quern_session& s) {
  while (step(s)) {
  }
  return static_cast<int64_t>(s.last->tokens.size());
}

}  // namespace quern::capi
