// Examples of aggregation out of a model's own mouth: it attempts problems of the curriculum, and the ends of a few
// of its attempts, as a round of Markovian RSA would carry them, are laid before it with the right working as the
// answer. Planted errors (quern/data/attempts.h) look wrong line by line; these are the ones the model really makes.
#pragma once
#include <functional>
#include <string>

#include "quern/reason/curriculum_eval.h"

namespace quern {

struct OwnAttemptOptions {
  CurriculumEvalOptions eval;  // problems, sampling, plan: the last round's candidates are the attempts
  int64_t shown = 4;           // attempts of one example; a problem with more candidates gives several examples
  // Chances that a group whose attempts are all right, or all wrong, is kept. Too few of the first, and the model learns
  // to mistrust what everybody says; the second teach it to look away from the attempts.
  double unanimous = 1, hopeless = 1;
};
void check(const OwnAttemptOptions& o);  // throws Error naming the field

struct OwnAttemptReport {
  int64_t problems = 0, attempts = 0, right = 0;
  int64_t all_right = 0, mixed = 0, none_right = 0;  // groups
  int64_t examples = 0;
  double seconds = 0;
};

// on_line gets each example as a line of chat JSONL (chat_line); report is up to date then.
OwnAttemptReport own_attempts(Model& model, const Tokenizer& tokenizer, const ChatTemplate& chat_template,
                              const OwnAttemptOptions& options,
                              const std::function<void(const std::string& line, const OwnAttemptReport&)>& on_line);

}  // namespace quern
