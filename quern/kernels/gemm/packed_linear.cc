// PackedLinear: y[T, N] = x[T, K]·Wᵀ + b with W prepacked into panels of 64 output columns:
//   f32:  panel p, k, j            → W[64p + j, k]                    ([N/64][K][64], oneDNN calls it BA16a64b)
//   bf16: panel p, k/2, j, k mod 2 → W[64p + j, k], pairs along K     ([N/64][K/2][64][2], BA16a64b2a)
// so that one panel is one sequential stream for every kernel, and a vdpbf16ps operand is one aligned load. N is
// padded to 64 and K to 2 with zeros. Cost: 2·T·N·K flops; small T is bound by reading W once. f32 weights that are
// all exact bf16 values (a published checkpoint's router) are stored as bf16 and widened on the fly: the same bits for
// half the bytes.
#include <algorithm>
#include <bit>
#include <cstring>

#include "quern/base/cpu.h"
#include "quern/base/error.h"
#include "quern/base/threads.h"
#include "quern/kernels/cpu/products.h"
#include "quern/kernels/gemm/amx_product.h"
#include "quern/kernels/gemm/gemm.h"
#include "quern/kernels/gemm/tile.h"

namespace quern::kernels {

constexpr int64_t kPanel = 64;

struct PackedLinear::Impl {
  int64_t n = 0, k = 0, k_pad = 0, panels = 0;
  DType dtype = DType::f32;  // as they lie
  bool widened = false;      // they lie as bf16, x is not rounded
  int64_t bytes = 0;
  void* data = nullptr;

  Impl(int64_t n_, int64_t k_, DType t) : n(n_), k(k_), dtype(t) {
    k_pad = (k + 1) / 2 * 2;
    panels = (n + kPanel - 1) / kPanel;
    bytes = panels * kPanel * k_pad * dtype_size(t);
    data = cached_alloc(static_cast<size_t>(std::max<int64_t>(bytes, 1)));
    std::memset(data, 0, static_cast<size_t>(bytes));
  }
  ~Impl() { cached_free(data, static_cast<size_t>(std::max<int64_t>(bytes, 1))); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  int64_t at(int64_t i, int64_t p) const {  // element W[i, p]
    int64_t base = i / kPanel * kPanel * k_pad, j = i % kPanel;
    return dtype == DType::f32 ? base + p * kPanel + j : base + (p / 2) * 2 * kPanel + 2 * j + p % 2;
  }
  float get(int64_t i, int64_t p) const {
    return dtype == DType::f32 ? static_cast<const float*>(data)[at(i, p)]
                               : static_cast<float>(static_cast<const bf16*>(data)[at(i, p)]);
  }
};

namespace {

bool holds_bf16_values(const Tensor& w) {
  if (w.dtype() == DType::bf16) return true;
  if (w.dtype() != DType::f32) return false;
  auto v = w.view<const float, 2>();
  for (int64_t i = 0; i < v.shape[0]; ++i)
    for (int64_t p = 0; p < v.shape[1]; ++p)
      if (static_cast<float>(bf16(v(i, p))) != v(i, p)) return false;
  return true;
}

void widen_pairs(const uint32_t* pairs, int64_t n, float* to) {
  for (int64_t p = 0; p + 2 <= n; p += 2) {
    to[p] = std::bit_cast<float>(pairs[p / 2] << 16);
    to[p + 1] = std::bit_cast<float>(pairs[p / 2] & 0xffff0000u);
  }
  if (n % 2) to[n - 1] = std::bit_cast<float>(pairs[n / 2] << 16);
}

}  // namespace

PackedLinear PackedLinear::pack(const Tensor& w, DType as) {
  QUERN_CHECK(w.rank() == 2, "PackedLinear takes [N, K], got {}", to_string(w.shape()));
  QUERN_CHECK(as == DType::f32 || as == DType::bf16, "PackedLinear packs f32 or bf16, not {}", dtype_name(as));
  const bool widened = as == DType::f32 && holds_bf16_values(w);
  if (widened) as = DType::bf16;
  Tensor t = w.to(as);
  auto impl = std::make_shared<Impl>(t.dim(0), t.dim(1), as);
  impl->widened = widened;
  auto fill = [&](auto zero) {
    using T = decltype(zero);
    auto src = t.view<const T, 2>();
    T* dst = static_cast<T*>(impl->data);
    parallel_for(impl->panels, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin * kPanel; i < std::min(end * kPanel, impl->n); ++i)
        for (int64_t p = 0; p < impl->k; ++p) dst[impl->at(i, p)] = src(i, p);
    });
  };
  if (as == DType::f32)
    fill(float{});
  else
    fill(bf16{});
  PackedLinear r;
  r.impl_ = std::move(impl);
  return r;
}

