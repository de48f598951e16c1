// Tiled attention between queries and keys that carry their global row numbers, wherever they lie: the building block
// of context parallelism (context_attend.h) and of sharded KV caches (cache_shards.h). A query sees the keys up to its
// own row, in its document, the newest `window` of them (0 = all). q [n, Hq, d], k [n, Hkv, d], v [n, Hkv, dv]: rows
// may be strided, one head's row must be contiguous.
#pragma once
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "quern/tensor/tensor.h"

namespace quern::mixers {

struct BlockHeads {
  int64_t q, kv, d, dv;
  double scale;
  int64_t window;
  bool bf16;  // products of f32 rounded to bf16
};

// A run of rows that are neighbors in the whole: where they lie, and who they are.
struct RowRun {
  int64_t local, row, n;
};
std::vector<RowRun> runs_of(const std::vector<int64_t>& rows);

// What the queries at hand and some keys have to do with each other.
class VisibleBlocks {
 public:
  // documents: the first row of the document, row by row; null: one document from row 0 on. It must outlive this.
  VisibleBlocks(int64_t window, const std::vector<int64_t>* documents, std::vector<RowRun> queries)
      : window_(window), documents_(documents), queries_(std::move(queries)) {}

  // f(first query, queries, first key, keys, first query's row, first key's row): tiles with anything to see.
  template <class F>
  void each(const std::vector<RowRun>& keys, F&& f) const {
    for (const RowRun& q : queries_)
      for (int64_t at = 0; at < q.n; at += kTile) {
        const int64_t n = std::min(kTile, q.n - at), last = q.row + at + n - 1;
        for (const RowRun& k : keys) {
          const int64_t begin = std::max(k.row, seen_from(q.row + at)), end = std::min(k.row + k.n, last + 1);
          if (end > begin) f(q.local + at, n, k.local + begin - k.row, end - begin, q.row + at, begin);
        }
      }
  }
  // Of n keys from row `first` on: those that the query of this row sees.
  std::pair<int64_t, int64_t> seen(int64_t row, int64_t first, int64_t n) const {
    const int64_t lo = std::clamp<int64_t>(seen_from(row) - first, 0, n);
    return {lo, std::clamp<int64_t>(row + 1 - first, lo, n)};
  }

 private:
  static constexpr int64_t kTile = 128;  // queries whose scores are held at a time

  int64_t seen_from(int64_t row) const {
    const int64_t document = documents_ ? (*documents_)[static_cast<size_t>(row)] : 0;
    return window_ > 0 ? std::max(document, row + 1 - window_) : document;
  }
  int64_t window_;
  const std::vector<int64_t>* documents_;
  std::vector<RowRun> queries_;
};

// What queries have gathered so far: o [n, Hq, dv] not yet divided, m and l [n, Hq]; scores in natural units.
template <class T>
struct BlockPartial {
  Tensor o, m, l;
  static BlockPartial nothing(int64_t n, const BlockHeads& h);
  void divide() const;  // o becomes the result and m the log-sum-exp; rows that saw nothing: 0 and −∞
};

template <class T>
struct BlockSaved {
  Tensor q, k, v, o, lse;
};

struct BlockKeys {
  Tensor k, v;               // [t, Hkv, d], [t, Hkv, dv]
  std::vector<RowRun> runs;  // their rows
};
// Adds what these keys bring.
template <class T>
void forward_block(const VisibleBlocks& blocks, const BlockHeads& h, const Tensor& q, const BlockKeys& keys,
                   const BlockPartial<T>& p);

template <class T>
Tensor block_delta(const Tensor& go, const Tensor& o);  // Σ go∘o, [n, Hq]

struct BlockBackwardArgs {
  Tensor go, delta;          // [n, Hq, dv], [n, Hq]
  Tensor k, v;               // [t, Hkv, d], [t, Hkv, dv]
  std::vector<RowRun> runs;  // rows of k and v
  Tensor gq, gk, gv;         // like q, k and v; added to
};
// P = e^(scale·qk − lse), dS = P∘(go·v − delta), …
template <class T>
void backward_block(const VisibleBlocks& blocks, const BlockHeads& h, const BlockSaved<T>& x,
                    const BlockBackwardArgs& in);

}  // namespace quern::mixers
