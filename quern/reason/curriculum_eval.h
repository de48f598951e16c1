// Evaluates a model on held-out synthetic problems, counted by level and kind: the five levels of the curriculum, whose
// answers are checked by the problem's own checker, or any other source of problems with levels.
#pragma once
#include <map>
#include <string>

#include "quern/gym/curriculum_problems.h"
#include "quern/reason/evaluation.h"

namespace quern::reason {

struct CurriculumEvalOptions : EvaluationOptions {
  gym::ProblemOptions problems = {.split = data::Split::held_out};
  int64_t count = 100;  // problems of each level
  template <class V>
  void visit(V& v) {
    v("count", count, "number of problems per level");
    infer::EngineOptions::visit_max_sequences(v, sessions);
  }
};

struct Score {
  int64_t asked = 0, right = 0;
  double candidates_right = 0;  // sum over problems of the share of final candidates that are right
};

struct CurriculumScores : EvaluationCost {
  Score all;
  std::map<int, Score> by_level;  // difficulty + 1
  std::map<std::string, Score> by_kind;
};

// Each level's problems in order. Throws Error for options that cannot be.
std::unique_ptr<ProblemSource> curriculum_problems(const CurriculumEvalOptions& o);

// Counts what a source's problems come to; on_answer is called once a problem, in the order they are finished.
CurriculumScores evaluate_levels(const EvaluatedModel& m, const EvaluationOptions& o, ProblemSource& problems,
                                 const AnswerEvent& on_answer = {});

CurriculumScores evaluate_curriculum(models::Model& model, const text::Tokenizer& tokenizer,
                                     const text::ChatTemplate& chat_template, const CurriculumEvalOptions& options,
                                     const AnswerEvent& on_answer = {});

}  // namespace quern::reason
