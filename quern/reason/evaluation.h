// The evaluation loop: problems of a source run through the engine, many at once, each with the same test-time compute
// plan, and the source judges the replies. A source is the curriculum's levels (curriculum_eval.h), environments of the
// gym by difficulty (gym_eval.h), or anything else that gives problems:
//
//   class FileProblems : public ProblemSource {
//     std::optional<EvalProblem> next() override;                                     // one line of the file
//     gym::Verdict judge(const gym::Problem& p, std::string_view reply) const override;
//   };
#pragma once
#include <functional>
#include <optional>
#include <string_view>

#include "quern/gym/environment.h"
#include "quern/reason/think.h"

namespace quern::reason {

struct EvaluationOptions {
  bool plain = false;  // "Question: …" continued, for models that were not trained on chats
  ThinkPlan plan;      // its seed and that of `generate` are sums with the problem's
  infer::GenerateOptions generate;
  int64_t sessions = 64;  // of the engine: how many sequences are in work at once
  template <class V>
  void visit(V& v) {
    infer::EngineOptions::visit_max_sequences(v, sessions);
  }
};

struct EvalProblem {
  gym::Problem problem;
  uint64_t sampling_seed = 0;  // added to the seeds of the options
  uint64_t seed = 0;           // what the source made the problem of, for its log
  int64_t index = 0, sample = 0;
};

struct GradedAnswer {
  const gym::Problem& problem;
  const ThinkResult& result;
  bool right;  // the verdict's reward is 1
  const EvalProblem& asked;
  const gym::Verdict& verdict;
  double candidates_right;  // share of the last round's candidates
};
using AnswerEvent = std::function<void(const GradedAnswer&)>;

class ProblemSource {
 public:
  virtual ~ProblemSource() = default;
  virtual std::optional<EvalProblem> next() = 0;  // none: at the end, or until a running problem is answered
  virtual gym::Verdict judge(const gym::Problem& p, std::string_view reply) const = 0;
  // The verdict on a question that the engine does not take, such as one longer than the model's context. Here: an Error.
  virtual gym::Verdict refused(const EvalProblem& asked, const std::string& why);
  virtual void answered(const GradedAnswer&) {}  // once a problem, in the order they are finished
};

struct EvaluationCost {
  int64_t asked = 0, new_tokens = 0, prompt_tokens = 0;
  int64_t unfinished = 0;  // no answer before the budget ended
  int64_t refused = 0;     // the engine did not take the question
  double seconds = 0;
};

struct EvaluatedModel {
  models::Model& model;
  const text::Tokenizer& tokenizer;
  const text::ChatTemplate& chat_template;
};

EvaluationCost evaluate(const EvaluatedModel& m, const EvaluationOptions& o, ProblemSource& source);

}  // namespace quern::reason
