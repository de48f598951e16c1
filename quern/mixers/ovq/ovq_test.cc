// One head of OVQ attention: against automatic differentiation, against the form by the book, against exact softmax
// where they are equal, and any split of a sequence against the whole, bit by bit.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "quern/base/cpu.h"
#include "quern/base/rng.h"
#include "quern/base/test_message.h"
#include "quern/grad/gradcheck.h"
#include "quern/mixers/ovq/ovq_plan.h"
#include "quern/tensor/safetensors.h"

namespace quern::mixers {
namespace {

struct HeadCase {
  const char* name;
  OvqOptions options;
};
// As in tools/oracles/ovq/make.py.
const HeadCase kCases[] = {
    {"plateau", {.rows = 12, .chunk = 8}},
    {"greedy", {.rows = 20, .chunk = 8, .growth = OvqGrowth::greedy}},
    {"linear", {.rows = 12, .chunk = 5, .growth = OvqGrowth::linear, .horizon = 60}},
    {"no_bias", {.rows = 12, .chunk = 8, .count_bias = false}},
    {"normalise", {.rows = 12, .chunk = 8, .normalize = true}},
    {"delta_values", {.rows = 12, .chunk = 8, .delta_values = true}},
    {"all_options",
     {.rows = 9,
      .chunk = 7,
      .growth = OvqGrowth::greedy,
      .count_bias = false,
      .normalize = true,
      .delta_values = true}},
    {"no_dictionary", {.rows = 4, .chunk = 64}},
    {"one_row", {.rows = 1, .chunk = 1}},
};

struct Inputs {
  Tensor q, k, v;
  double scale = 1;
  template <class T>
  OvqTokens<T> tokens() const {
    return {q.view<const T, 2>(), k.view<const T, 2>(), v.view<const T, 2>(), scale};
  }
  Inputs to(DType t) const { return {q.to(t), k.to(t), v.to(t), scale}; }
};

Tensor unit_rows(Tensor x) {
  const auto v = x.view<double, 2>();
  for (int64_t t = 0; t < v.shape[0]; ++t) {
    double squares = 0;
    for (int64_t c = 0; c < v.shape[1]; ++c) squares += v(t, c) * v(t, c);
    for (int64_t c = 0; c < v.shape[1]; ++c) v(t, c) /= std::sqrt(squares);
  }
  return x;
}

Inputs random_inputs(int64_t n, int64_t d, int64_t dv, uint64_t seed) {
  return {unit_rows(grad::random_normal({n, d}, seed)), unit_rows(grad::random_normal({n, d}, seed + 1)),
          grad::random_normal({n, dv}, seed + 2), 2.5};
}

struct Result {
  Tensor out, lse, rows;
};

// The tokens in pieces of the given lengths, through one memory.
template <class T>
Result forward(const OvqOptions& o, const Inputs& in, const std::vector<int64_t>& pieces) {
  const int64_t n = in.q.dim(0), d = in.q.dim(1), dv = in.v.dim(1);
  const DType t = dtype_of<T>::value;
  Result r{Tensor::empty({n, dv}, t), Tensor::empty({n}, t), Tensor::full({n}, DType::i32, -1)};
  std::vector<T> room(static_cast<size_t>(OvqMemory<T>::elements(o, d, dv)), T(0));
  OvqMemory<T> memory = OvqMemory<T>::in(room.data(), o, d, dv);
  Arena scratch;
  int64_t at = 0;
  for (int64_t length : pieces) {
    const Inputs part{in.q.narrow(0, at, length), in.k.narrow(0, at, length), in.v.narrow(0, at, length), in.scale};
    ovq_forward<T>(o, part.tokens<T>(), memory, r.out.narrow(0, at, length).view<T, 2>(),
                   {r.lse.narrow(0, at, length).view<T, 1>(), r.rows.narrow(0, at, length).view<int32_t, 1>()},
                   scratch);
    at += length;
  }
  return r;
}
template <class T>
Result forward(const OvqOptions& o, const Inputs& in) {
  return forward<T>(o, in, {in.q.dim(0)});
}

Tensor softmax_attention(const Inputs& in) {
  const int64_t n = in.q.dim(0), d = in.q.dim(1), dv = in.v.dim(1);
  Tensor out = Tensor::zeros({n, dv}, DType::f64);
  for (int64_t i = 0; i < n; ++i) {
    std::vector<double> p;
    for (int64_t j = 0; j <= i; ++j) {
      double s = 0;
      for (int64_t c = 0; c < d; ++c) s += in.q.item(i * d + c) * in.k.item(j * d + c);
      p.push_back(std::exp(in.scale * s));
    }
    const double total = std::accumulate(p.begin(), p.end(), 0.0);
    for (int64_t j = 0; j <= i; ++j)
      for (int64_t c = 0; c < dv; ++c)
        out.data<double>()[i * dv + c] += p[static_cast<size_t>(j)] / total * in.v.item(j * dv + c);
  }
  return out;
}

void expect_near(const Tensor& got, const Tensor& want, double tolerance, const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  double scale = 1;
  for (int64_t i = 0; i < want.size(); ++i) scale = std::max(scale, std::abs(want.item(i)));
  for (int64_t i = 0; i < want.size(); ++i)
    ASSERT_NEAR(got.item(i), want.item(i), tolerance * scale) << what << ", element " << i;
}

template <class T>
void expect_golden(const HeadCase& c, double tolerance) {
  static const SafetensorsFile goldens(QUERN_SOURCE_DIR "/tests/goldens/ovq/ovq.safetensors");
  auto golden = [&](const char* what) { return goldens.tensor(std::string(c.name) + "/" + what); };
  Inputs in{golden("q"), golden("k"), golden("v"), golden("scale").item(0)};
  in = in.to(dtype_of<T>::value);
  const Result r = forward<T>(c.options, in);
  expect_near(r.out, golden("out"), tolerance, std::string(c.name) + " out");
  const Tensor rows = golden("rows");
  for (int64_t i = 0; i < rows.size() && rows.item(0) >= 0; ++i)
    ASSERT_EQ(r.rows.item(i), rows.item(i)) << c.name << " token " << i;
  const Tensor gout = golden("weight").to(in.q.dtype());
  Tensor gq = Tensor::empty(in.q.shape(), in.q.dtype()), gk = Tensor::empty(in.k.shape(), in.q.dtype()),
         gv = Tensor::empty(in.v.shape(), in.q.dtype());
  Arena scratch;
  const double gscale = ovq_backward<T>(c.options, in.tokens<T>(),
                                        {.out = r.out.view<const T, 2>(),
                                         .kept = {r.lse.view<T, 1>(), r.rows.view<int32_t, 1>()},
                                         .gout = gout.template view<const T, 2>(),
                                         .gq = gq.view<T, 2>(),
                                         .gk = gk.view<T, 2>(),
                                         .gv = gv.view<T, 2>()},
                                        scratch);
  expect_near(gq, golden("gq"), tolerance, std::string(c.name) + " gq");
  expect_near(gk, golden("gk"), tolerance, std::string(c.name) + " gk");
  expect_near(gv, golden("gv"), tolerance, std::string(c.name) + " gv");
  EXPECT_NEAR(gscale, golden("gscale").item(0), tolerance * 10) << c.name;
}

TEST(Ovq, ForwardAndBackwardAreAutomaticDifferentiations) {
  for (const HeadCase& c : kCases) expect_golden<double>(c, 1e-12);
}

TEST(Ovq, EveryInstructionSet) {
  const Isa was = active_isa();
  for (Isa isa : {Isa::ref, Isa::avx2, Isa::avx512}) {
    if (isa > detected_isa()) continue;
    set_active_isa(isa);
    for (const HeadCase& c : kCases) expect_golden<float>(c, 1e-5);
  }
  set_active_isa(was);
}

TEST(Ovq, IsTheFormByTheBook) {
  for (HeadCase c : kCases) {
    c.options.rows *= 3, c.options.chunk = c.options.chunk * 2 + 1;
    const Inputs in = random_inputs(230, 9, 4, 11);
    for (bool spread : {true, false}) {
      c.options.spread = spread;
      Tensor want = Tensor::empty({230, 4}, DType::f64), rows = Tensor::full({230}, DType::i32, -1);
      ovq_forward_ref(c.options, in.tokens<double>(), want.view<double, 2>(), rows.view<int32_t, 1>());
      const Result got = forward<double>(c.options, in);
      expect_near(got.out, want, 1e-12, c.name);
      for (int64_t i = 0; i < 230; ++i) ASSERT_EQ(got.rows.item(i), rows.item(i)) << c.name << " token " << i;
    }
  }
}

// Every distinct key is in the first chunk and opens a row; later tokens repeat them with values of their own.
TEST(Ovq, RowsOfIdenticalKeysAreExactSoftmax) {
  Inputs in = random_inputs(300, 8, 3, 5);
  const Rng random(3);
  for (int64_t t = 16; t < 300; ++t)
    in.k.narrow(0, t, 1).copy_from(in.k.narrow(0, static_cast<int64_t>(random.bits(t) % 16), 1));
  const OvqOptions o{.rows = 16, .chunk = 16, .growth = OvqGrowth::greedy};
  expect_near(forward<double>(o, in).out, softmax_attention(in), 1e-12, "duplicates");
  OvqOptions without = o;
  without.count_bias = false;  // and it is the counts that make it so
  const Tensor y = forward<double>(without, in).out, z = softmax_attention(in);
  double away = 0;
  for (int64_t i = 0; i < z.size(); ++i) away = std::max(away, std::abs(y.item(i) - z.item(i)));
  EXPECT_GT(away, 1e-2);
}

TEST(Ovq, ARowForEveryTokenIsExactSoftmax) {
  const Inputs in = random_inputs(150, 8, 3, 6);
  expect_near(forward<double>({.rows = 150, .chunk = 16, .growth = OvqGrowth::greedy}, in).out, softmax_attention(in),
              1e-12, "a row a token");
  expect_near(forward<double>({.rows = 1, .chunk = 150}, in).out, softmax_attention(in), 1e-12, "one chunk");
}

template <class T>
void expect_same_bits(const OvqOptions& o) {
  const Inputs in = random_inputs(203, 16, 24, 8).to(dtype_of<T>::value);
  const Result whole = forward<T>(o, in);
  for (const std::vector<int64_t>& split :
       {std::vector<int64_t>(203, 1), {1, 2, 200}, {64, 64, 75}, {100, 1, 1, 101}, {202, 1}}) {
    const Result r = forward<T>(o, in, split);
    for (int64_t i = 0; i < whole.out.size(); ++i)
      ASSERT_EQ(r.out.data<T>()[i], whole.out.data<T>()[i]) << "pieces " << split.size() << ", element " << i;
    for (int64_t i = 0; i < 203; ++i) ASSERT_EQ(r.lse.data<T>()[i], whole.lse.data<T>()[i]);
  }
}

TEST(Ovq, TokenByTokenHasTheBitsOfTheWhole) {
  const Isa was = active_isa();
  for (const OvqOptions& o : {OvqOptions{.rows = 48, .chunk = 40},
                              OvqOptions{.rows = 21, .chunk = 8, .growth = OvqGrowth::greedy, .count_bias = false},
                              OvqOptions{.rows = 30, .chunk = 16, .normalize = true, .delta_values = true}}) {
    expect_same_bits<double>(o);
    for (Isa isa : {Isa::ref, Isa::avx2, Isa::avx512}) {
      if (isa > detected_isa()) continue;
      set_active_isa(isa);
      expect_same_bits<float>(o);
    }
    set_active_isa(was);
  }
}

TEST(Ovq, SumsAreTheClustersSums) {
  const OvqOptions o{.rows = 20, .chunk = 10};
  const Inputs in = random_inputs(100, 5, 4, 9);
  std::vector<double> room(static_cast<size_t>(OvqMemory<double>::elements(o, 5, 4)), 0.0);
  OvqMemory<double> m = OvqMemory<double>::in(room.data(), o, 5, 4);
  Tensor out = Tensor::empty({100, 4}, DType::f64), rows = Tensor::empty({100}, DType::i32);
  Arena scratch;
  ovq_forward<double>(o, in.tokens<double>(), m, out.view<double, 2>(), {{}, rows.view<int32_t, 1>()}, scratch);
  EXPECT_EQ(m.live, 16);  // ⌊100·20 / 120⌋
  EXPECT_EQ(m.seen, 100);
  for (int64_t row = 0; row < m.live; ++row) {
    double count = 0;
    std::vector<double> key(5, 0.0), value(4, 0.0);
    for (int64_t t = 0; t < 100; ++t) {
      if (rows.item(t) != static_cast<double>(row)) continue;
      ++count;
      for (size_t c = 0; c < 5; ++c) key[c] += in.k.item(t * 5 + static_cast<int64_t>(c));
      for (size_t c = 0; c < 4; ++c) value[c] += in.v.item(t * 4 + static_cast<int64_t>(c));
    }
    EXPECT_EQ(m.counts[row], count);
    EXPECT_GE(count, 1);
    for (size_t c = 0; c < 5; ++c)
      EXPECT_NEAR(m.keys[static_cast<int64_t>(c) * ovq_key_stride(20) + row], key[c], 1e-12);
    for (size_t c = 0; c < 4; ++c) EXPECT_NEAR(m.values[row * 4 + static_cast<int64_t>(c)], value[c], 1e-12);
  }
}

TEST(Ovq, Schedules) {
  const OvqOptions plateau{.rows = 2048, .chunk = 128};
  EXPECT_EQ(ovq_rows_after(plateau, 0), 0);
  EXPECT_EQ(ovq_rows_after(plateau, 128), 120);
  EXPECT_EQ(ovq_rows_after(plateau, 256), 227);
  EXPECT_EQ(ovq_rows_after(plateau, 384), 323);
  EXPECT_EQ(ovq_rows_after(plateau, 2048), 1024);
  EXPECT_EQ(ovq_rows_after(plateau, int64_t{1} << 40), 2047);
  const OvqOptions greedy{.rows = 64, .growth = OvqGrowth::greedy};
  EXPECT_EQ(ovq_rows_after(greedy, 40), 40);
  EXPECT_EQ(ovq_rows_after(greedy, 400), 64);
  const OvqOptions linear{.rows = 64, .growth = OvqGrowth::linear, .horizon = 1024};
  EXPECT_EQ(ovq_rows_after(linear, 512), 32);
  EXPECT_EQ(ovq_rows_after(linear, 4096), 64);
}

TEST(Ovq, ImpossibleOptionsAreErrors) {
  auto message = [](OvqOptions o) { return message_of([&] { check(o, "here"); }); };
  EXPECT_NE(message({.rows = 0}).find("rows: 0"), std::string::npos);
  EXPECT_NE(message({.chunk = 0}).find("chunk: 0"), std::string::npos);
  EXPECT_NE(message({.growth = OvqGrowth::linear}).find("horizon: 0"), std::string::npos);
  EXPECT_NE(message_of([] { ovq_growth("fast"); }).find("'fast', expected plateau"), std::string::npos);
}

}  // namespace
}  // namespace quern::mixers
