// Runs problems through the engine, a window of them at a time.
#include "quern/reason/curriculum_eval.h"

#include <algorithm>
#include <list>

#include "quern/base/error.h"
#include "quern/base/stopwatch.h"

namespace quern::reason {
namespace {

struct InWork {
  gym::Problem problem;
  std::unique_ptr<ThinkRunner> thinker = {};
};

Json asked(const std::string& question) {
  Json m = Json::object(), list = Json::array();
  m.set("role", "user"), m.set("content", question);
  list.push(std::move(m));
  return list;
}

// The plain form as a template: the model goes on behind the question, and a new question is where it stops.
const text::ChatTemplate& plain_template() {
  static const text::ChatTemplate t =
      text::ChatTemplate::parse("{{ bos_token }}Question: {{ messages[-1].content }}\n");
  return t;
}

void count(Score& s, bool right, double share) { ++s.asked, s.right += right, s.candidates_right += share; }

}  // namespace

CurriculumScores evaluate_curriculum(models::Model& model, const text::Tokenizer& tokenizer,
                                     const text::ChatTemplate& chat_template, const CurriculumEvalOptions& o,
                                     const AnswerEvent& on_answer) {
  gym::check(o.problems);
  if (o.count < 1) fail("{} problems per level: expected 1 or more", o.count);
  const Stopwatch watch;
  infer::Engine engine(model, {.max_sequences = o.sessions, .cache_bytes = 0, .tokenizer = &tokenizer});
  infer::GenerateOptions generate = o.generate;
  if (o.plain) generate.stop.push_back("\nQuestion:");
  const int64_t levels = o.problems.max_level - o.problems.min_level + 1, all = levels * o.count;
  const size_t window = static_cast<size_t>(std::max<int64_t>(2, 2 * o.sessions / o.plan.n));
  CurriculumScores scores;
  std::list<InWork> work;
  for (int64_t next = 0; next < all || !work.empty();) {
    for (; next < all && work.size() < window; ++next) {
      gym::ProblemOptions one = o.problems;
      one.min_level = one.max_level = o.problems.min_level + static_cast<int>(next / o.count);
      ThinkPlan plan = o.plan;
      plan.seed += static_cast<uint64_t>(next);
      generate.sampling.seed = o.generate.sampling.seed + static_cast<uint64_t>(next);
      InWork w{.problem = gym::curriculum_problem(one, static_cast<uint64_t>(next % o.count))};
      w.thinker = std::make_unique<ThinkRunner>(
          engine, ThinkRequest{.tokenizer = tokenizer,
                               .chat_template = o.plain ? plain_template() : chat_template,
                               .messages = asked(w.problem.question),
                               .plan = plan,
                               .options = generate});
      work.push_back(std::move(w));
    }
    for (auto it = work.begin(); it != work.end();) {
      if (it->thinker->advance()) {
        ++it;
        continue;
      }
      const ThinkResult& t = it->thinker->thought();
      const Candidate* best = t.best();
      const bool right = best && gym::answers(best->text, it->problem);
      int64_t finals = 0, finals_right = 0;
      for (const Candidate& c : t.candidates) {
        if (c.finish == "error") fail("a problem could not be answered: {}", c.error);
        if (c.round < o.plan.t) continue;
        ++finals, finals_right += gym::answers(c.text, it->problem);
      }
      const double share = static_cast<double>(finals_right) / static_cast<double>(finals);
      count(scores.all, right, share);
      count(scores.by_level[it->problem.level], right, share);
      count(scores.by_kind[it->problem.kind], right, share);
      scores.new_tokens += t.new_tokens, scores.prompt_tokens += t.prompt_tokens;
      scores.unfinished += !best || best->answer.empty();
      if (on_answer) on_answer({it->problem, t, right});
      it = work.erase(it);
    }
    if (!work.empty()) engine.step();
  }
  scores.seconds = watch.seconds();
  return scores;
}

}  // namespace quern::reason
