// A trace as lanes of a time line: one of each thread, in which a span lies a row below the one around it; and one of
// its transfers, which are under way beside what it does. Transfers that overlap lie in rows of their own.
#pragma once
#include <map>
#include <span>
#include <string>
#include <vector>

#include "quern/trace/trace.h"

namespace quern::host {

inline bool is_wait(const trace::Event& e) {  // for data of other ranks
  return e.kind == trace::Kind::communication && e.name == "waiting";
}
inline bool is_transfer(const trace::Event& e) { return e.kind == trace::Kind::communication && !is_wait(e); }

struct LaneSpan {
  size_t event = 0;  // index
  int row = 0;
};

struct TraceLane {
  std::string name = {};
  int rows = 0;
  std::vector<LaneSpan> spans = {};  // in the order of their begins
};

// Threads that take steps come first, rank 2 before rank 10. `names` are those of threads by number; threads of one name share a lane.
std::vector<TraceLane> trace_lanes(std::span<const trace::Event> events, const std::map<int, std::string>& names);

// The `most` longest events, in order; those that are as short as the first one left out are left out too.
std::vector<trace::Event> longest(std::span<const trace::Event> events, size_t most);

}  // namespace quern::host
