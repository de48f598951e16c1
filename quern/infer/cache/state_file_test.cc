// States in files: every byte comes back, and what does not belong to the model is refused.
#include "quern/infer/cache/state_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "quern/base/error.h"
#include "quern/models/fingerprint.h"
#include "quern/tensor/safetensors.h"

namespace quern::infer {
namespace {

std::vector<mixers::StateSite> sites(int64_t width = 3) {
  return {{0, 0, {{{.name = "k", .per_token = true, .shape = {2, 2}, .dtype = DType::bf16}}}},
          {1, 0, {{{.name = "h", .shape = {width}}, {.name = "conv", .shape = {2, 2}}}}}};
}

mixers::SequenceState made(int64_t n) {
  mixers::SequenceState s(sites());
  if (n > 0) {
    Tensor rows = s.append(0, 0, n);
    for (int64_t i = 0; i < n; ++i)
      rows.narrow(0, i, 1).copy_from(Tensor::full({1, 2, 2}, DType::bf16, static_cast<double>(i) + 0.5));
  }
  s.fixed(1, 0).fill(7), s.fixed(1, 1).fill(-2);
  s.advance(n);
  return s;
}

std::filesystem::path scratch() {
  return std::filesystem::temp_directory_path() / ("quern-state-" + std::to_string(getpid()));
}

TEST(StateFile, EveryPartComesBack) {
  const std::vector<int32_t> tokens = {4, 5, 6, 70'000};
  const mixers::SequenceState s = made(4);
  save_state(scratch(), "m", tokens, s, "note");
  const SavedState back = load_state(scratch(), "m", sites());
  EXPECT_EQ(back.tokens, tokens);
  EXPECT_EQ(back.note, "note");
  EXPECT_EQ(back.state.length(), 4);
  ASSERT_EQ(back.state.rows(0, 0).shape(), s.rows(0, 0).shape());
  const Tensor rows = back.state.rows(0, 0).clone().to(DType::f32);
  for (int64_t i = 0; i < 4; ++i) EXPECT_EQ(rows.narrow(0, i, 1).clone().item(3), static_cast<double>(i) + 0.5);
  EXPECT_EQ(back.state.fixed(1, 0).item(2), 7);
  EXPECT_EQ(back.state.fixed(1, 1).item(3), -2);
  const StateFileFacts f = read_state_facts(scratch());
  EXPECT_EQ(f.tokens, 4);
  EXPECT_EQ(f.model, "m");
  std::filesystem::remove(scratch());
}

TEST(StateFile, OtherModelsAreRefused) {
  save_state(scratch(), "m", {}, made(0), "");
  EXPECT_EQ(load_state(scratch(), "m", sites()).state.length(), 0);
  EXPECT_THROW(load_state(scratch(), "n", sites()), Error);
  EXPECT_THROW(load_state(scratch(), "m", sites(4)), Error);
  std::filesystem::remove(scratch());
  EXPECT_THROW(load_state(scratch(), "m", sites()), Error);
}

// A change in the middle of one tensor of a large file, or of how weights are kept, is another name; a copy is not.
TEST(Fingerprint, TellsTrainingsApart) {
  const std::filesystem::path a = scratch(), b = a.string() + "-copy";
  for (const auto& d : {a, b}) std::filesystem::create_directories(d);
  NamedTensors weights;
  for (int i = 0; i < 40; ++i)
    weights.emplace_back(fmt::format("w{:02}", i), Tensor::full({200, 100}, DType::f32, i));
  for (const auto& d : {a, b}) save_safetensors(d / "model.safetensors", weights);
  const std::string name = models::model_fingerprint(a, "bf16");
  EXPECT_EQ(name.size(), 16u);
  EXPECT_EQ(name, models::model_fingerprint(b, "bf16"));
  EXPECT_NE(name, models::model_fingerprint(a, "q8"));
  EXPECT_NE(name, models::model_fingerprint(a, "bf16", b));
  for (int64_t at = 9'995; at < 10'005; ++at) weights[17].second.data<float>()[at] += 1;
  save_safetensors(b / "model.safetensors", weights);
  EXPECT_NE(name, models::model_fingerprint(b, "bf16"));
  for (const auto& d : {a, b}) std::filesystem::remove_all(d);
}

}  // namespace
}  // namespace quern::infer
