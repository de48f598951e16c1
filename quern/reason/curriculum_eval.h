// Evaluates a model on held-out synthetic problems: answers are checked by the problem's own checker and counted by
// level and kind. Every problem uses the same test-time compute plan; many run at once.
#pragma once
#include <functional>
#include <map>
#include <string>

#include "quern/gym/curriculum_problems.h"
#include "quern/reason/think.h"

namespace quern::reason {

struct CurriculumEvalOptions {
  gym::ProblemOptions problems = {.split = data::Split::held_out};
  int64_t count = 100;  // problems of each level
  bool plain = false;   // "Question: …" continued, for models that were not trained on chats
  ThinkPlan plan;       // its seed is the first problem's; each problem has its own
  infer::GenerateOptions generate;
  int64_t sessions = 64;  // of the engine: how many sequences are in work at once
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

struct CurriculumScores {
  Score all;
  std::map<int, Score> by_level;
  std::map<std::string, Score> by_kind;
  int64_t new_tokens = 0, prompt_tokens = 0, unfinished = 0;  // unfinished: no answer before the budget ended
  double seconds = 0;
};

struct GradedAnswer {
  const gym::Problem& problem;
  const ThinkResult& result;
  bool right;
};
using AnswerEvent = std::function<void(const GradedAnswer&)>;

// on_answer is called once a problem, in the order they are finished.
CurriculumScores evaluate_curriculum(models::Model& model, const text::Tokenizer& tokenizer,
                                     const text::ChatTemplate& chat_template, const CurriculumEvalOptions& options,
                                     const AnswerEvent& on_answer = {});

}  // namespace quern::reason
