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

void TurnTable::sort_by_time() {
  arrived.clear();
  if (std::is_sorted(utc.begin(), utc.end())) return;
  std::vector<uint32_t> order(size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return utc[a] < utc[b]; });
  reorder(id, order), reorder(response, order), reorder(session, order), reorder(speaker, order);
  reorder(utc, order), reorder(offset, order);
  arrived.resize(size());
  for (size_t row = 0; row < order.size(); ++row) arrived[order[row]] = static_cast<uint32_t>(row);
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

std::vector<std::pair<int32_t, int32_t>> TurnTable::runs(std::span<const uint32_t> rows) const {
  std::vector<std::pair<int32_t, int32_t>> out;
  const auto add = [&](size_t row, bool next) {
    if (!next) out.emplace_back(response[row], 0);
    out.back().second = response[row];
  };
  if (arrived.empty()) {
    for (size_t i = 0; i < rows.size(); ++i) add(rows[i], i > 0 && rows[i] == rows[i - 1] + 1);
    return out;
  }
  std::vector<bool> in(size());
  for (const uint32_t row : rows) in[row] = true;
  for (size_t i = 0; i < size(); ++i)
    if (in[arrived[i]]) add(arrived[i], i > 0 && in[arrived[i - 1]]);
  return out;
}

size_t TurnTable::bytes() const {
  return id.capacity() * 8 + response.capacity() * 4 + session.capacity() * 4 + speaker.capacity() * 4 +
         utc.capacity() * 8 + offset.capacity() * 4 + arrived.capacity() * 4;
}

}  // namespace quern::memory
