// Examples of aggregation out of a model's own mouth: it attempts problems of the curriculum, and the ends of a few
// of its attempts, as a round of Markovian RSA would carry them, are laid before it with the right working as the
// answer. Planted errors (quern/data/attempts.h) look wrong line by line; these are the ones the model really makes.
// Where most attempts are sound, counting them is enough. Contested groups are those in which it is not: a sound
// attempt is there, but no more say what it says than say something else. They can only be solved by judging.
// Sound is what ends as the right working does; where all is well but the answer, the reader cannot see that.
#pragma once
#include <functional>
#include <string>

#include "quern/reason/curriculum_eval.h"

namespace quern {

struct OwnAttemptOptions {
  CurriculumEvalOptions eval;  // problems, sampling, plan: the last round's candidates are the attempts
  int64_t shown = 4;           // attempts of one example; a problem with more candidates gives several examples
  // Chances that a group whose attempts are all right, or all wrong, is kept. Too few of the first, and the model
  // learns to mistrust what everybody says; the second teach it to look away from the attempts.
  double unanimous = 1, hopeless = 1;
  int64_t contested = 0;  // most contested groups drawn from all attempts of a problem, beside the others
  double cut_short = 0;   // chance that what is learnt of a search stops short of a solution that no attempt shows
  bool verdicts = false;  // what is learnt begins with what each attempt is: "1 right, 2 wrong, 3 wrong, 4 right."
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
OwnAttemptReport own_attempts(Model& model, const Tokenizer& tokenizer, const ChatTemplate& chat_template,
                              const OwnAttemptOptions& options,
                              const std::function<void(const OwnExample&, const OwnAttemptReport&)>& on_example);

}  // namespace quern