int64_t PackedLinear::n() const { return impl_->n; }
int64_t PackedLinear::k() const { return impl_->k; }
DType PackedLinear::dtype() const { return impl_->widened ? DType::f32 : impl_->dtype; }
int64_t PackedLinear::bytes() const { return impl_->bytes; }
const void* PackedLinear::data() const { return impl_->data; }

void PackedLinear::row(int64_t i, View<float, 1> out) const {
  QUERN_CHECK(i >= 0 && i < impl_->n && out.shape[0] == impl_->k, "row {} of {}", i, impl_->n);
  for (int64_t p = 0; p < impl_->k; ++p) out(p) = impl_->get(i, p);
}

// Pieces of a panel turned at a time. Pairs are turned as they are and then widened.
void PackedLinear::rows(int64_t begin, View<float, 2> out) const {
  const Impl& w = *impl_;
  const int64_t count = out.shape[0];
  QUERN_CHECK(begin >= 0 && begin + count <= w.n && out.shape[1] == w.k, "rows {} … {} of {}", begin, begin + count,
              w.n);
  if (active_isa() == Isa::ref) {
    for (int64_t i = 0; i < count; ++i) row(begin + i, {out.row(i), {w.k}});
    return;
  }
  constexpr int64_t kPiece = 64;  // elements along K: floats or pairs
  const TileKernels& tile = tile_kernels();
  const int64_t per = w.dtype == DType::bf16 ? 2 : 1, steps = (w.k + per - 1) / per,
                pieces = (steps + kPiece - 1) / kPiece;
  const int64_t first = begin / kPanel, panels = (begin + count + kPanel - 1) / kPanel - first;
  parallel_for(panels * pieces, 4, [&](int64_t from, int64_t to) {
    alignas(64) uint32_t pairs[kPanel * kPiece];
    for (int64_t item = from; item < to; ++item) {
      const int64_t panel = first + item / pieces, at = item % pieces * kPiece, m = std::min(kPiece, steps - at);
      const int64_t i = std::max(begin, panel * kPanel), n = std::min(begin + count, (panel + 1) * kPanel) - i;
      const uint32_t* source =
          static_cast<const uint32_t*>(w.data) + panel * kPanel * w.k_pad / per + at * kPanel + i % kPanel;
      float* rows = out.row(i - begin) + at * per;
      if (per == 1) {
        tile.transpose(source, kPanel, m, n, reinterpret_cast<uint32_t*>(rows), out.stride[0]);
        continue;
      }
      tile.transpose(source, kPanel, m, n, pairs, kPiece);
      for (int64_t r = 0; r < n; ++r)
        widen_pairs(pairs + r * kPiece, std::min(2 * m, w.k - 2 * at), rows + r * out.stride[0]);
    }
  });
}

namespace {

// Rows of x per work item: a block of W's panel is then read 192 times for one fetch from memory, and the item's x
// (192 × kBlockBytes) plus the block stay in a second-level cache of 1 MiB.
constexpr int64_t kItemRows = 192;
constexpr int64_t kBlockK = 512;  // 64 × 512 bf16 = 64 KiB of W between two passes over the item's rows
// Up to four row tiles: bound by reading W. One tile reads a panel from end to end and leaves fetching to the
// hardware (any software prefetch costs 2–10 %). More tiles pass over 64 KiB of W while the next 64 KiB are fetched
// into the second level; fetched into the first they would push out the block in use.
constexpr int64_t kFewRows = 24;
constexpr int64_t kFewBlockSteps = 256;

// x as the tiles read it: [T, row] bf16 pairs, floats, or floats rounded to bf16. Rows get 64 spare bytes so that those of a power-of-two K
// do not all fall into the same cache sets.
// `even`: a row of floats needs a zero behind its last when K is odd.
struct Staged {
  const char* data;
  int64_t row;  // in tile elements: pairs or floats
};

enum class Rows { floats, rounded, pairs };
Staged stage(View<const float, 2> x, Rows rows, int64_t k_pad, bool even, Arena& scratch) {
  int64_t t = x.shape[0], k = x.shape[1], line = (k_pad + 63) / 32 * 32 + 32;
  const TileKernels& kernels = tile_kernels();
  if (rows == Rows::rounded) {
    float* to = scratch.take<float>(t * line).data();
    parallel_for(t, 8, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) kernels.rounded(x.row(i), k, k_pad, to + i * line);
    });
    return {reinterpret_cast<const char*>(to), line};
  }
  if (rows == Rows::floats) {
    if (t <= kFewRows && (k == k_pad || !even)) return {reinterpret_cast<const char*>(x.data), x.stride[0]};
    float* to = scratch.take<float>(t * line).data();
    parallel_for(t, 8, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        std::memcpy(to + i * line, x.row(i), static_cast<size_t>(k) * sizeof(float));
        to[i * line + k] = 0;
      }
    });
    return {reinterpret_cast<const char*>(to), line};
  }
  uint16_t* to = scratch.take<uint16_t>(t * line).data();
  parallel_for(t, 8, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) kernels.to_bf16(x.row(i), k, k_pad, to + i * line);
  });
  return {reinterpret_cast<const char*>(to), line / 2};
}

