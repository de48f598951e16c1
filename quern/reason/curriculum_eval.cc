#include "quern/reason/curriculum_eval.h"

#include "quern/base/error.h"

namespace quern::reason {
namespace {

class CurriculumProblems : public ProblemSource {
 public:
  explicit CurriculumProblems(const CurriculumEvalOptions& o) : o_(o.problems), count_(o.count) {
    gym::check(o_);
    if (count_ < 1) fail("{} problems per level: expected 1 or more", count_);
  }

  std::optional<EvalProblem> next() override {
    gym::ProblemOptions one = o_;
    one.min_level = one.max_level = o_.min_level + static_cast<int>(next_ / count_);
    if (one.max_level > o_.max_level) return {};
    const int64_t index = next_ % count_;
    return EvalProblem{.problem = gym::curriculum_problem(one, static_cast<uint64_t>(index)),
                       .sampling_seed = static_cast<uint64_t>(next_++),
                       .index = index};
  }

  gym::Verdict judge(const gym::Problem& p, std::string_view reply) const override {
    if (gym::answers(reply, p)) return {1, "the answer is right"};
    return {0, fmt::format("expected '{}'", p.answer)};
  }

 private:
  gym::ProblemOptions o_;
  int64_t count_, next_ = 0;
};

void count(Score& s, const GradedAnswer& a) {
  ++s.asked, s.right += a.right, s.candidates_right += a.candidates_right;
}

// A source whose answers are counted.
class CountedProblems : public ProblemSource {
 public:
  CountedProblems(ProblemSource& of, CurriculumScores& scores, const AnswerEvent& on_answer)
      : of_(of), scores_(scores), on_answer_(on_answer) {}
  std::optional<EvalProblem> next() override { return of_.next(); }
  gym::Verdict judge(const gym::Problem& p, std::string_view reply) const override { return of_.judge(p, reply); }
  void answered(const GradedAnswer& a) override {
    count(scores_.all, a);
    count(scores_.by_level[static_cast<int>(a.problem.difficulty) + 1], a);
    count(scores_.by_kind[a.problem.kind], a);
    of_.answered(a);
    if (on_answer_) on_answer_(a);
  }

 private:
  ProblemSource& of_;
  CurriculumScores& scores_;
  const AnswerEvent& on_answer_;
};

}  // namespace

std::unique_ptr<ProblemSource> curriculum_problems(const CurriculumEvalOptions& o) {
  return std::make_unique<CurriculumProblems>(o);
}

CurriculumScores evaluate_levels(const EvaluatedModel& m, const EvaluationOptions& o, ProblemSource& problems,
                                 const AnswerEvent& on_answer) {
  CurriculumScores scores;
  CountedProblems counted(problems, scores, on_answer);
  static_cast<EvaluationCost&>(scores) = evaluate(m, o, counted);
  return scores;
}

CurriculumScores evaluate_curriculum(models::Model& model, const text::Tokenizer& tokenizer,
                                     const text::ChatTemplate& chat_template, const CurriculumEvalOptions& o,
                                     const AnswerEvent& on_answer) {
  const std::unique_ptr<ProblemSource> problems = curriculum_problems(o);
  return evaluate_levels({model, tokenizer, chat_template}, o, *problems, on_answer);
}

}  // namespace quern::reason
