// Groups of a thought's candidates as aggregation examples.
#include "quern/reason/own_attempts.h"

#include "quern/base/error.h"
#include "quern/base/rng.h"
#include "quern/text/aggregation_prompt.h"

namespace quern {

void check(const OwnAttemptOptions& o) {
  check(o.eval.problems);
  if (o.shown < 1 || o.shown > 16) fail("{} attempts in an example, expected 1 to 16", o.shown);
  if (o.eval.plan.n < o.shown)
    fail("{} candidates a problem do not fill an example of {} attempts", o.eval.plan.n, o.shown);
  for (const double share : {o.unanimous, o.hopeless})
    if (!(share >= 0 && share <= 1)) fail("a share of {} of the groups is kept, expected 0 to 1", share);
}

OwnAttemptReport own_attempts(Model& model, const Tokenizer& tokenizer, const ChatTemplate& chat_template,
                              const OwnAttemptOptions& o,
                              const std::function<void(const std::string&, const OwnAttemptReport&)>& on_line) {
  check(o);
  OwnAttemptReport report;
  Rng r(mix64(o.eval.problems.seed) ^ 0x0a77e3u, 0);
  auto on_answer = [&](const Problem& p, const Thought& t, bool) {
    ++report.problems;
    const std::vector<std::string> pieces = aggregation_pieces(p.question, static_cast<int>(o.shown));
    const int64_t last = static_cast<int64_t>(t.candidates.size()) - o.eval.plan.n;
    for (int64_t group = 0; (group + 1) * o.shown <= o.eval.plan.n; ++group) {
      std::string prompt = pieces[0];
      int64_t right = 0;
      for (int64_t i = 0; i < o.shown; ++i) {
        const Candidate& c = t.candidates[static_cast<size_t>(last + group * o.shown + i)];
        right += answers(c.text, p);
        prompt += tokenizer.decode(c.carried, true) + pieces[static_cast<size_t>(i) + 1];
      }
      report.attempts += o.shown, report.right += right;
      ++(right == o.shown ? report.all_right : right > 0 ? report.mixed : report.none_right);
      const double keep = right == o.shown ? o.unanimous : right == 0 ? o.hopeless : 1;
      if (r.uniform() >= keep) continue;
      ++report.examples;
      on_line(chat_line(p, prompt), report);
    }
  };
  report.seconds = evaluate_curriculum(model, tokenizer, chat_template, o.eval, on_answer).seconds;
  return report;
}

}  // namespace quern