// y = x·Wᵀ + b by its definition: the layout read element by element.
void apply_ref(const PackedLinear::Impl& w, View<const float, 2> x, View<const float, 1> bias, View<float, 2> y) {
  bool round = w.dtype == DType::bf16 && !w.widened;
  parallel_for(w.n, 16, [&](int64_t begin, int64_t end) {
    for (int64_t i = 0; i < x.shape[0]; ++i)
      for (int64_t j = begin; j < end; ++j) {
        double sum = bias ? static_cast<double>(bias(j)) : 0;
        for (int64_t p = 0; p < w.k; ++p) {
          float v = x(i, p);
          sum += static_cast<double>(round ? static_cast<float>(bf16(v)) : v) * static_cast<double>(w.get(j, p));
        }
        y(i, j) = static_cast<float>(sum);
      }
  });
}

class Apply {
 public:
  Apply(const PackedLinear::Impl& w, Staged x, Rows rows, View<const float, 1> bias, View<float, 2> y)
      : w_(w),
        x_(x),
        bias_(bias),
        y_(y),
        x_each_(w.dtype == DType::bf16 && rows != Rows::pairs ? 2 : 1),
        run_(w.dtype == DType::f32 ? tile_kernels().f32
             : rows == Rows::pairs ? tile_kernels().bf16
                                   : tile_kernels().widened) {}

  // Rows [i0, i1) of panels [p0, p1): K in blocks outermost, so that a block of W serves every row from cache.
  void operator()(int64_t i0, int64_t i1, int64_t p0, int64_t p1) const {
    int64_t per = w_.dtype == DType::bf16 ? 2 : 1;  // k values in a tile element
    int64_t tiles = (i1 - i0 + kTileRows - 1) / kTileRows;
    bool fetch = tiles > 1 && i1 - i0 <= kFewRows;
    int64_t steps = (per == 2 ? w_.k_pad : w_.k) / per;
    int64_t block = tiles == 1 ? std::max<int64_t>(steps, 1) : fetch ? kFewBlockSteps : kBlockK / per;
    const char* end = static_cast<const char*>(w_.data) + w_.bytes;
    for (int64_t p = p0; p < p1; ++p) {
      const char* panel = static_cast<const char*>(w_.data) + p * kPanel * w_.k_pad * dtype_size(w_.dtype);
      bool whole = (p + 1) * kPanel <= w_.n;
      for (int64_t k0 = 0; k0 < steps || k0 == 0; k0 += block) {
        int64_t kn = std::min(block, steps - k0);
        const char* b = panel + k0 * kPanel * 4;
        const char* next = b + kn * kPanel * 4;  // the following block, also where that begins the next panel
        for (int64_t r = 0; r < tiles; ++r) {
          // Rows are spread evenly over the tiles (16 = 6 + 5 + 5): every tile then has chains enough.
          int64_t from = i0 + (i1 - i0) * r / tiles, to = i0 + (i1 - i0) * (r + 1) / tiles;
          Tile t{.a = x_.data + (from * x_.row + x_each_ * k0) * 4,
                 .a_row = x_.row,
                 .b = b,
                 .b_k = kPanel,
                 .k = kn,
                 .rows = static_cast<int>(to - from),
                 .groups = 4,
                 .add = k0 > 0};
          if (fetch && next + kn * kPanel * 4 <= end) {  // four lines a step, shared out over the tiles
            t.prefetch_lines = tiles == 2 || (tiles == 3 && r == 0) ? 2 : 1;
            t.prefetch = next + (tiles == 3 ? (r == 0 ? 0 : r + 1) : r * t.prefetch_lines) * kn * 64;
          }
          tile(t, from, p * kPanel, whole);
        }
      }
    }
  }

 private:
  // One tile into y, through a buffer where the panel hangs over the last column; the first block adds the bias.
  void tile(Tile& t, int64_t row, int64_t column, bool whole) const {
    float edge[kTileRows * kPanel];
    int64_t n = std::min(kPanel, w_.n - column);
    bool first = !t.add;
    if (first && bias_) t.add = true;
    t.c = whole ? &y_(row, column) : edge;
    t.c_row = whole ? y_.stride[0] : kPanel;
    if (!whole) t.groups = static_cast<int>((n + 15) / 16);
    for (int i = 0; i < t.rows && (first ? static_cast<bool>(bias_) : !whole); ++i)
      std::copy_n(first ? bias_.data + column : &y_(row + i, column), n, t.c + i * t.c_row);
    run_(t);
    if (whole) return;
    for (int i = 0; i < t.rows; ++i) std::copy_n(edge + i * kPanel, n, &y_(row + i, column));
  }

