// Aggregation examples from a model's own sampled solutions (rollouts): it solves synthetic problems, and the ends of
// a few of its solutions, as a round of Markovian RSA would carry them, form the prompt, with the correct solution as
// the answer. Planted errors (quern/reason/attempts.h) look wrong line by line; these are errors the model really makes.
// If most solutions are correct, majority voting is enough. In a contested group it is not: a correct solution exists,
// but no more solutions agree with it than with another answer, so only verification helps. A solution is correct if
// it ends like the reference solution; if only the answer is wrong, the reader cannot see that.
#pragma once
#include <functional>
#include <string>

#include "quern/reason/curriculum_eval.h"

namespace quern::reason {

struct OwnAttemptOptions {
  CurriculumEvalOptions eval;  // problems, sampling, plan: the last round's candidates are the attempts
  int64_t shown = 4;           // attempts of one example; a problem with more candidates gives several examples
  // Chances that a group whose attempts are all right, or all wrong, is kept. Too few of the first, and the model
  // learns to mistrust what everybody says; the second teach it to look away from the attempts.
  double unanimous = 1, hopeless = 1;
  int64_t contested = 0;  // most contested groups drawn from all attempts of a problem, beside the others
  double cut_short = 0;   // chance that what is learned of a search stops short of a solution that no attempt shows
  bool verdicts = false;  // what is learned begins with what each attempt is: "1 right, 2 wrong, 3 wrong, 4 right."
};
void check(const OwnAttemptOptions& o);  // throws Error naming the field

struct OwnAttemptReport {
  int64_t problems = 0, attempts = 0, right = 0;
  int64_t all_right = 0, mixed = 0, none_right = 0;  // groups
  int64_t examples = 0, contested = 0;               // contested: those that were drawn as such
  double seconds = 0;
};

struct OwnExample {
  std::string line;  // of chat JSONL (chat_line)
  bool contested = false;
};

// on_example gets each example; report is up to date then.
OwnAttemptReport own_attempts(models::Model& model, const text::Tokenizer& tokenizer,
                              const text::ChatTemplate& chat_template, const OwnAttemptOptions& options,
                              const std::function<void(const OwnExample&, const OwnAttemptReport&)>& on_example);

}  // namespace quern::reason
