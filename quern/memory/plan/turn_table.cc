#include "quern/memory/plan/turn_table.h"

#include <algorithm>
#include <numeric>

#include "quern/base/error.h"

namespace quern::memory {
namespace {

template <class T>
void reorder(std::vector<T>& v, const std::vector<uint32_t>& order) {
  std::vector<T> out;
  out.reserve(v.size());
  for (const uint32_t i : order) out.push_back(v[i]);
  v = std::move(out);
}

}  // namespace

void TurnTable::push(const TurnRow& r) {
  id.push_back(r.id), response.push_back(r.response), session.push_back(r.session), speaker.push_back(r.speaker);
  utc.push_back(r.utc), offset.push_back(r.offset);
}

void TurnTable::note(size_t row) {
  const bool only = said.empty();
  min_offset = only ? offset[row] : std::min(min_offset, offset[row]);
  max_offset = only ? offset[row] : std::max(max_offset, offset[row]);
  const auto who = static_cast<size_t>(speaker[row]);
  if (who >= said.size()) said.resize(who + 1);
  said[who].insert(std::upper_bound(said[who].begin(), said[who].end(), row), static_cast<uint32_t>(row));
}

void TurnTable::sort_by_time() {
  arrived.clear(), said.clear();
  if (!std::is_sorted(utc.begin(), utc.end())) {
    std::vector<uint32_t> order(size());
    std::iota(order.begin(), order.end(), 0u);
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return utc[a] < utc[b]; });
    reorder(id, order), reorder(response, order), reorder(session, order), reorder(speaker, order);
    reorder(utc, order), reorder(offset, order);
    arrived.resize(size());
    for (size_t row = 0; row < order.size(); ++row) arrived[order[row]] = static_cast<uint32_t>(row);
  }
  for (size_t row = 0; row < size(); ++row) note(row);
}

size_t TurnTable::insert(const TurnRow& r) {
  const auto at = std::upper_bound(utc.begin(), utc.end(), r.utc) - utc.begin();
  const auto row = static_cast<uint32_t>(at);
  if (row < size() && arrived.empty()) {
    arrived.resize(size());
    std::iota(arrived.begin(), arrived.end(), 0u);
  }
  if (!arrived.empty()) {
    for (uint32_t& a : arrived) a += a >= row ? 1 : 0;
    arrived.push_back(row);
  }
  id.insert(id.begin() + at, r.id), response.insert(response.begin() + at, r.response);
  session.insert(session.begin() + at, r.session), speaker.insert(speaker.begin() + at, r.speaker);
  utc.insert(utc.begin() + at, r.utc), offset.insert(offset.begin() + at, r.offset);
  if (row + size_t{1} < size())
    for (std::vector<uint32_t>& rows : said)
      for (auto later = std::lower_bound(rows.begin(), rows.end(), row); later != rows.end(); ++later) ++*later;
  note(row);
  return row;
}

size_t TurnTable::rows_before(int32_t number) const {
  size_t lo = 0, hi = size();
  while (lo < hi) {
    const size_t mid = lo + (hi - lo) / 2;
    if (response[by_number(mid)] < number)
      lo = mid + 1;
    else
      hi = mid;
  }
  return lo;
}

std::optional<size_t> TurnTable::row_of(int32_t number) const {
  const size_t i = rows_before(number);
  if (i == size() || response[by_number(i)] != number) return std::nullopt;
  return by_number(i);
}

// Ids of the store rise with the numbers of a conversation.
size_t TurnTable::row_of_id(int64_t wanted) const {
  size_t lo = 0, hi = size();
  while (lo < hi) {
    const size_t mid = lo + (hi - lo) / 2;
    if (id[by_number(mid)] < wanted)
      lo = mid + 1;
    else
      hi = mid;
  }
  QUERN_CHECK(lo < size() && id[by_number(lo)] == wanted);
  return by_number(lo);
}

