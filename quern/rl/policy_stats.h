// What a step's policy loss saw, for metrics.
#pragma once
#include <algorithm>
#include <cmath>

#include "quern/comm/communicator.h"

namespace quern::rl {

struct PolicyStats {
  double tokens = 0, masked = 0, log_ratio = 0, surprise = 0, rare = 0, max_ratio = 0;

  void add(double sampled, double current, double logprob, double is_masked, double is_rare) {
    ++tokens, masked += is_masked, log_ratio += sampled - current, surprise -= logprob, rare += is_rare;
    max_ratio = std::max(max_ratio, std::exp(std::min(20.0, current - sampled)));
  }
  void all_reduce(comm::Communicator& comm) {
    for (double* x : {&tokens, &masked, &log_ratio, &surprise, &rare}) *x = comm.all_reduce(*x);
    max_ratio = comm.all_reduce(max_ratio, comm::ReduceOp::max);
  }
};

}  // namespace quern::rl
