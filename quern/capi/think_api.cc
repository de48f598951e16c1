// Test-time compute on a chat: quern_chat_think of quern.h.
#include "quern/capi/chat_setup.h"
#include "quern/capi/session.h"
#include "quern/reason/think.h"

namespace quern::capi {
namespace {

reason::ThinkResult think(quern_session& s, const ReplyParts& reply, std::string_view plan,
                          infer::GenerateOptions options) {
  quern_model& m = *s.model;
  if (options.constraint) fail("think: a plan cannot be combined with a constraint on the reply");
  reason::ThinkRunner runner(*m.engine, {.tokenizer = m.tokenizer,
                                         .chat_template = m.chat_template,
                                         .messages = reply.messages(),
                                         .plan = reason::parse_plan(std::string(plan)),
                                         .options = std::move(options)});
  s.cancelled = false;
  s.text.clear(), s.reasoning.clear();
  try {
    for (bool told = false; runner.advance(); m.engine->step())
      if (s.cancelled && !told) runner.cancel(), told = true;
  } catch (...) {  // other sessions must not go on computing its candidates
    runner.cancel();
    throw;
  }
  return runner.thought();
}

int64_t reply_by_thinking(quern_session& s, std::string_view plan, const quern_sampling* sampling,
                          double* agreement) {
  ReplyParts reply(*s.model, s.setup, s.messages);
  if (reply.may_call()) fail("think: a plan cannot be combined with tools");
  infer::GenerateOptions options = options_of(sampling, *s.model, reply.form_start());
  reply.constrain(options);
  const reason::ThinkResult t = think(s, reply, plan, std::move(options));
  for (const reason::Candidate& c : t.candidates)
    if (c.finish == "error") fail("{}", c.error);
  const reason::Candidate* best = t.best();
  if (!best && s.cancelled) fail("think: cancelled before a candidate finished");
  if (!best) fail("think: no candidate finished: raise max_tokens, or the plan's beta");
  reply.push(best->text), reply.finish();
  s.reply = reply.message();
  s.messages.push(reply.history(best->text));
  s.tokens = best->prompt;
  s.tokens.insert(s.tokens.end(), best->tokens.begin(), best->tokens.end());
  infer::Generated g;
  g.tokens = best->tokens, g.text = best->text, g.finish = best->finish;
  g.prompt_tokens = t.prompt_tokens, g.cached_tokens = t.cached_tokens;
  g.prompt_seconds = t.prompt_seconds, g.decode_seconds = t.decode_seconds;
  s.last = std::move(g);
  if (agreement) *agreement = t.agreement;
  return t.new_tokens;
}

}  // namespace
}  // namespace quern::capi

using namespace quern::capi;

extern "C" {

int64_t quern_chat_think(quern_session* session, const char* plan, const quern_sampling* sampling,
                         double* agreement) {
  return guarded(int64_t{-1}, [&] {
    quern_session& s = idle(session);
    return reply_by_thinking(s, required(plan, "plan"), sampling, agreement);
  });
}

}  // extern "C"
