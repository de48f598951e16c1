// Preference losses: values, gradients by the logits and rewards of TRL on the same logits
// (tools/oracles/train/make_preferences.py).
#include "quern/train/preference/preference_loss.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "quern/base/json.h"
#include "quern/base/test_message.h"
#include "quern/tensor/safetensors.h"

namespace quern::train {
namespace {

struct Pairs {
  std::filesystem::path folder = std::filesystem::path(QUERN_SOURCE_DIR) / "tests" / "goldens" / "preferences";
  SafetensorsFile file{folder / "pairs.safetensors"};
  Json losses = Json::read(folder / "losses.json");
  int64_t rows, length, words;
  std::vector<int32_t> targets, offsets = {0};
  std::vector<double> reference;
  std::vector<int64_t> row_of;  // of the golden, by document: chosen and rejected lie in halves there
  Tensor logits;                // as documents lie here

  Pairs() {
    const Tensor given = file.tensor("logits"), ids = file.tensor("ids"), mask = file.tensor("mask"),
                 refs = file.tensor("reference");
    rows = given.dim(0), length = given.dim(1), words = given.dim(2);
    logits = Tensor::empty({rows * length, words}, DType::f32);
    for (int64_t d = 0; d < rows; ++d) {
      const int64_t row = d / 2 + (d % 2) * rows / 2;
      row_of.push_back(row), reference.push_back(refs.item(row));
      logits.narrow(0, d * length, length).copy_from(given.narrow(0, row, 1).reshape({length, words}));
      for (int64_t t = 0; t < length; ++t) {
        const bool learned = t + 1 < length && mask.item(row * length + t + 1) == 1;
        targets.push_back(learned ? static_cast<int32_t>(ids.item(row * length + t + 1)) : -1);
      }
      offsets.push_back(static_cast<int32_t>((d + 1) * length));
    }
  }
};

// Hidden rows that are logits: the head's matrix is the identity.
struct Identity {
  Tensor w;
  explicit Identity(int64_t n) : w(Tensor::zeros({n, n}, DType::f32)) {
    for (int64_t i = 0; i < n; ++i) w.data<float>()[i * n + i] = 1;
  }
  grad::Var operator()(grad::Tape& tape, const grad::Var& h, const nn::HeadTerms& terms) const {
    return nn::head_objective(tape, h, grad::Var(w), terms);
  }
};

TEST(PreferenceLoss, EqualsTrlOnTheSameLogits) {
  const Pairs p;
  for (const auto& [name, want] : p.losses.as_object("losses")) {
    const PreferenceConfig c{.loss = name == "conservative" ? "dpo" : name,
                             .beta = want.at("beta").as_double(),
                             .label_smoothing = want.at("label_smoothing").as_double()};
    grad::Tape tape;
    const grad::Var x = tape.input(p.logits);
    PreferenceStats stats;
    const grad::Var loss = preference_loss(tape, x, {p.targets, p.offsets, p.reference}, c, Identity(p.words), stats);
    EXPECT_NEAR(loss.value.item(), want.at("loss").as_double(), 1e-5) << name;
    tape.backward(loss);
    const Tensor g = tape.grad(x), theirs = p.file.tensor("grad_" + name);
    double largest = 0, worst = 0;
    for (int64_t d = 0; d < p.rows; ++d)
      for (int64_t i = 0; i < p.length * p.words; ++i) {
        const double a = g.item(d * p.length * p.words + i),
                     b = theirs.item(p.row_of[static_cast<size_t>(d)] * p.length * p.words + i);
        largest = std::max(largest, std::abs(b)), worst = std::max(worst, std::abs(a - b));
      }
    EXPECT_GT(largest, 1e-3) << name;
    EXPECT_LE(worst, 1e-5 * largest) << name;
    if (!want.find("margin")) continue;
    EXPECT_NEAR(stats.mean(stats.chosen), want.at("chosen").as_double(), 1e-5) << name;
    EXPECT_NEAR(stats.mean(stats.rejected), want.at("rejected").as_double(), 1e-5) << name;
    EXPECT_NEAR(stats.mean(stats.chosen - stats.rejected), want.at("margin").as_double(), 1e-5) << name;
    EXPECT_NEAR(stats.mean(stats.right), want.at("accuracy").as_double(), 1e-6) << name;
  }
}

TEST(PreferenceLoss, StaysFiniteFarOut) {
  for (double far : {-1e4, 1e4})
    for (const char* loss : {"dpo", "robust"}) {
      const PairTerm t = pair_term({.loss = loss, .beta = 1, .label_smoothing = 0.1}, {far, 0, 3}, {0, 0, 3});
      EXPECT_TRUE(std::isfinite(t.loss) && std::isfinite(t.chosen)) << loss << far;
    }
}

TEST(PreferenceConfig, SaysWhatIsWrong) {
  const auto why = [](PreferenceConfig c) { return message_of([&] { check(c, "here"); }); };
  EXPECT_EQ(why({.loss = "dpo"}), "");
  EXPECT_NE(why({.loss = "ppo"}).find("expected dpo, ipo or robust"), std::string::npos);
  EXPECT_NE(why({.loss = "", .beta = 1}).find("loss: is missing"), std::string::npos);
  EXPECT_NE(why({.loss = "ipo", .label_smoothing = 0.1}).find("not for ipo"), std::string::npos);
  EXPECT_NE(why({.loss = "dpo", .reference = "x"}).find("start or base"), std::string::npos);
}

}  // namespace
}  // namespace quern::train
