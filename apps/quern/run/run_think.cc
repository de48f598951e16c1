#include "apps/quern/run/run_think.h"

#include <unistd.h>

#include "apps/quern/cli/interrupt.h"
#include "quern/base/error.h"

namespace quern::cli {
namespace {

Json message(const char* role, const std::string& content) {
  Json m = Json::object();
  m.set("role", role), m.set("content", content);
  return m;
}

Json candidate_json(const reason::Candidate& c) {
  Json j = Json::object(), sources = Json::array();
  for (int64_t s : c.sources) sources.push(s);
  j.set("round", c.round), j.set("index", c.index), j.set("sources", std::move(sources));
  j.set("prompt_tokens", static_cast<int64_t>(c.prompt.size())),
      j.set("tokens", static_cast<int64_t>(c.tokens.size()));
  j.set("text", c.text), j.set("answer", c.answer), j.set("mean_logprob", c.mean_logprob);
  j.set("closed_by_force", c.closed_by_force), j.set("finish", c.finish);
  return j;
}

Json thought_json(const reason::ThinkResult& t, const reason::ThinkPlan& plan) {
  Json j = Json::object(), all = Json::array();
  const reason::Candidate* best = t.best();
  j.set("text", best ? best->text : std::string()), j.set("answer", best ? best->answer : std::string());
  j.set("plan", plan.name()), j.set("seed", static_cast<int64_t>(plan.seed)), j.set("agreement", t.agreement);
  j.set("new_tokens", t.new_tokens), j.set("prompt_tokens", t.prompt_tokens);
  j.set("longest_prompt", t.longest_prompt), j.set("chosen", t.chosen);
  for (const reason::Candidate& c : t.candidates) all.push(candidate_json(c));
  j.set("candidates", std::move(all));
  return j;
}

}  // namespace

int answer_by_thinking(models::Model& model, const text::ChatTemplate& chat_template, const ThinkingRun& run) {
  Json messages = Json::array();
  if (!run.system.empty()) messages.push(message("system", run.system));
  messages.push(message("user", run.question));
  Interrupt interrupt;
  infer::EngineOptions options = run.engine;
  options.max_sequences = std::min<int64_t>(64, run.plan.n);
  infer::Engine engine(model, options);
  reason::ThinkRunner thinker(engine, {.tokenizer = *options.tokenizer,
                                       .chat_template = chat_template,
                                       .messages = std::move(messages),
                                       .plan = run.plan,
                                       .options = run.options});
  const bool live = isatty(STDERR_FILENO) != 0;
  thinker.on_event([&](const reason::ThinkEvent& e) {
    if (run.json) return;
    const reason::Candidate& c = e.candidate;
    fmt::print(stderr, "{}round {} of {}, candidate {}: {}  [{} of {} done, {} tokens, agreement {:.0f} %]{}",
               live ? "\r\x1b[K" : "", c.round, run.plan.t, c.index, c.answer.empty() ? "no answer found" : c.answer,
               e.done, e.all, e.new_tokens, 100 * e.agreement, live ? "" : "\n");
    std::fflush(stderr);
  });
  for (bool told = false; thinker.advance(); engine.step())
    if (interrupt.raised() && !told) thinker.cancel(), told = true;
  if (live && !run.json) fmt::print(stderr, "\n");
  const reason::ThinkResult& t = thinker.thought();
  for (const reason::Candidate& c : t.candidates)
    if (c.finish == "error") fail("{}", c.error);
  if (run.json) {
    fmt::print("{}\n", thought_json(t, run.plan).dump());
    return t.best() ? 0 : 1;
  }
  if (!t.best()) fail("--think: no candidate finished: raise --max-tokens, or the plan's beta");
  fmt::print("{}\n", t.best()->text);
  return 0;
}

}  // namespace quern::cli
