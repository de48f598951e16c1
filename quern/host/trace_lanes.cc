#include "quern/host/trace_lanes.h"

#include <algorithm>
#include <functional>
#include <set>
#include <tuple>

#include "quern/base/error.h"

namespace quern::host {
namespace {

using trace::Event;

// Rows of spans that come in the order of their begins: the first row that is free. Spans that lie inside each other
// thereby lie below each other.
class FreeRows {
 public:
  int take(const Event& e) {
    size_t row = 0;
    while (row < ends_.size() && ends_[row] > e.begin) ++row;
    if (row == ends_.size()) ends_.push_back(0);
    ends_[row] = e.begin + e.seconds;
    return static_cast<int>(row);
  }
  int rows() const { return static_cast<int>(ends_.size()); }

 private:
  std::vector<double> ends_;
};

}  // namespace

std::vector<TraceLane> trace_lanes(std::span<const Event> events, const std::map<int, std::string>& names) {
  std::vector<size_t> order;
  std::map<int, std::pair<std::vector<size_t>, std::vector<size_t>>> of_thread;  // spans, transfers
  std::map<std::string, int> first_of_name;
  for (const auto& [thread, name] : names) first_of_name.try_emplace(name, thread);
  const auto lane_of = [&](int thread) {
    const auto named = names.find(thread);
    return named == names.end() ? thread : first_of_name.at(named->second);
  };
  std::set<int> stepping;
  for (size_t i = 0; i < events.size(); ++i) {
    order.push_back(i);
    if (events[i].kind == trace::Kind::step) stepping.insert(lane_of(events[i].thread));
  }
  std::ranges::stable_sort(order, [&](size_t a, size_t b) {  // of two that begin together the outer one
    return std::pair(events[a].begin, -events[a].seconds) < std::pair(events[b].begin, -events[b].seconds);
  });
  for (const size_t i : order) {
    auto& [spans, transfers] = of_thread[lane_of(events[i].thread)];
    (is_transfer(events[i]) ? transfers : spans).push_back(i);
  }
  std::vector<TraceLane> lanes;
  const auto add = [&](std::string name, const std::vector<size_t>& members) {
    if (members.empty()) return;
    TraceLane lane;
    lane.name = std::move(name);
    FreeRows rows;
    for (const size_t i : members) lane.spans.push_back({i, rows.take(events[i])});
    lane.rows = rows.rows();
    lanes.push_back(std::move(lane));
  };
  // Ranks by number, and so are threads without a name.
  std::vector<std::tuple<bool, size_t, std::string, int>> threads;  // has no steps, length of the name, name, thread
  for (const auto& [thread, members] : of_thread) {
    const auto named = names.find(thread);
    std::string name = named == names.end() ? fmt::format("thread {}", thread) : named->second;
    threads.emplace_back(!stepping.contains(thread), name.size(), std::move(name), thread);
  }
  std::ranges::sort(threads);
  for (const auto& [no_steps, length, name, thread] : threads) {
    add(name, of_thread[thread].first);
    add(name + ", transfers", of_thread[thread].second);
  }
  return lanes;
}

std::vector<Event> longest(std::span<const Event> events, size_t most) {
  if (events.size() <= most) return {events.begin(), events.end()};
  std::vector<double> seconds;
  for (const Event& e : events) seconds.push_back(e.seconds);
  const auto cut = seconds.begin() + static_cast<std::ptrdiff_t>(most);
  std::ranges::nth_element(seconds, cut, std::greater());
  std::vector<Event> out;
  for (const Event& e : events)
    if (e.seconds > *cut) out.push_back(e);
  return out;
}

}  // namespace quern::host
