// State space kernels: every instruction set against the double recurrence over chunk edges, ragged segments, groups
// and strided windows; states carried over any cut; gradients by finite differences in double; the causal convolution
// against the plain one and SiLU.
#include "quern/kernels/activation/activation.h"
#include "quern/kernels/conv/conv.h"
#include "quern/kernels/ssm/causal_conv.h"
#include "quern/kernels/ssm/gated_norm.h"
#include "quern/kernels/ssm/selective_scan.h"
#include "quern/kernels/ssm/ssd.h"
#include "quern/kernels/test_util.h"

namespace quern::kernels {
namespace {

struct SsdShape {
  const char* name;
  int64_t H, P, G, N;
  std::vector<int32_t> offsets;
};

const SsdShape kShapes[] = {
    {"one row", 2, 8, 1, 4, {0, 1}},
    {"below a chunk", 4, 16, 2, 8, {0, 7}},
    {"chunk edges", 3, 16, 1, 16, {0, 64, 128, 129}},
    {"odd sizes", 6, 5, 2, 7, {0, 3, 3, 70, 211}},
    {"published heads", 20, 64, 2, 64, {0, 150, 158}},
    {"wide state", 10, 64, 1, 128, {0, 80}},
    {"wide heads", 2, 100, 1, 16, {0, 90}},
};

template <class T>
struct SsdCase {
  int64_t rows;
  Rows<T> x, b, c, dt, a_log, d, bias;
  SsdInputs<T> in;
  explicit SsdCase(const SsdShape& s)
      : rows(s.offsets.back()),
        x(Rows<T>::random(rows, s.H * s.P, 1, 3)),
        b(Rows<T>::random(rows, s.G * s.N, 2, 5)),
        c(Rows<T>::random(rows, s.G * s.N, 3, 1)),
        dt(Rows<T>::random(rows, s.H, 4, 2, 2)),
        a_log(Rows<T>::random(1, s.H, 5, 0, 2)),
        d(Rows<T>::random(1, s.H, 6)),
        bias(Rows<T>::random(1, s.H, 7, 0, 2)) {
    in = {x.in(), b.in(), c.in(), dt.in(), a_log.vec_in(), d.vec_in(), bias.vec_in(), s.G};
    in.offsets = s.offsets;
  }
};

template <class T>
View<T, 3> state_view(Rows<T>& s, const SsdShape& k) {
  return {s.data.data(), {k.H, k.N, k.P}};
}

TEST(Ssd, EveryInstructionSetIsTheRecurrence) {
  for (const SsdShape& k : kShapes) {
    SCOPED_TRACE(k.name);
    same_on_all_isas(
        [&]<class T>(T) {
          SsdCase<T> s(k);
          Arena scratch;
          Rows<T> y(s.rows, k.H * k.P, 4), fresh(s.rows, k.H * k.P);
          std::vector<Rows<T>> states;
          std::vector<View<T, 3>> views;
          for (size_t i = 0; i + 1 < k.offsets.size(); ++i)
            states.push_back(Rows<T>::random(1, k.H * k.N * k.P, 20 + i));
          for (Rows<T>& r : states) views.push_back(state_view(r, k));
          ssd<T>(s.in, views, y.view(), scratch);
          ssd<T>(s.in, {}, fresh.view(), scratch);
          Outputs o;
          o.add(y), o.add(fresh);
          for (Rows<T>& r : states) o.add(r);
          return o;
        },
        5e-5);
  }
}

TEST(Ssd, BackwardIsTheSameEverywhere) {
  for (const SsdShape& k : kShapes) {
    SCOPED_TRACE(k.name);
    same_on_all_isas(
        [&]<class T>(T) {
          SsdCase<T> s(k);
          Arena scratch;
          Rows<T> gy = Rows<T>::random(s.rows, k.H * k.P, 30, 2), gx(s.rows, k.H * k.P, 1), gb(s.rows, k.G * k.N, 1),
                  gc(s.rows, k.G * k.N, 3), gdt(s.rows, k.H, 2);
          Rows<T> ga = Rows<T>::random(1, k.H, 31), gd(1, k.H), gbias(1, k.H);
          ssd_backward<T>(s.in, gy.in(),
                          {gx.view(), gb.view(), gc.view(), gdt.view(), ga.vec(), gd.vec(), gbias.vec()}, scratch);
          Outputs o;
          for (Rows<T>* r : {&gx, &gb, &gc, &gdt, &ga, &gd, &gbias}) o.add(*r);
          return o;
        },
        3e-4);
  }
}

TEST(Ssd, AnyCutContinuesTheSequence) {
  const SsdShape k{"", 4, 16, 2, 16, {0, 200}};
  each_isa([&] {
    SsdCase<float> s(k);
    Arena scratch;
    Rows<float> whole(200, k.H * k.P), pieces(200, k.H * k.P), state(1, k.H * k.N * k.P), last(1, k.H * k.N * k.P);
    std::vector<View<float, 3>> v = {state_view(last, k)};
    ssd<float>(s.in, v, whole.view(), scratch);
    v = {state_view(state, k)};
    for (int32_t at = 0; int32_t n : {64, 1, 1, 7, 63, 64}) {
      SsdInputs<float> part = s.in;
      const std::vector<int32_t> offsets = {0, n};
      part.x = s.in.x.slice(at, at + n), part.b = s.in.b.slice(at, at + n), part.c = s.in.c.slice(at, at + n);
      part.dt = s.in.dt.slice(at, at + n), part.offsets = offsets;
      ssd<float>(part, v, pieces.view().slice(at, at + n), scratch);
      at += n;
    }
    for (size_t i = 0; i < whole.data.size(); ++i) ASSERT_NEAR(pieces.data[i], whole.data[i], 2e-5 * 4);
    for (size_t i = 0; i < state.data.size(); ++i) ASSERT_NEAR(state.data[i], last.data[i], 2e-5 * 4);
  });
}

TEST(Ssd, CutsAtChunkMultiplesGiveTheSameBits) {
  const SsdShape k{"", 10, 16, 1, 16, {0, 131}};
  SsdCase<float> s(k);
  Arena scratch;
  Rows<float> whole(131, k.H * k.P), pieces(131, k.H * k.P), state(1, k.H * k.N * k.P), last(1, k.H * k.N * k.P);
  std::vector<View<float, 3>> v = {state_view(last, k)};
  ssd<float>(s.in, v, whole.view(), scratch);
  v = {state_view(state, k)};
  for (int32_t at = 0; int32_t n : {64, 67}) {
    SsdInputs<float> part = s.in;
    const std::vector<int32_t> offsets = {0, n};
    part.x = s.in.x.slice(at, at + n), part.b = s.in.b.slice(at, at + n), part.c = s.in.c.slice(at, at + n);
    part.dt = s.in.dt.slice(at, at + n), part.offsets = offsets;
    ssd<float>(part, v, pieces.view().slice(at, at + n), scratch);
    at += n;
  }
  EXPECT_EQ(whole.data, pieces.data);
  EXPECT_EQ(state.data, last.data);
}

// Decays so strong that e^(s_i − s_j) above the diagonal would be infinite: masking must come before the exponential.
TEST(Ssd, StrongDecaysStayFinite) {
  const SsdShape k{"", 2, 16, 1, 16, {0, 128}};
  each_isa([&] {
    SsdCase<float> s(k);
    for (float& v : s.a_log.data) v = 5;
    for (float& v : s.dt.data) v = v == static_cast<float>(kSentinel) ? v : v + 3;
    Arena scratch;
    Rows<float> y(128, k.H * k.P), gx(128, k.H * k.P), gb(128, 16), gc(128, 16), gdt(128, 2);
    ssd<float>(s.in, {}, y.view(), scratch);
    ssd_backward<float>(s.in, y.in(), {gx.view(), gb.view(), gc.view(), gdt.view(), {}, {}, {}}, scratch);
    for (Rows<float>* r : {&y, &gx, &gb, &gc, &gdt})
      for (float v : r->data) ASSERT_TRUE(std::isfinite(v));
  });
}

TEST(Ssd, FiniteDifferences) {
  for (double dt_min : {0.0, 0.6}) {
    const SsdShape k{"", 4, 3, 2, 2, {0, 5, 6, 9}};
    SsdCase<double> s(k);
    s.in.dt_min = dt_min;
    Arena scratch;
    Rows<double> weight = Rows<double>::random(9, 12, 40), y(9, 12), gx(9, 12), gb(9, 4), gc(9, 4), gdt(9, 4),
                 ga(1, 4), gd(1, 4), gbias(1, 4);
    ssd_backward<double>(s.in, weight.in(),
                         {gx.view(), gb.view(), gc.view(), gdt.view(), ga.vec(), gd.vec(), gbias.vec()}, scratch);
    auto loss = [&] {
      ssd<double>(s.in, {}, y.view(), scratch);
      return weighted_sum(y, weight);
    };
    auto probe = [&](Rows<double>& of, Rows<double>& g) {
      for (int64_t t = 0; t < of.rows; ++t)
        check_gradient(loss, {of.view().row(t), static_cast<size_t>(of.width)},
                       {g.view().row(t), static_cast<size_t>(g.width)});
    };
    probe(s.x, gx), probe(s.b, gb), probe(s.c, gc), probe(s.dt, gdt), probe(s.a_log, ga), probe(s.d, gd),
        probe(s.bias, gbias);
  }
}

// Two groups are two independent halves.
TEST(Ssd, GroupsAreIndependent) {
  const SsdShape both{"", 8, 16, 2, 16, {0, 100}};
  SsdCase<float> s(both);
  Arena scratch;
  Rows<float> y(100, 128), half(100, 64);
  ssd<float>(s.in, {}, y.view(), scratch);
  for (int64_t g : {0, 1}) {
    auto columns = [](View<const float, 2> v, int64_t first, int64_t n) {
      v.data += first, v.shape[1] = n;
      return v;
    };
    SsdInputs<float> in = s.in;
    in.x = columns(in.x, g * 64, 64), in.b = columns(in.b, g * 16, 16), in.c = columns(in.c, g * 16, 16);
    in.dt = columns(in.dt, g * 4, 4), in.n_group = 1;
    for (View<const float, 1>* v : {&in.a_log, &in.d, &in.bias}) v->data += g * 4, v->shape[0] = 4;
    ssd<float>(in, {}, half.view(), scratch);
    for (int64_t t = 0; t < 100; ++t)
      for (int64_t c = 0; c < 64; ++c) ASSERT_EQ(half.view()(t, c), y.view()(t, g * 64 + c));
  }
}

template <class T>
struct ScanCase {
  Rows<T> x, dt, z, b, c, a, d, bias;
  ScanInputs<T> in;
  std::vector<int32_t> offsets;
  ScanCase(int64_t D, int64_t N, std::vector<int32_t> o, bool gate)
      : x(Rows<T>::random(o.back(), D, 1, 3)),
        dt(Rows<T>::random(o.back(), D, 2, 1, 3)),
        z(Rows<T>::random(o.back(), D, 3, 2, 2)),
        b(Rows<T>::random(o.back(), N, 4, 2)),
        c(Rows<T>::random(o.back(), N, 5, 1)),
        a(Rows<T>::random(N, D, 6)),
        d(Rows<T>::random(1, D, 7)),
        bias(Rows<T>::random(1, D, 8)),
        offsets(std::move(o)) {
    for (T& v : a.data) v = -std::abs(v) - T{0.1f};
    in = {x.in(),        dt.in(), gate ? z.in() : View<const T, 2>(), b.in(), c.in(), a.in(), d.vec_in(),
          bias.vec_in(), offsets};
  }
};

TEST(SelectiveScan, EveryInstructionSetIsTheRecurrence) {
  for (bool gate : {false, true})
    for (auto [D, N] : {std::pair<int64_t, int64_t>{3, 4}, {16, 16}, {37, 16}, {40, 5}})
      same_on_all_isas(
          [&, D = D, N = N]<class T>(T) {
            ScanCase<T> s(D, N, {0, 1, 66, 66, 200}, gate);
            Arena scratch;
            Rows<T> y(200, D, 5), fresh(200, D), gy = Rows<T>::random(200, D, 9), gx(200, D, 1), gdt(200, D, 1),
                                                 gz(200, D, 1), gb(200, N, 1), gc(200, N, 1), ga(N, D), gd(1, D),
                                                 gbias(1, D);
            std::vector<Rows<T>> states;
            std::vector<View<T, 2>> views;
            for (uint64_t i = 0; i < 4; ++i) states.push_back(Rows<T>::random(N, D, 20 + i));
            for (Rows<T>& r : states) views.push_back(r.view());
            selective_scan<T>(s.in, views, y.view(), scratch);
            selective_scan<T>(s.in, {}, fresh.view(), scratch);
            selective_scan_backward<T>(s.in, gy.in(),
                                       {gx.view(), gdt.view(), gate ? gz.view() : View<T, 2>(), gb.view(), gc.view(),
                                        ga.view(), gd.vec(), gbias.vec()},
                                       scratch);
            Outputs o;
            for (Rows<T>* r : {&y, &fresh, &gx, &gdt, &gz, &gb, &gc, &ga, &gd, &gbias}) o.add(*r);
            for (Rows<T>& r : states) o.add(r);
            return o;
          },
          1e-4);
}

TEST(SelectiveScan, FiniteDifferences) {
  for (bool gate : {false, true}) {
    ScanCase<double> s(3, 2, {0, 4, 5, 8}, gate);
    Arena scratch;
    Rows<double> weight = Rows<double>::random(8, 3, 40), y(8, 3), gx(8, 3), gdt(8, 3), gz(8, 3), gb(8, 2), gc(8, 2),
                 ga(2, 3), gd(1, 3), gbias(1, 3);
    selective_scan_backward<double>(s.in, weight.in(),
                                    {gx.view(), gdt.view(), gate ? gz.view() : View<double, 2>(), gb.view(),
                                     gc.view(), ga.view(), gd.vec(), gbias.vec()},
                                    scratch);
    auto loss = [&] {
      selective_scan<double>(s.in, {}, y.view(), scratch);
      return weighted_sum(y, weight);
    };
    auto probe = [&](Rows<double>& of, Rows<double>& g) {
      for (int64_t t = 0; t < of.rows; ++t)
        check_gradient(loss, {of.view().row(t), static_cast<size_t>(of.width)},
                       {g.view().row(t), static_cast<size_t>(g.width)});
    };
    probe(s.x, gx), probe(s.dt, gdt), probe(s.b, gb), probe(s.c, gc), probe(s.a, ga), probe(s.d, gd),
        probe(s.bias, gbias);
    if (gate) probe(s.z, gz);
  }
}

TEST(GatedNorm, EveryInstructionSetAndGradients) {
  for (auto [width, groups] : {std::pair<int64_t, int64_t>{6, 1}, {64, 2}, {150, 3}})
    same_on_all_isas(
        [&, width = width, groups = groups]<class T>(T) {
          Rows<T> y = Rows<T>::random(9, width, 1, 3), z = Rows<T>::random(9, width, 2, 1, 2),
                  w = Rows<T>::random(1, width, 3), g = Rows<T>::random(9, width, 4, 2), out(9, width, 1),
                  gy(9, width, 1), gz(9, width, 1), gw = Rows<T>::random(1, width, 5);
          gated_rms_norm<T>(y.in(), z.in(), w.vec_in(), groups, 1e-5, out.view());
          gated_rms_norm_backward<T>({.y = y.in(),
                                      .z = z.in(),
                                      .w = w.vec_in(),
                                      .groups = groups,
                                      .eps = 1e-5,
                                      .g_out = g.in(),
                                      .gy = gy.view(),
                                      .gz = gz.view(),
                                      .gw = gw.vec()});
          Outputs o;
          for (Rows<T>* r : {&out, &gy, &gz, &gw}) o.add(*r);
          return o;
        },
        1e-5);
  Rows<double> y = Rows<double>::random(2, 6, 1), z = Rows<double>::random(2, 6, 2),
               w = Rows<double>::random(1, 6, 3), weight = Rows<double>::random(2, 6, 4), out(2, 6), gy(2, 6),
               gz(2, 6), gw(1, 6);
  gated_rms_norm_backward<double>({.y = y.in(),
                                   .z = z.in(),
                                   .w = w.vec_in(),
                                   .groups = 2,
                                   .eps = 1e-5,
                                   .g_out = weight.in(),
                                   .gy = gy.view(),
                                   .gz = gz.view(),
                                   .gw = gw.vec()});
  auto loss = [&] {
    gated_rms_norm<double>(y.in(), z.in(), w.vec_in(), 2, 1e-5, out.view());
    return weighted_sum(out, weight);
  };
  check_gradient(loss, y.data, gy.data);
  check_gradient(loss, z.data, gz.data);
  check_gradient(loss, w.data, gw.data);
}

TEST(GatedNorm, MayWriteOverItsInput) {
  Rows<float> y = Rows<float>::random(5, 40, 1), z = Rows<float>::random(5, 40, 2), w = Rows<float>::random(1, 40, 3),
              out(5, 40);
  gated_rms_norm<float>(y.in(), z.in(), w.vec_in(), 1, 1e-5, out.view());
  gated_rms_norm<float>(y.in(), z.in(), w.vec_in(), 1, 1e-5, y.view());
  EXPECT_EQ(y.data, out.data);
}

TEST(CausalConv, IsThePlainConvolutionAndSilu) {
  const std::vector<int32_t> offsets = {0, 2, 2, 9, 10}, in_offsets = {0, 5, 8, 18, 22};
  const int64_t C = 21, K = 4;
  each_isa([&] {
    Rows<float> x = Rows<float>::random(10, C, 1, 3), w = Rows<float>::random(K, C, 2),
                b = Rows<float>::random(1, C, 3), y(10, C, 2);
    std::vector<Rows<float>> tails;
    std::vector<View<float, 2>> views;
    for (uint64_t s = 0; s < 4; ++s) tails.push_back(Rows<float>::random(K - 1, C, 10 + s));
    // The plain form: tail rows and segment rows one after another.
    Rows<float> gathered(22, C), plain_w(C, K), v(10, C), want(10, C);
    std::vector<Rows<float>> left;
    for (size_t s = 0; s < 4; ++s) {
      const int64_t n = offsets[s + 1] - offsets[s];
      for (int64_t r = 0; r < n + K - 1; ++r)
        for (int64_t c = 0; c < C; ++c)
          gathered.view()(in_offsets[s] + r, c) =
              r < K - 1 ? tails[s].view()(r, c) : x.view()(offsets[s] + r - K + 1, c);
      left.emplace_back(K - 1, C);
      for (int64_t r = 0; r < K - 1; ++r)
        for (int64_t c = 0; c < C; ++c) left[s].view()(r, c) = gathered.view()(in_offsets[s] + n + r, c);
    }
    for (int64_t j = 0; j < K; ++j)
      for (int64_t c = 0; c < C; ++c) plain_w.view()(c, j) = w.view()(j, c);
    depthwise_conv<float>(gathered.in(), plain_w.in(), b.vec_in(), {in_offsets, offsets}, v.view());
    activate<float>(Activation::silu, v.in(), want.view());
    for (Rows<float>& t : tails) views.push_back(t.view());
    causal_conv_silu<float>({x.in(), w.in(), b.vec_in(), offsets}, views, y.view());
    for (int64_t t = 0; t < 10; ++t)
      for (int64_t c = 0; c < C; ++c) ASSERT_NEAR(y.view()(t, c), want.view()(t, c), 2e-6);
    for (size_t s = 0; s < 4; ++s) EXPECT_EQ(tails[s].data, left[s].data);
  });
}

TEST(CausalConv, EveryInstructionSetAndGradients) {
  const std::vector<int32_t> offsets = {0, 1, 1, 8, 13};
  for (int64_t K : {1, 2, 4, 5})
    same_on_all_isas(
        [&]<class T>(T) {
          Rows<T> x = Rows<T>::random(13, 35, 1, 3), w = Rows<T>::random(K, 35, 2), b = Rows<T>::random(1, 35, 3),
                  gy = Rows<T>::random(13, 35, 4, 1), y(13, 35, 2), gx(13, 35, 2), gw = Rows<T>::random(K, 35, 5),
                  gb(1, 35);
          Arena scratch;
          const CausalConvInputs<T> in{x.in(), w.in(), b.vec_in(), offsets};
          causal_conv_silu<T>(in, {}, y.view());
          causal_conv_silu_backward<T>(in, gy.in(), gx.view(), gw.view(), gb.vec(), scratch);
          Outputs o;
          for (Rows<T>* r : {&y, &gx, &gw, &gb}) o.add(*r);
          return o;
        },
        1e-5);
  Rows<double> x = Rows<double>::random(13, 3, 1), w = Rows<double>::random(4, 3, 2),
               b = Rows<double>::random(1, 3, 3), weight = Rows<double>::random(13, 3, 4), y(13, 3), gx(13, 3),
               gw(4, 3), gb(1, 3);
  Arena scratch;
  const CausalConvInputs<double> in{x.in(), w.in(), b.vec_in(), offsets};
  causal_conv_silu_backward<double>(in, weight.in(), gx.view(), gw.view(), gb.vec(), scratch);
  auto loss = [&] {
    causal_conv_silu<double>(in, {}, y.view());
    return weighted_sum(y, weight);
  };
  check_gradient(loss, x.data, gx.data);
  check_gradient(loss, w.data, gw.data);
  check_gradient(loss, b.data, gb.data);
}

}  // namespace
}  // namespace quern::kernels
