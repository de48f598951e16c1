// Ranks that are threads of this process: for tests, and for what one machine does alone. What a rank sends is copied
// when it is posted, so a post never waits and requests may be waited for in any order.
// Waits are bounded. When a rank throws, every other one waiting for anybody ends too, and run_ranks throws Error
// with the message of the first; a rank that waits for one that has returned is told so at once.
#pragma once
#include <functional>

#include "quern/comm/communicator.h"

namespace quern {

struct RankOptions {
  double timeout_s = 300;  // of one wait
};

// Calls fn on n threads, each with its own communicator, and returns when all have.
void run_ranks(int n, const std::function<void(Communicator&)>& fn, const RankOptions& options = {});

}  // namespace quern
