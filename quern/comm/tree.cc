#include "quern/comm/tree.h"

#include <algorithm>
#include <bit>

namespace quern::comm {
namespace {

using CombineOrder = ScheduleStep::CombineOrder;

std::span<const uint8_t> bytes_of(std::span<const std::byte> x) {
  return {reinterpret_cast<const uint8_t*>(x.data()), x.size()};
}
std::span<uint8_t> bytes_of(std::span<std::byte> x) { return {reinterpret_cast<uint8_t*>(x.data()), x.size()}; }

// The butterfly among `members`, in which this rank has place `me`; from step `first` on. Its steps are returned.
int butterfly_among(std::span<const int> members, int me, int first, CommSchedule& schedule) {
  const int n = static_cast<int>(members.size()), whole = static_cast<int>(std::bit_floor(static_cast<unsigned>(n)));
  const bool ragged = n > whole;
  const int rounds = std::countr_zero(static_cast<unsigned>(whole)), last = first + ragged + rounds;
  const auto rank_at = [&](int i) { return members[static_cast<size_t>(i)]; };
  if (me >= whole) {
    schedule.push_back({first, rank_at(me - whole), -1, CombineOrder::none});
    schedule.push_back({last, -1, rank_at(me - whole), CombineOrder::replaces});
  } else {
    const bool paired = me + whole < n;
    if (paired) schedule.push_back({first, -1, rank_at(me + whole), CombineOrder::joins_right});
    for (int j = 0; j < rounds; ++j) {
      const int other = me ^ (1 << j);
      schedule.push_back({first + ragged + j, rank_at(other), rank_at(other),
                          other < me ? CombineOrder::joins_left : CombineOrder::joins_right});
    }
    if (paired) schedule.push_back({last, rank_at(me + whole), -1, CombineOrder::none});
  }
  return rounds + 2 * ragged;
}

}  // namespace

CommSchedule butterfly_schedule(int rank, int ranks) {
  std::vector<int> all;
  for (int r = 0; r < ranks; ++r) all.push_back(r);
  CommSchedule schedule;
  butterfly_among(all, rank, 0, schedule);
  return schedule;
}

CommSchedule two_level_schedule(int rank, std::span<const int> node_of) {
  std::vector<std::vector<int>> nodes;  // ranks in order; nodes in the order of their first ranks
  std::vector<int> name;
  for (size_t r = 0; r < node_of.size(); ++r) {
    const auto at = std::find(name.begin(), name.end(), node_of[r]) - name.begin();
    if (at == static_cast<std::ptrdiff_t>(name.size())) name.push_back(node_of[r]), nodes.emplace_back();
    nodes[static_cast<size_t>(at)].push_back(static_cast<int>(r));
  }
  size_t maximum = 0;
  int mine = 0;
  std::vector<int> leaders;
  for (size_t i = 0; i < nodes.size(); ++i) {
    maximum = std::max(maximum, nodes[i].size());
    leaders.push_back(nodes[i][0]);
    if (node_of[static_cast<size_t>(rank)] == name[i]) mine = static_cast<int>(i);
  }
  const std::vector<int>& node = nodes[static_cast<size_t>(mine)];
  const int n = static_cast<int>(node.size()),
            me = static_cast<int>(std::find(node.begin(), node.end(), rank) - node.begin()),
            depth = static_cast<int>(std::bit_width(maximum - 1));
  CommSchedule schedule, back;
  int level = 0;
  for (; level < depth && (me >> level & 1) == 0; ++level)  // children of this rank
    if (const int child = me + (1 << level); child < n)
      schedule.push_back({level, -1, node[static_cast<size_t>(child)], CombineOrder::joins_right});
  const int parent = me - (1 << level);
  CommSchedule among;
  const int between = butterfly_among(leaders, me == 0 ? mine : 0, depth, among);
  const int end = 2 * depth + between - 1;  // of the way back, which mirrors the way up
  if (me == 0) {
    schedule.insert(schedule.end(), among.begin(), among.end());
  } else {
    const int up = node[static_cast<size_t>(parent)];
    schedule.push_back({level, up, -1, CombineOrder::none});
    schedule.push_back({end - level, -1, up, CombineOrder::replaces});
  }
  while (level-- > 0)
    if (const int child = me + (1 << level); child < n)
      schedule.push_back({end - level, node[static_cast<size_t>(child)], -1, CombineOrder::none});
  return schedule;
}

CommSchedule ring_schedule(int rank, int ranks) {
  CommSchedule schedule;
  for (int s = 0; s + 1 < ranks; ++s)
    schedule.push_back({s, (rank + 1) % ranks, (rank + ranks - 1) % ranks, CombineOrder::replaces});
  return schedule;
}

CommSchedule direct_schedule(int rank, int ranks) {
  CommSchedule schedule;
  for (int k = 1; k < ranks; ++k)
    schedule.push_back({k - 1, (rank + k) % ranks, (rank + ranks - k) % ranks, CombineOrder::replaces});
  return schedule;
}

void reduce_along(Communicator& comm, const CommSchedule& schedule, std::span<std::byte> x,
                  std::span<std::byte> arrived, const RecordMerge& merge) {
  QUERN_CHECK(arrived.size() == x.size() && merge.record_bytes > 0);
  const int64_t n = static_cast<int64_t>(x.size()) / merge.record_bytes;
  QUERN_CHECK(n * merge.record_bytes == static_cast<int64_t>(x.size()), "{} bytes of records of {}", x.size(),
              merge.record_bytes);
  for (const ScheduleStep& m : schedule) {
    Transfer out, in;
    if (m.to >= 0) out = comm.start_send(bytes_of(std::span<const std::byte>(x)), m.to, m.step);
    if (m.from >= 0) in = comm.start_recv(bytes_of(m.order == CombineOrder::replaces ? x : arrived), m.from, m.step);
    in.wait();
    out.wait();  // before x changes
    if (m.order == CombineOrder::joins_left) merge.join(arrived.data(), x.data(), x.data(), n);
    if (m.order == CombineOrder::joins_right) merge.join(x.data(), arrived.data(), x.data(), n);
  }
}

void gather_along_ring(Communicator& comm, std::span<std::byte> all) {
  const int p = comm.size();
  const size_t piece = all.size() / static_cast<size_t>(p);
  QUERN_CHECK(piece * static_cast<size_t>(p) == all.size(), "{} bytes from {} ranks", all.size(), p);
  const auto of = [&](int owner) { return all.subspan(static_cast<size_t>((owner + 2 * p) % p) * piece, piece); };
  for (const ScheduleStep& m : ring_schedule(comm.rank(), p)) {
    Transfer out = comm.start_send(bytes_of(std::span<const std::byte>(of(comm.rank() - m.step))), m.to, m.step);
    Transfer in = comm.start_recv(bytes_of(of(comm.rank() - m.step - 1)), m.from, m.step);
    in.wait();
    out.wait();
  }
}

}  // namespace quern::comm
