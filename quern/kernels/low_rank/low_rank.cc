// Stretches of rows are cut into blocks that threads take; where there are fewer blocks than threads, as when one long
// path stands beside one row, ranks and columns are cut as well.
#include "quern/kernels/low_rank/low_rank.h"

#include <algorithm>
#include <vector>

#include "quern/base/error.h"
#include "quern/kernels/dispatch.h"
#include "quern/kernels/low_rank/low_rank_simd.h"

namespace quern::kernels {
namespace {

constexpr int64_t kPad = 64;         // columns of A and B are padded to
constexpr int64_t kBlockRows = 32;   // that one thread takes at a time
constexpr int64_t kGrain = 1 << 18;  // multiply-adds worth a thread
constexpr int64_t kCutRanks = 8;     // ranks that stay together

Tensor padded(const Tensor& rows, DType as) {
  const int64_t wide = (rows.dim(1) + kPad - 1) / kPad * kPad;
  Tensor out = Tensor::zeros({rows.dim(0), wide}, DType::f32);
  out.narrow(1, 0, rows.dim(1)).copy_from(rows);
  return out.to(as);
}

// Rows that one thread works on, and the factors for them: entries [first, last) of the call.
struct Piece {
  int64_t begin, end;
  size_t first, last;
};

std::vector<Piece> pieces_of(std::span<const LowRankRows> rows) {
  std::vector<Piece> out;
  for (size_t first = 0; first < rows.size();) {
    size_t last = first + 1;
    while (last < rows.size() && rows[last].begin == rows[first].begin) ++last;
    for (int64_t at = rows[first].begin; at < rows[first].end; at += kBlockRows)
      out.push_back({at, std::min(at + kBlockRows, rows[first].end), first, last});
    first = last;
  }
  return out;
}

struct Work {
  const LowRankTable& table;
  View<const float, 2> x;
  View<float, 2> y;
  std::span<const LowRankRows> rows;

  LowRankBlock block(const Piece& p, size_t i, float* low) const {
    const LowRankFactors& f = *rows[i].factors;
    return {.x = x.row(p.begin),
            .a = f.a().raw(),
            .b = f.b().raw(),
            .low = low,
            .y = y.row(p.begin),
            .x_stride = x.stride[0],
            .a_stride = f.a().dim(1),
            .b_stride = f.b().dim(1),
            .y_stride = y.stride[0],
            .rows = p.end - p.begin,
            .k = f.k(),
            .n = f.n(),
            .rank = f.rank(),
            .scale = rows[i].scale * f.scale()};
  }
  bool narrow(size_t i) const { return rows[i].factors->a().dtype() == DType::bf16; }
};

int64_t cost(const Work& w, const Piece& p) {
  int64_t all = 0;
  for (size_t i = p.first; i < p.last; ++i) {
    const LowRankFactors& f = *w.rows[i].factors;
    all += (p.end - p.begin) * f.rank() * (f.k() + f.n());
  }
  return all;
}

void run_whole(const Work& w, const Piece& p) {
  for (size_t i = p.first; i < p.last; ++i) {
    Arena& arena = thread_arena();
    Arena::Scope scope(arena);
    const LowRankBlock b = w.block(p, i, arena.take<float>((p.end - p.begin) * w.rows[i].factors->rank()).data());
    w.table.reduce[w.narrow(i)](b, 0, b.rank);
    w.table.expand[w.narrow(i)](b, 0, b.n);
  }
}

void run_cut(const Work& w, const Piece& p) {
  for (size_t i = p.first; i < p.last; ++i) {
    Arena& arena = thread_arena();
    Arena::Scope scope(arena);
    const LowRankBlock b = w.block(p, i, arena.take<float>((p.end - p.begin) * w.rows[i].factors->rank()).data());
    parallel_for((b.rank + kCutRanks - 1) / kCutRanks, kGrain / (b.rows * b.k * kCutRanks) + 1,
                 [&](int64_t from, int64_t to) {
                   w.table.reduce[w.narrow(i)](b, from * kCutRanks, std::min(b.rank, to * kCutRanks));
                 });
    parallel_for((b.n + kPad - 1) / kPad, kGrain / (b.rows * b.rank * kPad) + 1, [&](int64_t from, int64_t to) {
      w.table.expand[w.narrow(i)](b, from * kPad, std::min(b.n, to * kPad));
    });
  }
}

}  // namespace

LowRankFactors LowRankFactors::pack(const Tensor& a_RK, const Tensor& b_NR, double scale, DType as) {
  QUERN_CHECK(a_RK.dim(0) == b_NR.dim(1), "A {} and B {}", to_string(a_RK.shape()), to_string(b_NR.shape()));
  LowRankFactors f;
  f.k_ = a_RK.dim(1), f.n_ = b_NR.dim(0), f.scale_ = static_cast<float>(scale);
  f.a_ = padded(a_RK.to(DType::f32), as);
  const Tensor b = b_NR.to(DType::f32);
  Tensor turned = Tensor::empty({a_RK.dim(0), f.n_}, DType::f32);
  for (int64_t n = 0; n < f.n_; ++n)
    for (int64_t r = 0; r < a_RK.dim(0); ++r) turned.data<float>()[r * f.n_ + n] = b.view<const float, 2>()(n, r);
  f.b_ = padded(turned, as);
  return f;
}

void add_low_rank(View<const float, 2> x, std::span<const LowRankRows> rows, View<float, 2> y) {
  for (const LowRankRows& r : rows)
    QUERN_CHECK(r.begin >= 0 && r.end <= x.shape[0] && r.factors->k() == x.shape[1] && r.factors->n() == y.shape[1],
                "rows {} to {} of {}, factors [{}, {}] for [{}, {}]", r.begin, r.end, x.shape[0], r.factors->n(),
                r.factors->k(), y.shape[1], x.shape[1]);
  const LowRankTable* table = fast_table(low_rank_avx2, low_rank_avx512);
  if (!table) return add_low_rank_ref(x, rows, y);
  const Work work{*table, x, y, rows};
  const std::vector<Piece> pieces = pieces_of(rows);
  if (static_cast<int>(pieces.size()) < thread_count()) {
    for (const Piece& p : pieces) run_cut(work, p);
    return;
  }
  int64_t all = 0;
  for (const Piece& p : pieces) all += cost(work, p);
  if (all < 2 * kGrain) {
    for (const Piece& p : pieces) run_whole(work, p);
    return;
  }
  parallel_dynamic(static_cast<int64_t>(pieces.size()),
                   [&](int64_t i) { run_whole(work, pieces[static_cast<size_t>(i)]); });
}

}  // namespace quern::kernels
