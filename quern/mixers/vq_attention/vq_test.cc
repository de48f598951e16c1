// Attention over quantized keys: a head against automatic differentiation of whole rows of quantized keys, the layer
// in any split against the whole, documents apart, and that the codebook moves to the keys.
#include "quern/mixers/ssm_test_util.h"
#include "quern/mixers/vq_attention/vq_mixer.h"
#include "quern/tensor/safetensors.h"

namespace quern::mixers {
namespace {

void expect_near(const Tensor& got, const Tensor& want, double tolerance, const char* what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (int64_t i = 0; i < want.size(); ++i)
    ASSERT_NEAR(got.item(i), want.item(i), tolerance * std::max(1.0, std::abs(want.item(i)))) << what << " " << i;
}

template <class T>
void expect_golden(double tolerance) {
  const SafetensorsFile goldens(QUERN_SOURCE_DIR "/tests/goldens/ovq/vq.safetensors");
  auto as = [&](const char* what) { return goldens.tensor(what).to(dtype_of<T>::value); };
  const Tensor q = as("q"), k = as("k"), v = as("v"), codes = as("codes"), weight = as("weight");
  const int64_t n = q.dim(0), d = q.dim(1), dv = v.dim(1);
  const VqOptions o{.codes = codes.dim(0), .chunk = 8, .commit = 0.3};
  auto like = [](const Tensor& t) { return Tensor::zeros(t.shape(), t.dtype()); };
  const Tensor out = like(v), gq = like(q), gk = like(k), gv = like(v), gcodes = like(codes),
               lse = Tensor::empty({n}, q.dtype()), rows = Tensor::empty({n}, DType::i32),
               columns = Tensor::zeros({d, ovq_key_stride(o.codes)}, q.dtype());
  vq_columns<T>(o, codes.data<T>(), d, columns.data<T>());
  const VqCodebook<T> book{codes.data<T>(), columns.data<T>()};
  const OvqTokens<T> x{q.view<const T, 2>(), k.view<const T, 2>(), v.view<const T, 2>(),
                       goldens.tensor("scale").item(0)};
  std::vector<T> room(static_cast<size_t>(OvqMemory<T>::elements(o.reading(), d, dv)), T(0));
  OvqMemory<T> memory = OvqMemory<T>::in(room.data(), o.reading(), d, dv);
  std::vector<T> chunk_codes(static_cast<size_t>(o.chunk));
  memory.keys = chunk_codes.data();
  Arena scratch;
  vq_forward<T>(o, x, book, memory,
                {.out = out.view<T, 2>(), .lse = lse.view<T, 1>(), .rows = rows.view<int32_t, 1>()}, scratch);
  const double gscale = vq_backward<T>(o, x, book,
                                       {.out = out.view<const T, 2>(),
                                        .lse = lse.view<const T, 1>(),
                                        .rows = rows.view<const int32_t, 1>(),
                                        .gout = weight.view<const T, 2>(),
                                        .tokens = n,
                                        .gq = gq.view<T, 2>(),
                                        .gk = gk.view<T, 2>(),
                                        .gv = gv.view<T, 2>(),
                                        .gcodes = gcodes.data<T>()},
                                       scratch);
  expect_near(out, goldens.tensor("out"), tolerance, "out");
  expect_near(rows, goldens.tensor("rows"), 0, "rows");
  expect_near(gq, goldens.tensor("gq"), tolerance, "gq");
  expect_near(gk, goldens.tensor("gk"), tolerance, "gk");
  expect_near(gv, goldens.tensor("gv"), tolerance, "gv");
  expect_near(gcodes, goldens.tensor("gcodes"), tolerance, "gcodes");
  EXPECT_NEAR(gscale, goldens.tensor("gscale").item(0), 10 * tolerance);
}

TEST(Vq, AHeadIsAttentionOverQuantizedKeys) {
  expect_golden<double>(1e-12);
  expect_golden<float>(2e-5);
}

VqAttentionConfig config(bool shift) {
  VqAttentionConfig c;
  c.width = 6;
  c.n_head = 2;
  c.head_dim = 8;
  c.codes = 12;
  c.chunk = 8;
  c.key_shift = shift;
  return c;
}

TEST(VqAttention, AnySplitAndDocuments) {
  for (bool shift : {false, true})
    expect_any_split([&] { return std::make_unique<VqAttentionMixer>(config(shift)); }, 6);
}

// The codebook's gradient points from the code to the mean of its keys: some steps along it bring it nearer.
TEST(VqAttention, CodebookGoesToTheKeys) {
  VqAttentionMixer m(config(false));
  nn::initialize(m, 3);
  const Tensor x = grad::random_normal({200, 6}, 4, DType::f32);
  grad::Parameter* codes = nullptr;
  m.visit("", [&](const std::string& name, grad::Parameter& p) {
    if (name == "codebook") codes = &p;
  });
  double first = 0, last = 0;
  for (int step = 0; step < 60; ++step) {
    nn::zero_grad(m);
    grad::Tape tape;
    const grad::Var y = m.forward(tape, tape.input(x), Batch::single(200), 0);
    tape.backward({y}, {Tensor::zeros(y.value.shape(), DType::f32)});
    double squares = 0;
    for (int64_t i = 0; i < codes->grad.size(); ++i) {
      squares += codes->grad.item(i) * codes->grad.item(i);
      codes->value.data<float>()[i] -= static_cast<float>(0.5 * codes->grad.item(i));
    }
    (step == 0 ? first : last) = squares;
  }
  EXPECT_GT(first, 0);
  EXPECT_LT(last, 0.05 * first);
}

TEST(VqAttention, MistakesAreNamed) {
  EXPECT_NE(message_of([] {
              VqAttentionConfig c = config(false);
              c.codes = 0;
              VqAttentionMixer m(c);
            }).find("codes 0"),
            std::string::npos);
}

}  // namespace
}  // namespace quern::mixers
