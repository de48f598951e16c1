#include "quern/comm/network.h"

#include <algorithm>

#include "quern/base/rng.h"

namespace quern::comm {

std::vector<int> contiguous_nodes(int ranks, int node_ranks) {
  if (ranks < 1 || node_ranks < 1) fail("{} ranks, {} per node: expected at least one of each", ranks, node_ranks);
  std::vector<int> node_of;
  for (int r = 0; r < ranks; ++r) node_of.push_back(r / node_ranks);
  return node_of;
}

std::vector<int> shuffled_nodes(int ranks, int node_ranks, uint64_t seed) {
  std::vector<int> node_of = contiguous_nodes(ranks, node_ranks);
  Rng rng(seed);
  for (size_t i = node_of.size(); i > 1; --i) std::swap(node_of[i - 1], node_of[rng.below(i)]);
  return node_of;
}

Replay replay(const Network& network, const std::function<CommSchedule(int rank)>& schedule, int64_t bytes,
              double start_s, double work_s) {
  const auto p = static_cast<size_t>(network.ranks());
  std::vector<CommSchedule> all;
  int steps = 0;
  for (size_t r = 0; r < p; ++r) {
    all.push_back(schedule(static_cast<int>(r)));
    if (!all[r].empty()) steps = std::max(steps, all[r].back().step + 1);
  }
  Replay out{.steps = steps};
  std::vector<double> clock(p, start_s), sent(p);  // sent: when what a rank gave in this step has left and is there
  std::vector<size_t> next(p, 0);
  const auto now = [&](size_t r, int step) {  // this rank's move of the step, if it has one
    return next[r] < all[r].size() && all[r][next[r]].step == step ? &all[r][next[r]] : nullptr;
  };
  const auto n = static_cast<double>(bytes);
  for (int step = 0; step < steps; ++step) {
    std::vector<double> done = clock;
    for (size_t r = 0; r < p; ++r) {
      const ScheduleStep* m = now(r, step);
      if (!m) continue;
      done[r] = std::max(done[r], clock[r] + work_s);
      if (m->to < 0) continue;
      const bool far = network.node_of[r] != network.node_of[static_cast<size_t>(m->to)];
      const Link& link = far ? network.far : network.near;
      done[r] = std::max(done[r], clock[r] + n / link.bytes_per_s);
      sent[r] = clock[r] + link.latency_s + n / link.bytes_per_s;
      ++out.messages, out.bytes += bytes, out.far_bytes += far ? bytes : 0;
    }
    for (size_t r = 0; r < p; ++r) {
      const ScheduleStep* m = now(r, step);
      if (!m) continue;
      if (m->from >= 0) {
        const auto from = static_cast<size_t>(m->from);
        const ScheduleStep* theirs = now(from, step);
        QUERN_CHECK(theirs && theirs->to == static_cast<int>(r), "step {}: rank {} waits for rank {}", step, r, from);
        done[r] = std::max(done[r], sent[from]);
      }
    }
    for (size_t r = 0; r < p; ++r)
      if (now(r, step)) clock[r] = done[r], ++next[r];
  }
  out.seconds = *std::max_element(clock.begin(), clock.end());
  return out;
}

}  // namespace quern::comm
