// Sessions and responses: counted among the rows that dates and hours left.
#include <algorithm>
#include <utility>

#include "quern/base/error.h"
#include "quern/memory/plan/row_selector.h"

namespace quern::memory {

// Sessions whose first turn is among the rows kept so far, the one going on left out; when none begins there, those
// that reach into them.
std::vector<int32_t> RowSelector::begun_sessions() const {
  std::vector<int32_t> begun, touched = t_.sessions_of(keep_);
  std::erase(touched, current_);
  size_t row = 0;
  for (const int32_t s : touched)
    if (row = t_.session_begin(s, row); keep_.contains(static_cast<uint32_t>(row))) begun.push_back(s);
  return begun.empty() ? touched : begun;
}

void RowSelector::session_step(const std::vector<int32_t>& wanted) {
  PlanStep s{Column::session_index, false, {}, ""};
  const bool run = wanted.size() > 2 && wanted.back() - wanted.front() + 1 == static_cast<int32_t>(wanted.size());
  if (run) {
    s.between = true, s.values = {std::to_string(wanted.front()), std::to_string(wanted.back())};
    s.sql = fmt::format("session BETWEEN {} AND {}", wanted.front(), wanted.back());
  } else {
    for (const int32_t w : wanted) s.values.push_back(std::to_string(w));
    s.sql = fmt::format("session IN ({})", fmt::join(wanted, ", "));
  }
  steps_.push_back(std::move(s));
}

// The first session after a date, the last before it, whether anything was said on the date or not.
void RowSelector::sessions_beside_date(const TimeConstraint& c) {
  const RowRuns side = c.from_end ? t_.local_between(kNoBegin, c.argument) : t_.local_between(c.argument, kNoEnd);
  take_whole(pick(c, t_.sessions_of(RowRuns::below(n_) & side)));
}

RowRuns RowSelector::anchor_rows(const TimeQuery& anchor) const { return select_rows(anchor, t_, clock_).rows; }

// Sessions so many steps before the first one, or after the last one, of what the anchor selects.
void RowSelector::sessions_beside(const TimeConstraint& c) {
  const RowRuns rows = anchor_rows(*c.anchor);
  if (rows.empty()) {
    notes_.push_back("nothing was said at the time that the question starts from");
    return take({});
  }
  const int32_t first = t_.session[rows.front()], last = t_.session[rows.back()], newest = t_.session[n_ - 1];
  std::vector<int32_t> wanted;
  for (const TimeRange& x : c.ranges)
    for (int32_t s = 1; s <= newest; ++s)
      if (const int64_t step = s < first ? s - first : s > last ? s - last : 0; step >= x.lo && step <= x.hi)
        wanted.push_back(s);
  if (wanted.empty()) notes_.push_back("there is no session there");
  take(wanted);
}

void RowSelector::sessions(const TimeConstraint& c) {
  if (c.anchor) return sessions_beside(c);
  if (std::string_view(c.name) == "session-beside-date") return sessions_beside_date(c);
  // Among what the dates left: "the third chat in May". When there is no such one, the number may count all sessions.
  if (c.counted && restricted_) {
    const std::vector<int32_t> wanted = pick(c, begun_sessions());
    if (!wanted.empty()) return take_whole(wanted);
  }
  std::vector<int32_t> wanted;
  const int32_t last = n_ ? t_.session[n_ - 1] : 0;
  for (const TimeRange& r : c.ranges) {
    int64_t lo = r.lo, hi = r.hi;
    if (r.hi < 0) lo = hi = current_ + r.lo;  // -1: the last one
    if (c.from_end) lo = current_ - std::min<int64_t>(r.hi, current_), hi = current_ - r.lo;
    for (int64_t s = std::max<int64_t>(lo, 1); s <= std::min<int64_t>(hi, std::max(last, current_)); ++s)
      wanted.push_back(static_cast<int32_t>(s));
  }
  std::sort(wanted.begin(), wanted.end());
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
  if (wanted.empty())
    notes_.push_back(fmt::format("there {} {}, none of that number", last == 1 ? "is" : "are",
                                 counted_text(static_cast<size_t>(last), "session")));
  take(wanted);
}

std::vector<int32_t> RowSelector::pick(const TimeConstraint& c, const std::vector<int32_t>& among) {
  std::vector<int32_t> out;
  const int64_t n = static_cast<int64_t>(among.size());
  for (const TimeRange& r : c.ranges) {
    if (r.lo < 0 && r.lo > kNoBegin && -r.lo <= n)
      out.push_back(among[static_cast<size_t>(n + r.lo)]);  // -1: the last
    for (int64_t k = std::max<int64_t>(r.lo, 1); k <= std::min(r.hi, n); ++k)
      out.push_back(among[static_cast<size_t>(c.from_end ? n - k : k - 1)]);
  }
  std::sort(out.begin(), out.end());
  return out;
}

void RowSelector::take(const std::vector<int32_t>& wanted) {
  keep_ = keep_ & t_.in_sessions(wanted);
  session_step(wanted);
}

// All turns of the sessions, also those that lie outside the dates which counted them.
void RowSelector::take_whole(const std::vector<int32_t>& wanted) {
  const RowRuns whole = RowRuns::below(n_) & t_.in_sessions(wanted);
  if (!(whole - keep_).empty()) steps_.clear();
  keep_ = whole;
  session_step(wanted);
}

// Rows so many steps before the first one or after the last one of an anchor's; 0 steps: those in between.
RowRuns RowSelector::beside_rows(const RowRuns& anchor, const TimeRange& steps) const {
  RowRuns out;
  if (anchor.empty()) return out;
  const auto n = static_cast<int64_t>(n_), first = int64_t{anchor.front()}, last = int64_t{anchor.back()};
  const auto add = [&](int64_t lo, int64_t hi) {
    lo = std::clamp<int64_t>(lo, 0, n), hi = std::clamp<int64_t>(hi + 1, 0, n);
    if (lo < hi) out.add(static_cast<size_t>(lo), static_cast<size_t>(hi));
  };
  add(first + steps.lo, first + std::min<int64_t>(steps.hi, -1));
  if (steps.lo <= 0 && steps.hi >= 0) add(first, last);
  add(last + std::max<int64_t>(steps.lo, 1), last + steps.hi);
  return out;
}

RowRuns RowSelector::numbered_rows(const TimeRange& numbers) const {
  const auto place = [&](int64_t number) {
    return t_.rows_before(static_cast<int32_t>(std::clamp<int64_t>(number, 0, INT32_MAX)));
  };
  const size_t begin = place(numbers.lo), end = place(numbers.hi + 1);
  std::vector<RowRun> found;
  if (t_.arrived.empty() && begin < end) found.push_back({static_cast<uint32_t>(begin), static_cast<uint32_t>(end)});
  for (size_t i = begin; i < end && !t_.arrived.empty(); ++i) found.push_back({t_.arrived[i], t_.arrived[i] + 1});
  return RowRuns::joined(std::move(found));
}

// Of what is kept so far: by their stored numbers, or counted from either end; or beside those that an anchor selects.
void RowSelector::responses(const TimeConstraint& c) {
  RowRuns wanted;
  if (c.anchor) {
    wanted = keep_ & beside_rows(anchor_rows(*c.anchor), c.ranges[0]);
  } else if (c.numbered) {
    for (const TimeRange& x : c.ranges) wanted = wanted | (keep_ & numbered_rows(x));
  } else {
    const auto n = static_cast<int64_t>(keep_.size());
    for (const TimeRange& x : c.ranges) {
      const int64_t first = std::max<int64_t>(x.lo, 1), last = std::min(x.hi, n);
      if (first > last) continue;
      const auto lo = static_cast<size_t>(c.from_end ? n - last : first - 1);
      wanted = wanted | keep_.places(lo, lo + static_cast<size_t>(last - first));
    }
  }
  if (wanted.empty()) notes_.push_back("there is no turn of that number");
  keep_ = wanted;
  response_step(wanted.rows());
}

void RowSelector::response_step(const std::vector<uint32_t>& wanted) {
  PlanStep s{Column::response_index, false, {}, ""};
  const auto breaks = [&](uint32_t a, uint32_t b) { return t_.response[b] != t_.response[a] + 1; };
  const bool run = wanted.size() > 2 && std::adjacent_find(wanted.begin(), wanted.end(), breaks) == wanted.end();
  if (run) {
    s.between = true,
    s.values = {std::to_string(t_.response[wanted.front()]), std::to_string(t_.response[wanted.back()])};
    s.sql = fmt::format("resp BETWEEN {} AND {}", t_.response[wanted.front()], t_.response[wanted.back()]);
  } else {
    for (const uint32_t r : wanted) s.values.push_back(std::to_string(t_.response[r]));
    s.sql = fmt::format("resp IN ({})", fmt::join(s.values, ", "));
  }
  steps_.push_back(std::move(s));
}

}  // namespace quern::memory
