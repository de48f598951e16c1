// Quantized products: every instruction set against the definition read element by element, values against bounds of
// rounding, blobs that do not fit.
#include <gtest/gtest.h>

#include <cmath>

#include "quern/base/test_message.h"
#include "quern/kernels/cpu/test_products.h"
#include "quern/kernels/quant/error_feedback.h"
#include "quern/kernels/quant/quant_ref.h"

namespace quern::kernels {
namespace {

const QuantFormat kQuantFormats[] = {{WeightFormat::q8},           {WeightFormat::q4, 32},
                                     {WeightFormat::q4, 64},       {WeightFormat::q4, 32, true},
                                     {WeightFormat::q4, 64, true}, {WeightFormat::q8a8}};

Tensor noise(Shape shape, uint64_t seed) {
  Tensor t = Tensor::empty(std::move(shape), DType::f32);
  Rng rng(seed);
  for (float& x : t.span<float>()) x = static_cast<float>(rng.normal());
  return t;
}

void compare(const QuantFormat& s, int64_t t, int64_t n, int64_t k, bool with_bias) {
  Tensor w = noise({n, k}, 1), xs = noise({t, k + 3}, 2), b = noise({n}, 3);
  Tensor got = Tensor::full({t, n + 9}, DType::f32, 42), want = Tensor::zeros({t, n}, DType::f32);
  QuantLinear q = QuantLinear::pack(w, s);
  View<const float, 2> x = xs.narrow(1, 0, k).view<const float, 2>();
  View<const float, 1> bias = with_bias ? b.view<const float, 1>() : View<const float, 1>();
  Arena scratch;
  q.apply(x, bias, got.narrow(1, 0, n).view<float, 2>(), scratch);
  quant_apply_ref(QuantLayout(n, k, s), q.blob().data<uint8_t>(), s.format == WeightFormat::q8a8, x, bias,
                  want.view<float, 2>());
  // A few rows are fixed point: values a 64th of the largest of their block and below lose bits.
  const double tolerance = 2e-6 * static_cast<double>(k) + (t <= 4 ? 5e-4 : 2e-5);
  for (int64_t i = 0; i < t; ++i)
    for (int64_t j = 0; j < n + 9; ++j)
      ASSERT_NEAR(got.item(i * (n + 9) + j), j < n ? want.item(i * n + j) : 42, tolerance)
          << to_string(s) << " under " << isa_name(active_isa()) << (has_avx512_bf16() ? " with bf16" : "") << ": t "
          << t << " n " << n << " k " << k << " at " << i << ", " << j;
}

TEST(QuantLinear, MatchesTheDefinitionUnderEveryIsa) {
  each_products([] {
    for (const QuantFormat& s : kQuantFormats) {
      for (int64_t t = 1; t <= 40; ++t) compare(s, t, 70, 100, t % 2 == 0);
      for (int64_t t : {0, 1, 2, 3, 4, 5, 25, 200})
        for (auto [n, k] : {std::pair<int64_t, int64_t>{64, 32}, {1, 1}, {130, 65}, {200, 301}, {64, 0}})
          compare(s, t, n, k, t % 2 == 0);
      for (int64_t t : {1, 3, 11, 16, 24, 30, 200}) compare(s, t, 65, 1100, true);
    }
  });
}

// What a product of a few rows gives, and what the definition says.
std::pair<Tensor, Tensor> both(const QuantFormat& s, const Tensor& x, int64_t n) {
  const int64_t t = x.dim(0), k = x.dim(1);
  const QuantLinear q = QuantLinear::pack(noise({n, k}, 31), s);
  Tensor got = Tensor::zeros({t, n}, DType::f32), want = Tensor::zeros({t, n}, DType::f32);
  Arena scratch;
  q.apply(x.view<const float, 2>(), {}, got.view<float, 2>(), scratch);
  quant_apply_ref(QuantLayout(n, k, s), q.blob().data<uint8_t>(), s.format == WeightFormat::q8a8,
                  x.view<const float, 2>(), {}, want.view<float, 2>());
  return {got, want};
}

// Up to four rows are whole numbers of 16 bits in blocks of K: within a factor of 64 of the largest nothing is lost,
// and the sum of a block is rounded once.
TEST(QuantLinear, FewRowsAreExactInABlock) {
  if (!has_avx512_vnni()) GTEST_SKIP() << "no byte products here";
  const Bf16ProductsScope no_tiles(Bf16Products::fma);
  for (const QuantFormat& s : kQuantFormats) {
    if (s.format == WeightFormat::q8a8 || s.asymmetric) continue;  // a zero point is subtracted in f32
    const int64_t k = s.format == WeightFormat::q4 ? s.group : 64;
    for (int64_t t = 1; t <= 4; ++t) {
      Tensor x = Tensor::empty({t, k}, DType::f32);
      Rng rng(static_cast<uint64_t>(t));
      for (float& v : x.span<float>())
        v = std::ldexp(static_cast<float>(bf16(static_cast<float>(1 + rng.uniform()))),
                       static_cast<int>(rng.below(6)) - 40) *
            (rng.below(2) ? 1.0f : -1.0f);
      const auto [got, want] = both(s, x, 70);
      for (int64_t i = 0; i < t * 70; ++i)
        ASSERT_NEAR(got.item(i), want.item(i), 3e-7 * std::fabs(want.item(i)))
            << to_string(s) << ", " << t << " rows";
    }
  }
}

// Beside a value much larger than themselves small ones lose bits, at most 2^-15 of the large one each.
TEST(QuantLinear, FewRowsKeepSmallValuesBesideALargeOne) {
  for (const QuantFormat& s : kQuantFormats) {
    if (s.format == WeightFormat::q8a8) continue;
    Tensor x = noise({3, 300}, 9);
    for (int64_t i = 0; i < 3; ++i) x.data<float>()[i * 300 + 40 * i] = 3000;
    const auto [got, want] = both(s, x, 70);
    for (int64_t i = 0; i < 3 * 70; ++i) ASSERT_NEAR(got.item(i), want.item(i), 3000 * 0x1p-15 * 64) << to_string(s);
  }
}

TEST(QuantLinear, BadNumbersStayBad) {
  each_products([] {
    for (const QuantFormat& s : kQuantFormats) {
      if (s.format == WeightFormat::q8a8) continue;
      for (int64_t t : {1, 2, 3, 4, 5, 20})
        for (float bad : {NAN, INFINITY}) {
          Tensor x = noise({t, 100}, 5);
          x.data<float>()[(t - 1) * 100 + 70] = bad;
          const Tensor got = both(s, x, 70).first;
          for (int64_t i = 0; i < t * 70; ++i)
            ASSERT_EQ(std::isfinite(got.item(i)), i / 70 < t - 1) << to_string(s) << " " << t;
        }
    }
  });
}

TEST(QuantLinear, ZeroAndTinyRows) {
  for (const QuantFormat& s : kQuantFormats) {
    if (s.format == WeightFormat::q8a8) continue;
    for (float v : {0.0f, 1e-40f, 1e-30f}) {
      const auto [got, want] = both(s, Tensor::full({2, 70}, DType::f32, v), 70);
      for (int64_t i = 0; i < 140; ++i)
        ASSERT_NEAR(got.item(i), want.item(i), v < 1e-35f ? 1e-36f : 1e-4f * 70 * v) << to_string(s) << " of " << v;
    }
  }
}

// Matrices side by side give what each gives alone, bit for bit; rows of nobody are not touched.
TEST(QuantLinear, TogetherIsTheSameAsOneByOne) {
  const int64_t n = 130, k = 300;
  const std::pair<int64_t, int64_t> rows[] = {{0, 1}, {1, 4}, {4, 4}, {5, 26}, {26, 28}};
  Tensor x = noise({28, k}, 8);
  each_products([&] {
    for (const QuantFormat& s : kQuantFormats) {
      std::vector<QuantLinear> w;
      for (uint64_t i = 0; i < 5; ++i) w.push_back(QuantLinear::pack(noise({n, k}, 10 + i), s));
      std::vector<QuantLinear::Group> groups;
      for (size_t i = 0; i < 5; ++i)
        if (s.format != WeightFormat::q4 || i != 3) groups.push_back({&w[i], rows[i].first, rows[i].second});
      Tensor got = Tensor::full({28, n}, DType::f32, 42), want = Tensor::full({28, n}, DType::f32, 42);
      Arena scratch;
      if (!QuantLinear::apply_together(groups, x.view<const float, 2>(), got.view<float, 2>(), scratch)) {
        EXPECT_FALSE(matrix_tiles() || bf16_products() == Bf16Products::vdpbf16) << to_string(s);
        continue;
      }
      for (const QuantLinear::Group& g : groups)
        g.w->apply(x.view<const float, 2>().slice(g.begin, g.end), {}, want.view<float, 2>().slice(g.begin, g.end),
                   scratch);
      for (int64_t i = 0; i < 28 * n; ++i) ASSERT_EQ(got.item(i), want.item(i)) << to_string(s) << " at " << i;
      groups.push_back({&w[0], 3, 28});
      QuantLinear other = QuantLinear::pack(noise({n, k - 1}, 20), s);
      groups.back().w = &other;
      EXPECT_FALSE(QuantLinear::apply_together(groups, x.view<const float, 2>(), got.view<float, 2>(), scratch));
    }
  });
}

// A machine with bf16 products must reach both AVX-512 tables.
TEST(QuantLinear, Bf16ProductsCanBeSwitchedOff) {
  int with = 0, without = 0;
  each_products([&] {
    if (active_isa() == Isa::avx512) ++(bf16_products() == Bf16Products::vdpbf16 ? with : without);
  });
  EXPECT_EQ(with, has_bf16_products(Bf16Products::vdpbf16) ? 1 : 0);
  EXPECT_GE(without, detected_isa() >= Isa::avx512 ? 1 : 0);
}

Tensor rows_of(const QuantLinear& w, const Tensor& x, int64_t first, int64_t rows) {
  Tensor y = Tensor::empty({rows, w.n()}, DType::f32);
  Arena scratch;
  w.apply(x.view<const float, 2>().slice(first, first + rows), {}, y.view<float, 2>(), scratch);
  return y;
}

void expect_rows(const Tensor& part, const Tensor& all, int64_t first, const std::string& what) {
  for (int64_t i = 0; i < part.size(); ++i)
    ASSERT_EQ(part.item(i), all.item(first * part.dim(1) + i)) << what << " from " << first << " at " << i;
}

// When asked for, a row has the same bits alone and among others, for every format; by tiles also without.
TEST(QuantLinear, ARowIsSummedTheSameWayWhateverStandsBesideIt) {
  const Tensor x = noise({330, 580}, 8);
  each_products([&] {
    set_exact_rows(!matrix_tiles());
    for (const QuantFormat& s : kQuantFormats) {
      const QuantLinear w = QuantLinear::pack(noise({70, 580}, 9), s);
      const Tensor all = rows_of(w, x, 0, 330);
      for (auto [first, rows] : {std::pair<int64_t, int64_t>{0, 1},
                                 {329, 1},
                                 {3, 4},
                                 {9, 5},
                                 {20, 16},
                                 {4, 17},
                                 {50, 63},
                                 {11, 64},
                                 {40, 260}})
        expect_rows(rows_of(w, x, first, rows), all, first, to_string(s));
    }
    set_exact_rows(false);
  });
}

// Bytes times bytes are whole numbers: every instruction set gives the same bits.
TEST(QuantLinear, BytesGiveTheSameBitsEverywhere) {
  const Tensor x = noise({40, 331}, 8);
  const QuantLinear w = QuantLinear::pack(noise({70, 331}, 9), WeightFormat::q8a8);
  Tensor first;
  each_products([&] {
    if (active_isa() == Isa::ref) return;  // which sums in double
    const Tensor y = rows_of(w, x, 0, 40);
    if (!first.defined()) first = y;
    expect_rows(y, first, 0, "q8a8");
    expect_rows(rows_of(w, x, 5, 2), first, 5, "q8a8");
  });
}

// |w − W| is at most half a step; a step is what the scheme says of the row's or group's range.
TEST(QuantLinear, WeightsAreWithinHalfAStep) {
  const int64_t n = 70, k = 150;
  Tensor w = noise({n, k}, 4);
  for (const QuantFormat& s : kQuantFormats) {
    QuantLinear q = QuantLinear::pack(w, s);
    std::vector<float> row(static_cast<size_t>(k));
    const int64_t group = s.format == WeightFormat::q4 ? s.group : k;
    for (int64_t i = 0; i < n; ++i) {
      q.row(i, {row.data(), {k}});
      for (int64_t g = 0; g < k; g += group) {
        double low = 0, high = 0, worst = 0;
        for (int64_t p = g; p < std::min(k, g + group); ++p) {
          const double v = w.item(i * k + p);
          low = std::min(low, v), high = std::max(high, v);
          worst = std::max(worst, std::fabs(v - static_cast<double>(row[static_cast<size_t>(p)])));
        }
        // Least squares may clip an outlier: then its error is more than half a step, but never a whole range.
        const double step = s.format != WeightFormat::q4 ? std::max(-low, high) / 127
                            : s.asymmetric               ? (high - low) / 15
                                                         : std::max(-low / 8, high / 7);
        ASSERT_LE(worst, step * (s.format == WeightFormat::q4 ? 2.1 : 0.5001)) << to_string(s) << " row " << i;
      }
    }
  }
}

double relative_rms(const Tensor& w, const QuantFormat& s, const InputFactor& inputs = {}) {
  QuantLinear q = quantize_with_error_feedback(w, s, inputs);
  const int64_t n = w.dim(0), k = w.dim(1);
  std::vector<float> row(static_cast<size_t>(k));
  double error = 0, all = 0;
  for (int64_t i = 0; i < n; ++i) {
    q.row(i, {row.data(), {k}});
    for (int64_t p = 0; p < k; ++p) {
      error += std::pow(static_cast<double>(row[static_cast<size_t>(p)]) - w.item(i * k + p), 2);
      all += std::pow(w.item(i * k + p), 2);
    }
  }
  return std::sqrt(error / all);
}

// Of Gaussian weights: a uniform step of max / 127 with max ≈ 3.5σ leaves 0.8 %; four bits with least-squares scales
// 8 to 10 %.
TEST(QuantLinear, ErrorsAreWhatTheBitsAllow) {
  Tensor w = noise({128, 1024}, 5);
  EXPECT_LT(relative_rms(w, {WeightFormat::q8}), 0.0095);
  EXPECT_LT(relative_rms(w, {WeightFormat::q4, 32}), 0.090);
  EXPECT_LT(relative_rms(w, {WeightFormat::q4, 64}), 0.100);
  EXPECT_LT(relative_rms(w, {WeightFormat::q4, 32, true}), 0.085);
}

TEST(QuantLinear, ImportanceLowersTheWeightedError) {
  Tensor w = noise({64, 512}, 6);
  std::vector<float> h(512);
  for (size_t p = 0; p < h.size(); ++p) h[p] = p % 16 == 0 ? 100.0f : 1.0f;
  Tensor identity = Tensor::zeros({512, 512}, DType::f32);
  for (int64_t i = 0; i < 512; ++i) identity.data<float>()[i * 513] = 1;
  for (const QuantFormat& s : {QuantFormat(WeightFormat::q8), QuantFormat(WeightFormat::q4, 32)}) {
    QuantLinear plain = QuantLinear::pack(w, s), weighted = quantize_with_error_feedback(w, s, {h, identity});
    auto error = [&](const QuantLinear& q) {
      std::vector<float> row(512);
      double e = 0;
      for (int64_t i = 0; i < 64; ++i) {
        q.row(i, {row.data(), {512}});
        for (size_t p = 0; p < 512; ++p)
          e += static_cast<double>(h[p]) *
               std::pow(static_cast<double>(row[p]) - w.item(i * 512 + static_cast<int64_t>(p)), 2);
      }
      return e;
    };
    EXPECT_LT(error(weighted), error(plain)) << to_string(s);
  }
}

// Rows of x whose channels follow one another, as in a random walk that forgets.
Tensor correlated(int64_t t, int64_t k, uint64_t seed) {
  Tensor x = noise({t, k}, seed);
  for (int64_t i = 0; i < t; ++i)
    for (int64_t p = 1; p < k; ++p) x.data<float>()[i * k + p] += 0.8f * x.data<float>()[i * k + p - 1];
  return x;
}

InputFactor factor_of(const Tensor& x, double damping) {
  InputSquares seen;
  const int64_t half = x.dim(0) / 2;
  add_outer_products(x.narrow(0, 0, half).view<const float, 2>(), seen);
  add_outer_products(x.narrow(0, half, x.dim(0) - half).view<const float, 2>(), seen);
  EXPECT_EQ(seen.rows, x.dim(0));
  return factor_inputs(std::move(seen), damping);
}

// U·D·Uᵀ is XᵀX over its mean diagonal, and the damping on the diagonal.
TEST(InputFactor, MultipliesBackToTheGram) {
  const int64_t k = 150;
  for (int64_t t : {40, 400}) {
    const Tensor x = correlated(t, k, 31);
    const InputFactor f = factor_of(x, 0.03);
    std::vector<double> h(static_cast<size_t>(k * k));
    double mean = 0;
    for (int64_t i = 0; i < k; ++i)
      for (int64_t j = 0; j < k; ++j) {
        double& at = h[static_cast<size_t>(i * k + j)];
        for (int64_t r = 0; r < t; ++r) at += x.item(r * k + i) * x.item(r * k + j);
        if (i == j) mean += at / static_cast<double>(k);
      }
    for (int64_t i = 0; i < k; ++i)
      for (int64_t j = 0; j < k; ++j) {
        double got = 0;
        for (int64_t c = 0; c < k; ++c)
          got += f.u.item(i * k + c) * static_cast<double>(f.d[static_cast<size_t>(c)]) * f.u.item(j * k + c);
        ASSERT_NEAR(got, h[static_cast<size_t>(i * k + j)] / mean + (i == j ? 0.03 : 0), 2e-5) << i << ", " << j;
      }
  }
  EXPECT_TRUE(factor_inputs({}, 0.1).d.empty());
  EXPECT_TRUE(factor_of(Tensor::zeros({4, 8}, DType::f32), 0.1).d.empty());
}

// On rows that were not seen, of the same kind: the outputs change less than with weights rounded one by one.
TEST(QuantLinear, FeedbackLowersTheErrorOfOutputs) {
  const int64_t n = 70, k = 300, t = 200;
  const Tensor w = noise({n, k}, 6), x = correlated(t, k, 33);
  const InputFactor f = factor_of(correlated(3000, k, 32), 0.01);
  Tensor want = Tensor::empty({t, n}, DType::f32);
  gemm<float>(x.view<const float, 2>(), w.view<const float, 2>(), want.view<float, 2>(), {.trans_b = true});
  auto error = [&](const QuantLinear& q) {
    Tensor rows = Tensor::empty({n, k}, DType::f32), y = Tensor::empty({t, n}, DType::f32);
    for (int64_t i = 0; i < n; ++i) q.row(i, {rows.data<float>() + i * k, {k}});
    gemm<float>(x.view<const float, 2>(), rows.view<const float, 2>(), y.view<float, 2>(), {.trans_b = true});
    double e = 0;
    for (int64_t i = 0; i < t * n; ++i) e += std::pow(y.item(i) - want.item(i), 2);
    return std::sqrt(e);
  };
  for (const QuantFormat& s : kQuantFormats)
    EXPECT_LT(error(quantize_with_error_feedback(w, s, f)), 0.75 * error(QuantLinear::pack(w, s))) << to_string(s);
}

// Channels that have nothing to do with each other, all alike: nothing to feed back.
TEST(QuantLinear, FeedbackOfIndependentInputsIsPlainRounding) {
  const int64_t k = 320;
  const Tensor w = noise({70, k}, 9);
  InputSquares seen{std::vector<double>(static_cast<size_t>(k * k)), 1};
  for (int64_t i = 0; i < k; ++i) seen.sum[static_cast<size_t>(i * k + i)] = 7;
  const InputFactor f = factor_inputs(std::move(seen), 0.01);
  for (const QuantFormat& s : {QuantFormat(WeightFormat::q4, 32), QuantFormat(WeightFormat::q4, 64, true)})
    EXPECT_NEAR(relative_rms(w, s, f) / relative_rms(w, s), 1, 0.02) << to_string(s);
}

TEST(QuantLinear, OddWeights) {
  Tensor w = Tensor::zeros({3, 40}, DType::f32);
  w.data<float>()[40] = 1e-42f, w.data<float>()[80] = -3;
  for (const QuantFormat& s : kQuantFormats) {
    QuantLinear q = QuantLinear::pack(w, s);
    std::vector<float> row(40);
    for (int64_t i : {0, 1}) {
      q.row(i, {row.data(), {40}});
      for (float v : row) EXPECT_EQ(v, 0);
    }
    q.row(2, {row.data(), {40}});
    EXPECT_NEAR(row[0], -3, 0.2);
    EXPECT_EQ(row[1], 0);
    w.data<float>()[41] = NAN;
    EXPECT_NE(message_of([&] { QuantLinear::pack(w, s); }).find("row 1"), std::string::npos);
    w.data<float>()[41] = 0;
  }
}

TEST(QuantLinear, ABlobMustFit) {
  QuantLinear q = QuantLinear::pack(noise({70, 40}, 7), {WeightFormat::q4, 32});
  EXPECT_NE(message_of([&] {
              QuantLinear::view(q.blob(), 70, 40, {WeightFormat::q4, 64}, "tensor 'w'");
            }).find("tensor 'w': q4, groups of 64 [70, 40] takes"),
            std::string::npos);
  EXPECT_NE(message_of([&] {
              QuantLinear::view(Tensor::external(q.blob().data<uint8_t>() + 1, q.blob().shape(), DType::u8, nullptr),
                                70, 40, q.scheme(), "tensor 'w'");
            }).find("aligned"),
            std::string::npos);
  EXPECT_EQ(message_of([&] { QuantLinear::view(q.blob(), 70, 40, q.scheme(), "w"); }), "");
}

TEST(QuantFormat, NamesAndBounds) {
  EXPECT_EQ(parse_format("q8", "--scheme"), WeightFormat::q8);
  EXPECT_NE(message_of([] { parse_format("q5", "--scheme"); }).find("--scheme: 'q5'"), std::string::npos);
  EXPECT_NE(message_of([] { check({WeightFormat::q4, 48}, "--group"); }).find("48"), std::string::npos);
  EXPECT_EQ(to_string(QuantFormat(WeightFormat::q4, 64, true)), "q4, groups of 64, asymmetric");
}

}  // namespace
}  // namespace quern::kernels