std::vector<std::pair<int32_t, int32_t>> TurnTable::runs(const RowRuns& rows) const {
  std::vector<std::pair<int32_t, int32_t>> out;
  if (arrived.empty()) {
    for (const RowRun& r : rows.runs()) out.emplace_back(response[r.lo], response[r.hi - 1]);
    return out;
  }
  std::vector<uint32_t> order;  // places of the rows among all numbers
  rows.each([&](uint32_t row) { order.push_back(static_cast<uint32_t>(rows_before(response[row]))); });
  std::sort(order.begin(), order.end());
  const RowRuns places = RowRuns::of(order);
  for (const RowRun& r : places.runs()) out.emplace_back(response[arrived[r.lo]], response[arrived[r.hi - 1]]);
  return out;
}

namespace {

// The first place at or behind `begin` whose value is not below the one wanted: steps that double, then a search, so
// that a place nearby is found in little time.
template <class T>
size_t first_not_below(const std::vector<T>& v, T wanted, size_t begin) {
  size_t lo = std::min(begin, v.size()), step = 1;
  while (lo + step < v.size() && v[lo + step] < wanted) lo += step, step *= 2;
  const auto at = v.begin() + static_cast<std::ptrdiff_t>(lo);
  const auto end = v.begin() + static_cast<std::ptrdiff_t>(std::min(lo + step + 1, v.size()));
  return static_cast<size_t>(std::lower_bound(at, end, wanted) - v.begin());
}

}  // namespace

RowRuns TurnTable::local_between(LocalSeconds lo, LocalSeconds hi, size_t begin) const {
  RowRuns out;
  if (lo > hi) return out;
  const size_t first = first_not_below(utc, lo - max_offset, begin);
  const size_t surely = first_not_below(utc, lo - min_offset, first);        // from here on none is too early
  const size_t doubtful = first_not_below(utc, hi - max_offset + 1, first);  // before it none is too late
  const size_t end = first_not_below(utc, hi - min_offset + 1, doubtful);
  const auto one_by_one = [&](size_t from, size_t to) {
    for (size_t row = from; row < to; ++row)
      if (local(row) >= lo && local(row) <= hi) out.add(row, row + 1);
  };
  one_by_one(first, std::min(surely, end));
  out.add(surely, doubtful);
  one_by_one(std::max(surely, doubtful), end);
  return out;
}

std::span<const uint32_t> TurnTable::said_by(int32_t number) const {
  const auto who = static_cast<size_t>(number);
  return who < said.size() ? std::span<const uint32_t>(said[who]) : std::span<const uint32_t>();
}

size_t TurnTable::first_at(int64_t second, size_t begin) const { return first_not_below(utc, second, begin); }

size_t TurnTable::session_begin(int32_t number, size_t begin) const {
  return first_not_below(session, number, begin);
}

RowRuns TurnTable::in_sessions(std::span<const int32_t> numbers) const {
  RowRuns out;
  size_t at = 0;
  for (const int32_t s : numbers) {
    const size_t begin = session_begin(s, at);
    at = session_begin(s + 1, begin);
    out.add(begin, at);
  }
  return out;
}

std::vector<int32_t> TurnTable::sessions_of(const RowRuns& rows) const {
  std::vector<int32_t> out;
  for (const RowRun& r : rows.runs())
    for (size_t row = r.lo; row < r.hi; row = session_begin(session[row] + 1, row))
      if (out.empty() || out.back() != session[row]) out.push_back(session[row]);
  return out;
}

size_t TurnTable::bytes() const {
  size_t by_speaker = 0;
  for (const std::vector<uint32_t>& rows : said) by_speaker += rows.capacity() * 4;
  return by_speaker + id.capacity() * 8 + response.capacity() * 4 + session.capacity() * 4 + speaker.capacity() * 4 +
         utc.capacity() * 8 + offset.capacity() * 4 + arrived.capacity() * 4;
}

}  // namespace quern::memory
