// Attention: the reference against a value worked out by hand and against finite differences; the fast versions
// against the reference under every instruction set; chunks, windows and packed segments against each other.
#include "quern/kernels/attention/attention.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "quern/base/cpu.h"
#include "quern/base/rng.h"
#include "quern/kernels/attention/attention_ref.h"
#include "quern/kernels/attention/cache_q8.h"
#include "quern/kernels/cpu/test_products.h"

namespace quern::kernels {
namespace {

struct IsaGuard {
  Isa before = active_isa();
  ~IsaGuard() { set_active_isa(before); }
};

std::vector<Isa> fast_isas() {
  std::vector<Isa> r;
  for (Isa i : {Isa::avx2, Isa::avx512})
    if (i <= detected_isa()) r.push_back(i);
  return r;
}

template <class T>
struct Array3 {  // rows hold three values more than they show: strides are not widths
  std::vector<T> data;
  View<T, 3> view;
  Array3(int64_t t, int64_t h, int64_t d, uint64_t seed) : data(static_cast<size_t>(t * (h * d + 3) + 1)) {
    Rng rng(seed);
    for (T& x : data) x = static_cast<T>(static_cast<float>(rng.uniform() * 2 - 1));
    view = {data.data(), {t, h, d}, {h * d + 3, d, 1}};
  }
  Array3(const Array3& a) : data(a.data), view(data.data(), a.view.shape, a.view.stride) {}
  Array3& operator=(const Array3&) = delete;
};

// The largest difference; infinite where one is not a number.
template <class T>
double worst_of(const Array3<T>& a, const Array3<T>& b) {
  double worst = 0;
  for (size_t i = 0; i < a.data.size(); ++i) {
    const double e = std::abs(static_cast<double>(a.data[i]) - static_cast<double>(b.data[i]));
    worst = std::max(worst, std::isnan(e) ? HUGE_VAL : e);
  }
  return worst;
}

template <class T>
void expect_near(const Array3<T>& a, const Array3<T>& b, double tolerance, const std::string& what) {
  EXPECT_LE(worst_of(a, b), tolerance) << what;
}

struct Case {
  int64_t tokens, hq, hkv, d, dv, past, window;
  std::string name() const {
    return fmt::format("T {} Hq {} Hkv {} d {} dv {} past {} window {}", tokens, hq, hkv, d, dv, past, window);
  }
};

// One segment of c.tokens queries behind c.past older keys.
template <class KV>
void compare_forward(const Case& c, bool bf16_math, double tolerance) {
  Array3<float> q(c.tokens, c.hq, c.d, 1), o(c.tokens, c.hq, c.dv, 9), want = o;
  Array3<KV> k(c.past + c.tokens, c.hkv, c.d, 2), v(c.past + c.tokens, c.hkv, c.dv, 3);
  Array3<float> lse(c.tokens, 1, c.hq, 9), want_lse = lse;
  AttentionSegment<KV> seg{0, c.tokens, k.view, v.view};
  AttentionOptions opt{
      .scale = 1.7 / std::sqrt(static_cast<double>(c.d)), .window = c.window, .bf16_math = bf16_math};
  auto rows = [&](Array3<float>& a) { return View<float, 2>(a.data.data(), {c.tokens, c.hq}, {c.hq + 3, 1}); };
  Arena scratch;
  attention<float, KV>(q.view, std::span<const AttentionSegment<KV>>(&seg, 1), opt, o.view, rows(lse), scratch);
  attention_ref<float, KV>(q.view, std::span<const AttentionSegment<KV>>(&seg, 1), opt, want.view, rows(want_lse),
                           scratch);
  std::string what = fmt::format("{} {} bf16 {}", isa_name(active_isa()), c.name(), bf16_math);
  expect_near(o, want, tolerance, "o: " + what);
  expect_near(lse, want_lse, tolerance, "lse: " + what);
}

const Case kCases[] = {{1, 1, 1, 4, 4, 0, 0},       {1, 4, 2, 64, 64, 300, 0},    {1, 8, 1, 80, 80, 700, 0},
                       {3, 4, 2, 20, 12, 77, 0},    {1, 3, 3, 128, 128, 513, 40}, {2, 16, 2, 33, 17, 260, 100},
                       {40, 2, 1, 64, 64, 0, 0},    {129, 4, 2, 80, 80, 0, 0},    {200, 2, 2, 128, 96, 31, 0},
                       {97, 3, 1, 20, 20, 150, 0},  {300, 2, 1, 64, 64, 0, 50},   {150, 1, 1, 464, 464, 0, 0},
                       {70, 2, 1, 224, 160, 3, 65}, {257, 1, 1, 5, 7, 0, 1},      {33, 2, 2, 1, 1, 0, 0},
                       {1, 2, 2, 160, 160, 301, 0}, {2, 1, 1, 464, 464, 129, 0},  {1, 5, 1, 48, 80, 65, 0}};

TEST(Attention, FastForwardMatchesReference) {
  each_products([] {
    if (active_isa() == Isa::ref) return;
    for (const Case& c : kCases) {
      compare_forward<float>(c, false, 2e-5);
      compare_forward<bf16>(c, false, 2e-5);
      // bf16 products: q, k, p and v carry 2^−9 each; the values are at most 1.
      compare_forward<float>(c, true, 2.5e-2);
      compare_forward<bf16>(c, true, 2.5e-2);
    }
  });
}

// A segment has the same bits alone and beside longer ones.
TEST(Attention, ASegmentDoesNotSeeTheOthers) {
  each_products([] {
    for (bool bf16_math : {false, true}) {
      Array3<float> q(70, 4, 40, 1), alone(70, 4, 40, 9), together = alone;
      Array3<bf16> k(200, 2, 40, 2), v(200, 2, 40, 3);
      const AttentionOptions opt{.scale = 0.2, .bf16_math = bf16_math};
      const auto segment = [&](int64_t begin, int64_t n, int64_t keys) {
        return AttentionSegment<bf16>{begin, n, k.view.slice(0, keys), v.view.slice(0, keys)};
      };
      const AttentionSegment<bf16> segments[] = {segment(0, 1, 150), segment(1, 3, 77), segment(4, 66, 200)};
      Arena scratch;
      attention<float, bf16>(q.view, segments, opt, together.view, {}, scratch);
      for (const auto& s : segments) attention<float, bf16>(q.view, {&s, 1}, opt, alone.view, {}, scratch);
      for (int64_t t = 0; t < 70; ++t)
        for (int64_t i = 0; i < 160; ++i)
          ASSERT_EQ(alone.view(t, i / 40, i % 40), together.view(t, i / 40, i % 40)) << t;
    }
  });
}

// Queries that are guessed ahead see what each would see alone.
TEST(Attention, AQueryDoesNotSeeTheQueriesBehindIt) {
  each_products([] {
    Array3<float> q(3, 4, 48, 1), alone(3, 4, 48, 9), together = alone;
    Array3<bf16> k(103, 2, 48, 2), v(103, 2, 48, 3);
    for (bool bf16_math : {false, true})
      for (int64_t keys : {3, 4, 6, 31, 102, 103}) {
        const AttentionOptions opt{.scale = 0.2, .bf16_math = bf16_math};
        const auto run = [&](Array3<float>& o, int64_t begin, int64_t n, int64_t seen) {
          AttentionSegment<bf16> s{begin, n, k.view.slice(0, seen), v.view.slice(0, seen)};
          Arena scratch;
          attention<float, bf16>(q.view, {&s, 1}, opt, o.view, {}, scratch);
        };
        run(together, 0, 3, keys);
        for (int64_t i = 0; i < 3; ++i) run(alone, i, 1, keys - 2 + i);
        for (int64_t t = 0; t < 3; ++t)
          for (int64_t i = 0; i < 192; ++i)
            ASSERT_EQ(alone.view(t, i / 48, i % 48), together.view(t, i / 48, i % 48))
                << "query " << t << " of " << keys;
      }
  });
}

// By tiles a query's outcome does not depend on where the prompt was cut, nor on the queries beside it.
TEST(Attention, TilesDoNotShowWhereAPromptWasCut) {
  const TilesScope tiles;
  if (!matrix_tiles()) GTEST_SKIP() << "the reference takes no tiles";
  const Case c{300, 2, 1, 40, 40, 0, 0};
  Array3<float> q(c.tokens, c.hq, c.d, 1), whole(c.tokens, c.hq, c.dv, 9), cut = whole;
  Array3<bf16> k(c.tokens, c.hkv, c.d, 2), v(c.tokens, c.hkv, c.dv, 3);
  const AttentionOptions opt{.scale = 0.2, .bf16_math = true};
  const auto run = [&](Array3<float>& o, int64_t from, int64_t to) {
    AttentionSegment<bf16> seg{from, to - from, k.view.slice(0, to), v.view.slice(0, to)};
    Arena scratch;
    attention<float, bf16>(q.view, std::span<const AttentionSegment<bf16>>(&seg, 1), opt, o.view, {}, scratch);
  };
  run(whole, 0, c.tokens);
  int64_t from = 0;
  for (int64_t to : {31, 64, 97, 160, 229, 300}) run(cut, from, to), from = to;
  for (int64_t t = 0; t < c.tokens; ++t)
    for (int64_t h = 0; h < c.hq; ++h)
      for (int64_t i = 0; i < c.dv; ++i)
        ASSERT_EQ(whole.view(t, h, i), cut.view(t, h, i)) << t << " " << h << " " << i;
}

// A cache in 8 bits, head by head as sequences keep it, of rows whose sizes differ a thousandfold.
struct CacheQ8 {
  std::vector<float> x;
  std::vector<int8_t> bytes;
  std::vector<float> scales;
  View<int8_t, 3> q;
  View<float, 2> scale;
  CacheQ8(int64_t t, int64_t h, int64_t d, uint64_t seed)
      : x(static_cast<size_t>(t * h * d)), bytes(x.size()), scales(static_cast<size_t>(t * h)) {
    Rng rng(seed);
    for (size_t i = 0; i < x.size(); ++i) {
      const size_t row = i / static_cast<size_t>(d);
      x[i] = static_cast<float>((rng.uniform() * 2 - 1) * std::pow(10.0, -static_cast<double>(row % 4)));
    }
    q = {bytes.data(), {t, h, d}, {d, t * d, 1}};
    scale = {scales.data(), {t, h}, {1, t}};
    quantize_cache_rows({x.data(), {t, h, d}}, q, scale);
  }
};

// The largest difference to the definition in double over the same bytes.
double worst_of_q8(const Case& c, bool bf16_math) {
  Array3<float> q(c.tokens, c.hq, c.d, 1), o(c.tokens, c.hq, c.dv, 9), want = o;
  CacheQ8 k(c.past + c.tokens, c.hkv, c.d, 2), v(c.past + c.tokens, c.hkv, c.dv, 3);
  Array3<float> lse(c.tokens, 1, c.hq, 9), want_lse = lse;
  AttentionSegment<int8_t> seg{0, c.tokens, k.q, v.q, k.scale, v.scale};
  AttentionOptions opt{
      .scale = 1.7 / std::sqrt(static_cast<double>(c.d)), .window = c.window, .bf16_math = bf16_math};
  auto rows = [&](Array3<float>& a) { return View<float, 2>(a.data.data(), {c.tokens, c.hq}, {c.hq + 3, 1}); };
  const std::span<const AttentionSegment<int8_t>> segments(&seg, 1);
  Arena scratch;
  attention<float, int8_t>(q.view, segments, opt, o.view, rows(lse), scratch);
  attention_ref<float, int8_t>(q.view, segments, opt, want.view, rows(want_lse), scratch);
  return std::max(worst_of(o, want), worst_of(lse, want_lse));
}

TEST(AttentionQ8, FastMatchesReference) {
  IsaGuard guard;
  for (bool bf16_file : {true, false})  // where products of 16 bits are one instruction, and two
    for (Isa isa : fast_isas()) {
      set_active_isa(isa);
      allow_avx512_bf16(bf16_file);
      for (const Case& c : kCases) {
        const bool tiles = attention_path(c.tokens * (c.hq / c.hkv)) == AttentionPath::prefill;
        const std::string what = fmt::format("{} {} bf16 file {}", isa_name(isa), c.name(), bf16_file);
        // Few rows: queries and probabilities in 16 bits, whatever the model multiplies in. Tiles: rows in f32 or
        // bf16.
        EXPECT_LE(worst_of_q8(c, false), 5e-5) << what;
        EXPECT_LE(worst_of_q8(c, true), tiles ? 2.5e-2 : 5e-5) << what;
      }
    }
  allow_avx512_bf16(true);
}

TEST(AttentionQ8, SumsOfTheLargestNumbersFit) {
  // Everything at its largest: 512 products of 127 · 32767 a score, and 64 probabilities of 1 a value.
  IsaGuard guard;
  constexpr int64_t kKeys = 200, kWidth = 512;
  std::vector<float> x(kKeys * kWidth, -2.0f), q(kWidth, 0.5f), o(kWidth), scales(kKeys);
  std::vector<int8_t> bytes(x.size());
  const View<int8_t, 3> rows(bytes.data(), {kKeys, 1, kWidth});
  const View<float, 2> scale(scales.data(), {kKeys, 1});
  quantize_cache_rows({x.data(), {kKeys, 1, kWidth}}, rows, scale);
  AttentionSegment<int8_t> seg{0, 1, rows, rows, scale, scale};
  for (Isa isa : fast_isas()) {
    set_active_isa(isa);
    float lse = 0;
    Arena scratch;
    attention<float, int8_t>({q.data(), {1, 1, kWidth}}, std::span<const AttentionSegment<int8_t>>(&seg, 1),
                             {.scale = 1.0 / 256}, {o.data(), {1, 1, kWidth}}, {&lse, {1, 1}}, scratch);
    EXPECT_NEAR(lse, -2.0 + std::log(200.0), 1e-4) << isa_name(isa);  // every score is 512 · 0.5 · −2 / 256
    for (float y : o) ASSERT_NEAR(y, -2, 1e-4) << isa_name(isa);
  }
}

TEST(AttentionQ8, WhatIsNoNumberStaysNone) {
  IsaGuard guard;
  for (Isa isa : fast_isas())
    for (float odd : {NAN, INFINITY}) {
      set_active_isa(isa);
      for (int where : {0, 1, 2}) {  // in the query, a key, a value
        std::vector<float> q(32, 0.5f), x(20 * 32, 0.25f), y = x, o(32), ks(20), vs(20);
        (where == 0 ? q[7] : where == 1 ? x[5 * 32 + 3] : y[5 * 32 + 3]) = odd;
        std::vector<int8_t> k(x.size()), v(x.size());
        const View<int8_t, 3> kr(k.data(), {20, 1, 32}), vr(v.data(), {20, 1, 32});
        const View<float, 2> kss(ks.data(), {20, 1}), vss(vs.data(), {20, 1});
        quantize_cache_rows({x.data(), {20, 1, 32}}, kr, kss);
        quantize_cache_rows({y.data(), {20, 1, 32}}, vr, vss);
        AttentionSegment<int8_t> seg{0, 1, kr, vr, kss, vss};
        Arena scratch;
        attention<float, int8_t>({q.data(), {1, 1, 32}}, std::span<const AttentionSegment<int8_t>>(&seg, 1), {},
                                 {o.data(), {1, 1, 32}}, {}, scratch);
        EXPECT_FALSE(std::isfinite(o[3])) << isa_name(isa) << " " << where;
      }
    }
}

TEST(CacheQ8Rows, AreNearestWholeNumbersOfTheirLargest) {
  const std::vector<float> x = {1, -2, 0.5f, 0.0079f, 0, 0, 0, 0, 1e-38f, 3e-38f, 0, -3e-38f, -3, 3, 1.5f, 2.9999f};
  std::vector<int8_t> q(16, 77);
  std::vector<float> scale(4), back(16);
  quantize_cache_rows({x.data(), {2, 2, 4}}, {q.data(), {2, 2, 4}}, {scale.data(), {2, 2}});
  EXPECT_EQ(q, (std::vector<int8_t>{64, -127, 32, 1, 0, 0, 0, 0, 0, 0, 0, 0, -127, 127, 64, 127}));
  EXPECT_EQ(scale[0], 2 / 127.0f);
  EXPECT_EQ(scale[1], 0);
  dequantize_cache_rows({q.data(), {2, 2, 4}}, {scale.data(), {2, 2}}, {back.data(), {2, 2, 4}});
  for (size_t i = 0; i < x.size(); ++i) EXPECT_LE(std::abs(back[i] - x[i]), scale[i / 4] / 2 * 1.0001f + 1e-37f);
}

TEST(Attention, TheChosenIsaIsTheOneThatRuns) {
  IsaGuard guard;
  set_active_isa(Isa::ref);
  EXPECT_EQ(attention_path(1), AttentionPath::ref);
  for (Isa isa : fast_isas()) {
    set_active_isa(isa);
    EXPECT_EQ(attention_path(1), AttentionPath::decode);
    EXPECT_EQ(attention_path(1000), AttentionPath::prefill);
  }
  // ref is not only reported: its sums are in double, so it equals the reference bit for bit.
  set_active_isa(Isa::ref);
  compare_forward<float>(kCases[6], false, 0);
}

TEST(Attention, ReferenceMatchesAHandComputedValue) {
  // Query 1 scores 0 against key 0 and ln 3 against key 1: weights ¼ and ¾ of values 4 and 8 make 7; lse = ln 4.
  double ln3 = std::log(3.0);
  std::vector<double> q{5, 1}, k{0, ln3}, v{4, 8}, o(2), lse(2);
  AttentionSegment<double> seg{0, 2, {k.data(), {2, 1, 1}}, {v.data(), {2, 1, 1}}};
  Arena scratch;
  attention<double, double>({q.data(), {2, 1, 1}}, std::span<const AttentionSegment<double>>(&seg, 1), {},
                            {o.data(), {2, 1, 1}}, {lse.data(), {2, 1}}, scratch);
  EXPECT_NEAR(o[0], 4, 1e-14);
  EXPECT_NEAR(o[1], 7, 1e-14);
  EXPECT_NEAR(lse[0], 0, 1e-14);
  EXPECT_NEAR(lse[1], std::log(4.0), 1e-14);
}

// Forward over `offsets` segments without a cache.
template <class T>
void forward(const Array3<T>& q, const Array3<T>& k, const Array3<T>& v, std::span<const int32_t> offsets,
             AttentionOptions opt, Array3<T>& o, std::vector<T>& lse) {
  std::vector<AttentionSegment<T>> segs;
  for (size_t s = 0; s + 1 < offsets.size(); ++s)
    segs.push_back({offsets[s], offsets[s + 1] - offsets[s], k.view.slice(offsets[s], offsets[s + 1]),
                    v.view.slice(offsets[s], offsets[s + 1])});
  lse.resize(static_cast<size_t>(q.view.shape[0] * q.view.shape[1]));
  Arena scratch;
  attention<T, T>(q.view, std::span<const AttentionSegment<T>>(segs), opt, o.view,
                  {lse.data(), {q.view.shape[0], q.view.shape[1]}}, scratch);
}

TEST(Attention, PackedSegmentsEqualSeparateOnes) {
  IsaGuard guard;
  const std::vector<int32_t> offsets{0, 5, 5, 135, 136, 250};
  for (Isa isa : fast_isas()) {
    set_active_isa(isa);
    Array3<float> q(250, 4, 20, 1), k(250, 2, 20, 2), v(250, 2, 20, 3), packed(250, 4, 20, 4), one = packed;
    std::vector<float> lse;
    forward<float>(q, k, v, offsets, {.scale = 0.3}, packed, lse);
    Arena scratch;
    for (size_t s = 0; s + 1 < offsets.size(); ++s) {
      int32_t b = offsets[s], n = offsets[s + 1] - b;
      AttentionSegment<float> seg{b, n, k.view.slice(b, b + n), v.view.slice(b, b + n)};
      attention<float, float>(q.view, std::span<const AttentionSegment<float>>(&seg, 1), {.scale = 0.3}, one.view, {},
                              scratch);
    }
    expect_near(packed, one, 1e-5, std::string(isa_name(isa)));
  }
}

TEST(Attention, ChunksOverACacheEqualOnePass) {
  IsaGuard guard;
  for (Isa isa : fast_isas()) {
    set_active_isa(isa);
    for (int64_t window : {0, 70}) {
      const std::vector<int32_t> all{0, 230};
      Array3<float> q(230, 4, 64, 1), k(230, 2, 64, 2), v(230, 2, 64, 3), full(230, 4, 64, 4), chunked = full;
      std::vector<float> lse;
      forward<float>(q, k, v, all, {.scale = 0.2, .window = window}, full, lse);
      Arena scratch;
      for (auto [b, e] : {std::pair<int64_t, int64_t>{0, 100}, {100, 101}, {101, 104}, {104, 230}}) {
        AttentionSegment<float> seg{b, e - b, k.view.slice(0, e), v.view.slice(0, e)};
        attention<float, float>(q.view, std::span<const AttentionSegment<float>>(&seg, 1),
                                {.scale = 0.2, .window = window}, chunked.view, {}, scratch);
      }
      expect_near(full, chunked, 1e-5, fmt::format("{} window {}", isa_name(isa), window));
    }
  }
}

TEST(AttentionBackward, ReferenceMatchesFiniteDifferences) {
  const std::vector<int32_t> offsets{0, 3, 8};
  AttentionOptions opt{.scale = 0.7, .window = 4};
  Array3<double> q(8, 4, 3, 1), k(8, 2, 3, 2), v(8, 2, 2, 3), o(8, 4, 2, 4), go(8, 4, 2, 5);
  Array3<double> gq(8, 4, 3, 6), gk(8, 2, 3, 7), gv(8, 2, 2, 8);
  std::vector<double> lse;
  Arena scratch;
  forward<double>(q, k, v, offsets, opt, o, lse);
  attention_backward<double>({.q = q.view,
                              .k = k.view,
                              .v = v.view,
                              .o = o.view,
                              .lse = {lse.data(), {8, 4}},
                              .go = go.view,
                              .offsets = offsets,
                              .options = opt,
                              .grads = {gq.view, gk.view, gv.view}},
                             scratch);
  auto loss = [&] {
    Array3<double> out(8, 4, 2, 4);
    std::vector<double> ignored;
    forward<double>(q, k, v, offsets, opt, out, ignored);
    double sum = 0;
    for (int64_t t = 0; t < 8; ++t)
      for (int64_t h = 0; h < 4; ++h)
        for (int64_t c = 0; c < 2; ++c) sum += out.view(t, h, c) * go.view(t, h, c);
    return sum;
  };
  auto check = [&](Array3<double>& x, const Array3<double>& g, const char* name) {
    for (int64_t t = 0; t < x.view.shape[0]; ++t)
      for (int64_t h = 0; h < x.view.shape[1]; ++h)
        for (int64_t c = 0; c < x.view.shape[2]; ++c) {
          constexpr double kStep = 1e-5;
          double& e = x.view(t, h, c);
          double was = e;
          e = was + kStep;
          double up = loss();
          e = was - kStep;
          double down = loss();
          e = was;
          ASSERT_NEAR(g.view(t, h, c), (up - down) / (2 * kStep), 1e-8) << name << " " << t << " " << h << " " << c;
        }
  };
  check(q, gq, "q");
  check(k, gk, "k");
  check(v, gv, "v");
}

void compare_backward(const std::vector<int32_t>& offsets, const Case& c, bool bf16_math, double tolerance) {
  int64_t n = offsets.back();
  AttentionOptions opt{
      .scale = 1.3 / std::sqrt(static_cast<double>(c.d)), .window = c.window, .bf16_math = bf16_math};
  Array3<float> q(n, c.hq, c.d, 1), k(n, c.hkv, c.d, 2), v(n, c.hkv, c.dv, 3), o(n, c.hq, c.dv, 4),
      go(n, c.hq, c.dv, 5);
  Array3<float> gq(n, c.hq, c.d, 6), gk(n, c.hkv, c.d, 7), gv(n, c.hkv, c.dv, 8), wq = gq, wk = gk, wv = gv;
  std::vector<float> lse;
  forward<float>(q, k, v, offsets, {.scale = opt.scale, .window = c.window}, o, lse);
  View<const float, 2> l(lse.data(), {n, c.hq});
  Arena scratch;
  attention_backward<float>({.q = q.view,
                             .k = k.view,
                             .v = v.view,
                             .o = o.view,
                             .lse = l,
                             .go = go.view,
                             .offsets = offsets,
                             .options = opt,
                             .grads = {gq.view, gk.view, gv.view}},
                            scratch);
  attention_backward_ref<float>({.q = q.view,
                                 .k = k.view,
                                 .v = v.view,
                                 .o = o.view,
                                 .lse = l,
                                 .go = go.view,
                                 .offsets = offsets,
                                 .options = opt,
                                 .grads = {wq.view, wk.view, wv.view}},
                                scratch);
  std::string what = fmt::format("{} {} bf16 {}", isa_name(active_isa()), c.name(), bf16_math);
  expect_near(gq, wq, tolerance, "gq: " + what);
  expect_near(gk, wk, tolerance * static_cast<double>(c.hq / c.hkv), "gk: " + what);
  expect_near(gv, wv, tolerance * static_cast<double>(c.hq / c.hkv), "gv: " + what);
}

TEST(AttentionBackward, FastMatchesReference) {
  const std::vector<int32_t> packed{0, 7, 7, 140, 141, 211}, one{0, 200}, row{0, 1};
  each_products([&] {
    if (active_isa() == Isa::ref) return;
    for (bool bf : {false, true}) {
      // Single gradients reach about 3 here; bf16 rounds p, g and go to 2^−9.
      double tolerance = bf ? 5e-2 : 5e-5;
      compare_backward(packed, {0, 4, 2, 20, 12, 0, 0}, bf, tolerance);
      compare_backward(packed, {0, 2, 2, 64, 64, 0, 30}, bf, tolerance);
      compare_backward(one, {0, 4, 1, 80, 80, 0, 0}, bf, tolerance);
      compare_backward(one, {0, 2, 1, 33, 5, 0, 100}, bf, tolerance);
      compare_backward(one, {0, 1, 1, 160, 224, 0, 0}, bf, tolerance);
      compare_backward(row, {0, 2, 1, 4, 4, 0, 0}, bf, tolerance);
    }
  });
}

}  // namespace
}  // namespace quern::kernels
