// Supervisor: carries a run through what happens to it. It starts the run as a child, reads its ranks' heartbeats,
// and when something breaks says what it was (faults.h), ends what is left of the attempt and starts again from the
// last checkpoint that is whole, with the ranks that are left. The recipe counts rows over all ranks, so the batch
// stays as it is. Everything it saw and did is a line of RUN/supervise.jsonl:
//
//   {"time", "attempt", "event": start|slow|fault|aside|recovered|finished|stopped, "step", "ranks", "text", …}
//
// It stops when the same fault comes twice at the same step, when a run of restarts brings no new checkpoint, and at
// once where the trainer has already tried again by itself (bad numbers).
#pragma once
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "quern/train/recipe/recipe.h"

namespace quern {

struct SuperviseOptions {
  std::filesystem::path out;         // RUN
  std::vector<std::string> command;  // of one attempt; --resume, --ranks and --heartbeats are put behind it
  int64_t ranks = 1;
  bool resume = false;
  std::function<void(const std::string&)> say = [](const std::string&) {};
  std::function<bool()> interrupted = [] { return false; };  // the attempt is told, and its end is then the end
};

// Returns when the run ended as it should. Throws Error when it gives up.
void supervise(const SupervisePolicy& policy, const SuperviseOptions& options);

}  // namespace quern
