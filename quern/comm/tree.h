// Reductions of small records along trees, as communication schedules: what a rank sends and receives, step by step.
// The same schedules run here over a communicator and are replayed by the network model (network.h).
//   butterfly   in round j rank r exchanges with r XOR 2^j and both combine the lower rank's state with the higher's:
//               the same operands in the same order, so the same bits on all ranks. With P = 2^⌊log₂ p⌋ < p, ranks
//               from P on send theirs to rank − P first and receive the result last
//   two levels  inside a node a binomial tree towards its first rank, a butterfly between the first ranks, and back:
//               one packet per node and round on the slow links, however ranks are placed
// Records sent by all ranks together: butterfly P·log₂ P + 2(p − P); two levels 2(p − nodes) + the butterfly's of
// nodes.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "quern/comm/communicator.h"

namespace quern::comm {

struct ScheduleStep {
  enum class CombineOrder {
    none,
    joins_left,
    joins_right,
    replaces
  };                       // what comes is the left operand, the right, …
  int step = 0;            // the same on both sides of a message; steps a rank has no part in are left out
  int to = -1, from = -1;  // −1: nobody
  CombineOrder order = CombineOrder::none;
};
using CommSchedule = std::vector<ScheduleStep>;

CommSchedule butterfly_schedule(int rank, int ranks);
CommSchedule two_level_schedule(int rank,
                                std::span<const int> node_of);  // any numbers, the same for ranks of one node
CommSchedule ring_schedule(int rank, int ranks);                // p − 1 times on to the next rank
CommSchedule direct_schedule(int rank, int ranks);              // to every other rank, the next neighbor first

// x, some records, becomes the join of all ranks'; arrived: as many bytes of scratch.
void reduce_along(Communicator& comm, const CommSchedule& schedule, std::span<std::byte> x,
                  std::span<std::byte> arrived, const RecordMerge& merge);

// all: a piece of equal length from every rank in order; this rank's own is there already. Along ring_schedule.
void gather_along_ring(Communicator& comm, std::span<std::byte> all);

}  // namespace quern::comm
