// Ranks that are threads of this process, for tests and for runs on one machine. Data is copied when it is posted, so
// posting never blocks and transfers may be waited for in any order. Waits are bounded. When a rank throws, every rank
// that waits ends too, and run_ranks throws Error with the first message; waiting for a rank that has returned fails
// at once.
#pragma once
#include <functional>
#include <memory>

#include "quern/comm/communicator.h"

namespace quern::comm {

struct RankOptions {
  double timeout_s = 300;  // of one wait
};

// Calls fn on n threads, each with its own communicator, and returns when all have.
void run_ranks(int n, const std::function<void(Communicator&)>& fn, const RankOptions& options = {});

// The one rank of a run without others. Its work is done by the calling thread.
std::unique_ptr<Communicator> single_rank();

}  // namespace quern::comm