  const PackedLinear::Impl& w_;
  Staged x_;
  View<const float, 1> bias_;
  View<float, 2> y_;
  int64_t x_each_;  // of its elements to one of W
  void (*run_)(const Tile&);
};

class Panels : public AmxPanels {
 public:
  Panels(const PackedLinear::Impl& w, View<const float, 1> bias, View<float, 2> y)
      : w_(w), bias_(bias), y_(y), from_tiles_(tile_kernels().from_tiles) {
    panels = w.panels, columns = w.n, steps = (w.k + 31) / 32, in_place = w.k_pad / 32;
  }

  const uint8_t* panel(size_t, int64_t p) const override {
    return static_cast<const uint8_t*>(w_.data) + p * kPanel * w_.k_pad * 2;
  }
  void unpack(size_t, int64_t p, int64_t first, int64_t n, uint8_t* to) const override {
    const auto there = static_cast<size_t>(std::min(32 * n, w_.k_pad - 32 * first) * kPanel * 2);
    std::memcpy(to, panel(0, p) + first * 32 * kPanel * 2, there);
    std::memset(to + there, 0, static_cast<size_t>(32 * n * kPanel * 2) - there);
  }
  void finish(size_t, int64_t row, int64_t rows, int64_t p, const void* sums) const override {
    from_tiles_({.sums = static_cast<const float*>(sums),
                 .rows = rows,
                 .columns = std::min(kPanel, w_.n - p * kPanel),
                 .bias = bias_ ? bias_.data + p * kPanel : nullptr,
                 .y = &y_(row, p * kPanel),
                 .y_row = y_.stride[0]});
  }

 private:
  const PackedLinear::Impl& w_;
  View<const float, 1> bias_;
  View<float, 2> y_;
  void (*from_tiles_)(const FromTiles&);
};

void apply_tiles(const PackedLinear::Impl& w, View<const float, 2> x, View<const float, 1> bias, View<float, 2> y,
                 Arena& scratch) {
  Arena::Scope scope(scratch);
  const Panels panels(w, bias, y);
  const AmxRows all{.rows = x.shape[0]};
  amx_product(amx_kernels().bf16, amx_stage(x, panels.steps, {&all, 1}, scratch), panels);
}

}  // namespace

void PackedLinear::apply(View<const float, 2> x, View<const float, 1> bias, View<float, 2> y, Arena& scratch) const {
  const Impl& w = *impl_;
  QUERN_CHECK(x.shape[1] == w.k && y.shape[1] == w.n && x.shape[0] == y.shape[0],
              "x [{}, {}], W [{}, {}], y [{}, {}]", x.shape[0], x.shape[1], w.n, w.k, y.shape[0], y.shape[1]);
  QUERN_CHECK(!bias || bias.shape[0] == w.n, "bias [{}], W [{}, {}]", bias.shape[0], w.n, w.k);
  if (y.size() == 0) return;
  if (active_isa() == Isa::ref) return apply_ref(w, x, bias, y);
  if (w.dtype == DType::bf16 && !w.widened && matrix_tiles()) return apply_tiles(w, x, bias, y, scratch);
  Arena::Scope scope(scratch);
  const Rows as = w.dtype == DType::f32 || w.widened         ? Rows::floats
                  : bf16_products() == Bf16Products::vdpbf16 ? Rows::pairs
                                                             : Rows::rounded;
  Apply run(w, stage(x, as, w.k_pad, w.widened, scratch), as, bias, y);
  int64_t rows = x.shape[0];
  if (rows <= kFewRows) {  // long contiguous stretches of W
    parallel_guided(w.panels, [&](int64_t begin, int64_t end) { run(0, rows, begin, end); });
    return;
  }
  constexpr int64_t kItemPanels = 4;  // a quarter of a megabyte of y per item, and items enough to balance
  int64_t blocks = (rows + kItemRows - 1) / kItemRows, across = (w.panels + kItemPanels - 1) / kItemPanels;
  parallel_dynamic(blocks * across, [&](int64_t item) {
    int64_t i = item % blocks, p = item / blocks * kItemPanels;
    run(rows * i / blocks, rows * (i + 1) / blocks, p, std::min(w.panels, p + kItemPanels));
  });
}

}  // namespace quern::kernels
