// Collectives between ranks, timed over sizes, and what they say of the network: latency α and bandwidth β of
// t = α + bytes / β, fitted (time_fit.h). Sizes and bandwidths are counted as in nccl-tests:
//   bytes     all-reduce and broadcast: of the buffer; reduce-scatter: of the input; all-gather: of the output;
//             all-to-all: what a rank has for all ranks; message and shift: of the message
//   algbw     bytes / time
//   busbw     algbw × what a rank must send of a byte at least, for n ranks: 2(n−1)/n all-reduce; (n−1)/n reduce-scatter,
//             all-gather, all-to-all; 1 the others. It is the same for every n where links are the limit
// A time is that of one call in a row of calls, of the slowest rank, the median of the repetitions.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "quern/comm/communicator.h"
#include "quern/measure/time_fit.h"

namespace quern::measure {

// message: half of a round trip between the first rank and the last. shift: every rank sends to the next at once.
// …_two_level: within nodes, then between them (comm/two_level.h), to be compared with the same in one level.
enum class Collective {
  all_reduce,
  all_reduce_butterfly,  // the whole buffer in log₂ n rounds: fewer messages, more bytes
  reduce_scatter,
  all_gather,
  broadcast,
  all_to_all,
  message,
  shift,
  all_reduce_two_level,
  reduce_scatter_two_level,
  all_gather_two_level
};
inline constexpr Collective kCollectives[] = {
    Collective::all_reduce, Collective::all_reduce_butterfly, Collective::reduce_scatter, Collective::all_gather,
    Collective::broadcast,  Collective::all_to_all,           Collective::message,        Collective::shift};
inline constexpr Collective kTwoLevelCollectives[] = {
    Collective::all_reduce_two_level, Collective::reduce_scatter_two_level, Collective::all_gather_two_level};
std::string_view collective_name(Collective c);
Collective parse_collective(std::string_view name);  // throws Error that lists the names
double bus_share(Collective c, int ranks);           // busbw / algbw

struct CollectiveCurve {
  Collective what = Collective::all_reduce;
  int ranks = 0;
  std::vector<TransferTime> times = {};
  LinkFit fit = {};  // of bytes as defined above: its bandwidth is an algbw, and finite
  // Else no time grew with the size, and the bandwidth is the best measured: a lower bound.
  bool bandwidth_seen = true;

  double bus_gbs(const TransferTime& t) const { return bus_share(what, ranks) * t.bytes / t.seconds * 1e-9; }
  double bus_gbs() const { return bus_share(what, ranks) * fit.link.bytes_per_s * 1e-9; }  // fitted
  void fit_to_times();
  double saturated_from() const;  // bytes: the least size measured whose busbw is 95 % of the best one
};

struct CollectiveOptions {
  int64_t min_bytes = 8, max_bytes = int64_t{64} << 20;  // every power of two
  int64_t reps = 7;
  double seconds = 0.01;          // of a repetition at least, where calls are shorter
  std::vector<int> node_of = {};  // by rank, for collectives in two levels
  std::function<void(const CollectiveCurve&)> done = {};
};
// The same on every rank. Of one rank: no times.
CollectiveCurve time_collective(comm::Communicator& c, Collective what, const CollectiveOptions& o);

// The least size measured from which on two levels take no longer than one, at every size; 0: there is none.
double two_levels_from(const CollectiveCurve& one, const CollectiveCurve& two);

// A transfer beside computation that needs no memory: the time of both against the longer. 1: the shorter is hidden
// whole; 2 at most, where neither hides. The computation takes about as long as the transfer and looks at it now and
// then, as a backward pass does.
struct Overlap {
  Collective what = Collective::reduce_scatter;
  double bytes = 0, transfer_s = 0, compute_s = 0, both_s = 0;
  double ratio() const;
  double hidden() const;  // share of the shorter one that costs no time
};
Overlap measure_overlap(comm::Communicator& c, Collective what, int64_t bytes, int64_t reps);

}  // namespace quern::measure
