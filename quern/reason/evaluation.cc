// Runs problems through the engine, a window of them at a time.
#include "quern/reason/evaluation.h"

#include <algorithm>
#include <list>

#include "quern/base/error.h"
#include "quern/base/stopwatch.h"
#include "quern/text/chat/message.h"

namespace quern::reason {
namespace {

struct InWork {
  EvalProblem asked;
  std::unique_ptr<ThinkRunner> thinker = {};
  std::string refused = {};  // why the engine does not take the question
};

bool advance(InWork& w) {
  try {
    return w.thinker->advance();
  } catch (const Error& e) {
    if (w.thinker->thought().new_tokens > 0) throw;
    w.refused = e.what();
    return false;
  }
}

// The plain form as a template: the model goes on behind the question, and a new question is where it stops.
const text::ChatTemplate& plain_template() {
  static const text::ChatTemplate t =
      text::ChatTemplate::parse("{{ bos_token }}Question: {{ messages[-1].content }}\n");
  return t;
}

// Judges what a problem's candidates came to, each once, and tells the source.
void grade(const InWork& w, int64_t last_round, ProblemSource& source) {
  const ThinkResult& t = w.thinker->thought();
  gym::Verdict verdict{0, "no reply"};
  int64_t finals = 0, finals_right = 0;
  if (!w.refused.empty()) verdict = source.refused(w.asked, w.refused);
  for (size_t i = 0; i < t.candidates.size() && w.refused.empty(); ++i) {
    const Candidate& c = t.candidates[i];
    if (c.finish == "error") fail("a problem could not be answered: {}", c.error);
    const bool chosen = t.chosen == static_cast<int64_t>(i);
    if (c.round < last_round && !chosen) continue;
    gym::Verdict v = source.judge(w.asked.problem, c.text);
    if (c.round >= last_round) ++finals, finals_right += v.reward == 1;
    if (chosen) verdict = std::move(v);
  }
  source.answered({w.asked.problem, t, verdict.reward == 1, w.asked, verdict,
                   finals > 0 ? static_cast<double>(finals_right) / static_cast<double>(finals) : 0});
}

void count(EvaluationCost& cost, const InWork& w) {
  const ThinkResult& t = w.thinker->thought();
  ++cost.asked, cost.refused += !w.refused.empty();
  cost.new_tokens += t.new_tokens, cost.prompt_tokens += t.prompt_tokens;
  cost.unfinished += !t.best() || t.best()->answer.empty();
}

}  // namespace

gym::Verdict ProblemSource::refused(const EvalProblem& asked, const std::string& why) {
  fail("a problem of {} could not be asked: {}", asked.problem.kind, why);
}

EvaluationCost evaluate(const EvaluatedModel& m, const EvaluationOptions& o, ProblemSource& source) {
  const Stopwatch watch;
  infer::Engine engine(m.model, {.max_sequences = o.sessions, .cache_bytes = 0, .tokenizer = &m.tokenizer});
  infer::GenerateOptions generate = o.generate;
  if (o.plain) generate.stop.push_back("\nQuestion:");
  const size_t window = static_cast<size_t>(std::max<int64_t>(2, 2 * o.sessions / o.plan.n));
  EvaluationCost cost;
  std::list<InWork> work;
  for (;;) {
    while (work.size() < window) {
      std::optional<EvalProblem> asked = source.next();
      if (!asked) break;
      ThinkPlan plan = o.plan;
      plan.seed += asked->sampling_seed;
      generate.sampling.seed = o.generate.sampling.seed + asked->sampling_seed;
      InWork w{.asked = std::move(*asked)};
      w.thinker = std::make_unique<ThinkRunner>(
          engine, ThinkRequest{.tokenizer = m.tokenizer,
                               .chat_template = o.plain ? plain_template() : m.chat_template,
                               .messages = text::user_message(w.asked.problem.question),
                               .plan = plan,
                               .options = generate});
      work.push_back(std::move(w));
    }
    if (work.empty()) break;
    for (auto it = work.begin(); it != work.end();) {
      if (advance(*it)) {
        ++it;
        continue;
      }
      count(cost, *it);
      grade(*it, o.plan.t, source);
      it = work.erase(it);
    }
    if (!work.empty()) engine.step();
  }
  cost.seconds = watch.seconds();
  return cost;
}

}  // namespace quern::reason
