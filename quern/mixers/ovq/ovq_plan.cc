#include "quern/mixers/ovq/ovq_plan.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "quern/base/error.h"
#include "quern/base/rng.h"
#include "quern/mixers/ovq/row_math.h"

namespace quern::mixers {
namespace {

constexpr int64_t kPlanTokens = 32;  // whose similarities are looked at together: 32 × 1024 floats stay in cache
template <class T>
constexpr T kNever = std::numeric_limits<T>::infinity();  // the likeness of a token that opens no row

}  // namespace

OvqGrowth ovq_growth(std::string_view name) {
  for (OvqGrowth g : {OvqGrowth::plateau, OvqGrowth::greedy, OvqGrowth::linear})
    if (name == name_of(g)) return g;
  fail("growth: '{}', expected plateau, greedy or linear", name);
}

std::string_view name_of(OvqGrowth g) {
  return g == OvqGrowth::plateau ? "plateau" : g == OvqGrowth::greedy ? "greedy" : "linear";
}

void check(const OvqOptions& o, const char* where) {
  constexpr int64_t kMax = int64_t{1} << 24;  // counts are exact in f32 below it
  if (o.rows < 1 || o.rows > kMax) fail("{}, rows: {} is outside 1 … {}", where, o.rows, kMax);
  if (o.chunk < 1 || o.chunk > kMax) fail("{}, chunk: {} is outside 1 … {}", where, o.chunk, kMax);
  if (o.growth == OvqGrowth::linear && o.horizon < 1)
    fail("{}, horizon: {}, linear growth needs 1 or more", where, o.horizon);
}

int64_t ovq_rows_after(const OvqOptions& o, int64_t t) {
  if (t <= 0) return 0;
  const auto product = static_cast<__int128>(t) * o.rows;
  __int128 n = t;
  if (o.growth == OvqGrowth::plateau) n = product / (t + o.rows);
  if (o.growth == OvqGrowth::linear) n = std::min<__int128>(t, product / o.horizon);
  return std::clamp<int64_t>(static_cast<int64_t>(std::min<__int128>(n, o.rows)), 1, o.rows);
}

template <class T>
const T* ovq_divisor(const OvqOptions& o, const OvqMemory<T>& m, int64_t d, T* room) {
  if (!o.normalize) return m.counts;
  const int64_t stride = ovq_key_stride(o.rows);
  std::fill_n(room, m.live, T(0));
  for (int64_t c = 0; c < d; ++c)
    for (int64_t j = 0; j < m.live; ++j) room[j] += m.keys[c * stride + j] * m.keys[c * stride + j];
  // A sum of unit keys that cancel has no direction: its row is read as it is.
  for (int64_t j = 0; j < m.live; ++j) room[j] = room[j] > 0 ? std::sqrt(room[j]) : T(1);
  return room;
}

template <class T>
void ovq_open_rows(const OvqOptions& o, const OvqOpening<T>& in, Arena& scratch) {
  Arena::Scope scope(scratch);
  std::span<int32_t> order = scratch.take<int32_t>(in.n);
  for (int64_t i = 0; i < in.n; ++i) order[static_cast<size_t>(i)] = static_cast<int32_t>(i);
  const Rng random(0, static_cast<uint64_t>(in.seen));
  std::nth_element(order.begin(), order.begin() + in.fresh, order.end(), [&](int32_t a, int32_t b) {
    if (!o.spread) return random.bits(static_cast<uint64_t>(a)) < random.bits(static_cast<uint64_t>(b));
    return in.best[a] < in.best[b] || (in.best[a] == in.best[b] && a < b);
  });
  std::sort(order.begin(), order.begin() + in.fresh);
  for (int64_t i = 0; i < in.fresh; ++i) in.rows[order[static_cast<size_t>(i)]] = static_cast<int32_t>(in.first + i);
}

template <class T>
int64_t ovq_plan(const OvqOptions& o, const OvqMemory<T>& m, int64_t d, const T* divisor, int32_t* rows,
                 Arena& scratch) {
  Arena::Scope scope(scratch);
  const int64_t C = o.chunk, stride = ovq_key_stride(o.rows), chunk_stride = ovq_key_stride(C);
  const int64_t live = std::max(m.live, ovq_rows_after(o, m.seen));
  std::span<T> best = scratch.take<T>(C);
  if (m.live == 0) {  // the first token opens row 0; all join it but those least like it
    RowMath<T>::product({m.chunk_keys, 1, chunk_stride, m.chunk_keys, chunk_stride, best.data(), C, 1, C, d, false});
    std::fill_n(rows, C, 0);
    for (T& b : best)
      if (std::isnan(b)) b = kNever<T>;
    const int64_t fresh = std::min(live, C) - 1;
    if (fresh > 0)
      ovq_open_rows<T>(
          o, {.seen = m.seen, .best = best.data() + 1, .n = C - 1, .fresh = fresh, .first = 1, .rows = rows + 1},
          scratch);
    return fresh + 1;
  }
  std::span<T> alike = scratch.take<T>(kPlanTokens * m.live);
  for (int64_t i = 0; i < C; i += kPlanTokens) {
    const int64_t n = std::min(kPlanTokens, C - i);
    RowMath<T>::product(
        {m.chunk_keys + i, 1, chunk_stride, m.keys, stride, alike.data(), m.live, n, m.live, d, false});
    for (int64_t t = 0; t < n; ++t) {
      T* row = alike.data() + t * m.live;
      RowMath<T>::divide(m.live, T(1), divisor, row);
      const T maximum = RowMath<T>::largest(m.live, row);
      const int64_t at = std::find(row, row + m.live, maximum) - row;
      const bool found = at < m.live;  // a key that is not a number resembles no row: row 0 takes it
      best[static_cast<size_t>(i + t)] = found ? maximum : kNever<T>;
      rows[i + t] = found ? static_cast<int32_t>(at) : 0;
    }
  }
  const int64_t fresh = std::min(live - m.live, C);
  if (fresh > 0)
    ovq_open_rows<T>(o, {.seen = m.seen, .best = best.data(), .n = C, .fresh = fresh, .first = m.live, .rows = rows},
                     scratch);
  return m.live + fresh;
}

#define QUERN_OVQ_PLAN(T)                                                                \
  template const T* ovq_divisor<T>(const OvqOptions&, const OvqMemory<T>&, int64_t, T*); \
  template int64_t ovq_plan<T>(const OvqOptions&, const OvqMemory<T>&, int64_t, const T*, int32_t*, Arena&);
QUERN_OVQ_PLAN(float)
QUERN_OVQ_PLAN(double)
#undef QUERN_OVQ_PLAN
template void ovq_open_rows<double>(const OvqOptions&, const OvqOpening<double>&, Arena&);

}  // namespace quern::mixers
