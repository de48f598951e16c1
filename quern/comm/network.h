// α–β network model, for machines that are not at hand: a message of n bytes that leaves at t arrives at t + α + n/β,
// and its sender's port is free at t + n/β. Ranks of one node are near, others far. replay() runs the communication
// schedules of the collectives (tree.h) for any number of ranks.
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "quern/comm/tree.h"

namespace quern::comm {

struct Link {
  double latency_s = 0, bytes_per_s = 1;
};

struct Network {
  Link near, far;
  std::vector<int> node_of;  // by rank
  int ranks() const { return static_cast<int>(node_of.size()); }
};
std::vector<int> contiguous_nodes(int ranks, int node_ranks);
std::vector<int> shuffled_nodes(int ranks, int node_ranks, uint64_t seed);

struct Replay {
  double seconds = 0;  // until the last rank is done
  int64_t steps = 0;   // that any rank has part in
  int64_t messages = 0, bytes = 0, far_bytes = 0;
};

// moves(rank) of every rank, `bytes` a message; start_s of work before the first move, work_s beside every move (of
// the ring that computes on what it has while the next is coming).
Replay replay(const Network& network, const std::function<CommSchedule(int rank)>& schedule, int64_t bytes,
              double start_s = 0, double work_s = 0);

}  // namespace quern::comm
