// OVQ attention as a layer: finite differences of everything over several documents, any split of a sequence against
// the whole, documents apart, a snapshot inside a prompt, another size of the dictionary.
#include "quern/mixers/ovq/ovq_mixer.h"

#include "quern/mixers/ssm_test_util.h"

namespace quern::mixers {
namespace {

OvqConfig config(int64_t heads, int64_t d, int64_t rows, int64_t chunk) {
  OvqConfig c;
  c.width = 6;
  c.n_head = heads;
  c.head_dim = d;
  c.rows = rows;
  c.chunk = chunk;
  return c;
}

TEST(OvqMixer, AnOlderKeyOfItsConfigIsStillRead) {
  OvqConfig c;
  from_json(Json::parse(R"({"normalise": true})", "config"), c, "config", UnknownKeys::refuse);
  EXPECT_TRUE(c.normalize);
  const Json written = write_value(c);
  EXPECT_TRUE(written.at("normalize").as_bool());
  EXPECT_FALSE(written.find("normalise"));
}

TEST(OvqMixer, FiniteDifferences) {
  OvqConfig plain = config(2, 4, 3, 2), options = config(1, 5, 2, 1), shifted = config(2, 3, 4, 2);
  options.normalize = options.delta_values = true;
  options.growth = "greedy";
  shifted.key_shift = true, shifted.count_bias = false;
  for (const OvqConfig& c : {plain, options, shifted}) {
    OvqMixer m(c);
    expect_gradients(m, c.width);
  }
}

TEST(OvqMixer, AnySplitAndDocuments) {
  for (bool shift : {false, true}) {
    OvqConfig c = config(2, 16, 24, 16);
    c.key_shift = shift;
    expect_any_split([&] { return std::make_unique<OvqMixer>(c); }, c.width);
  }
}

TEST(OvqMixer, SnapshotInsideAPrompt) {
  OvqConfig c = config(2, 8, 12, 8);
  c.key_shift = true;
  OvqMixer m(c);
  nn::randomized(m, 3);
  m.visit("", [](const std::string&, grad::Parameter& p) { p.value = p.value.to(DType::f32); });
  const Tensor x = grad::random_normal({40, 6}, 4, DType::f32);
  grad::Tape t(grad::Tape::inference);
  const StateSite site{0, 0, m.state_spec(DType::f32)};
  SequenceState whole({site}), at_21({site});
  Batch b = Batch::resume({&whole}, {40});
  b.snapshot_points = {{0, 21, &at_21}};
  const Tensor y = m.forward(t, grad::Var(x), b, 0).value;
  const Tensor rest = m.forward(t, grad::Var(x.narrow(0, 21, 19).clone()), Batch::resume({&at_21}, {19}), 0).value;
  expect_rows(rest, y, 21, 1e-6);
  SequenceState fork = at_21.fork();
  EXPECT_EQ(fork.fixed(0, 5).item(1), 40);
}

TEST(OvqMixer, RowsMayChangeAfterTraining) {
  OvqMixer m(config(1, 8, 4, 4));
  nn::randomized(m, 5);
  m.visit("", [](const std::string&, grad::Parameter& p) { p.value = p.value.to(DType::f32); });
  const Tensor x = grad::random_normal({64, 6}, 6, DType::f32);
  grad::Tape t(grad::Tape::inference);
  SequenceState begun({{0, 0, m.state_spec(DType::f32)}});
  m.forward(t, grad::Var(x), Batch::resume({&begun}, {64}), 0);
  const Tensor small = m.forward(t, grad::Var(x), Batch::single(64), 0).value;
  OvqConfig all = config(1, 8, 4, 64);
  OvqMixer exact(all);
  nn::randomized(exact, 5);
  exact.visit("", [](const std::string&, grad::Parameter& p) { p.value = p.value.to(DType::f32); });
  const Tensor attention = exact.forward(t, grad::Var(x), Batch::single(64), 0).value;
  auto distance = [&](const Tensor& y) {
    double s = 0;
    for (int64_t i = 0; i < y.size(); ++i) s += std::pow(y.item(i) - attention.item(i), 2);
    return s;
  };
  m.set_rows(16);
  const Tensor larger = m.forward(t, grad::Var(x), Batch::single(64), 0).value;
  EXPECT_LT(distance(larger), 0.8 * distance(small));
  EXPECT_EQ(m.state_spec(DType::f32).parts[2].shape, (Shape{1, 16}));
  m.forward(t, grad::Var(x), Batch::resume({&begun}, {64}), 0);  // a sequence that was begun keeps its four rows
  EXPECT_EQ(begun.fixed(0, 5).item(0), 3);                       // ⌊128·4 / 132⌋
  EXPECT_EQ(begun.fixed(0, 5).item(1), 128);
}

TEST(OvqMixer, MistakesAreNamed) {
  auto message = [](auto&& change) {
    return message_of([&] {
      OvqConfig c = config(2, 4, 3, 2);
      change(c);
      OvqMixer m(c);
    });
  };
  EXPECT_NE(message([](OvqConfig& c) { c.rows = 0; }).find("rows: 0"), std::string::npos);
  EXPECT_NE(message([](OvqConfig& c) { c.growth = "slow"; }).find("'slow'"), std::string::npos);
  EXPECT_NE(message([](OvqConfig& c) { c.n_head = 0; }).find("n_head 0"), std::string::npos);
}

}  // namespace
}  // namespace quern::mixers
