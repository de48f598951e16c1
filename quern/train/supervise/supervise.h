// Supervisor: fault-tolerant training with automatic restart. It starts the run as a child process and reads its
// ranks' heartbeats (watchdog). On a fault it reports the kind (faults.h), ends what is left, and restarts from the
// last intact checkpoint with the remaining ranks. The recipe counts sequences over all ranks, so the batch size stays
// the same. Everything it observes and does is a line of RUN/supervise.jsonl:
//
//   {"time", "attempt", "event": start|slow|fault|aside|recovered|finished|stopped, "step", "ranks", "text", …}
//
// It stops when the same fault occurs twice at the same step, when several restarts bring no new checkpoint, and
// immediately where the trainer has already retried by itself (bad numbers).
#pragma once
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "quern/train/recipe/recipe.h"

namespace quern::train {

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

}  // namespace quern::train
