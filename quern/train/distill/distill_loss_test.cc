// Distillation losses and their gradients by the student's logits, against PyTorch's on the same logits
// (tools/oracles/train/make_distill.py).
#include "quern/train/distill/distill_loss.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "quern/base/json.h"
#include "quern/base/test_message.h"
#include "quern/tensor/safetensors.h"

namespace quern::train {
namespace {

const std::filesystem::path kGoldens = std::filesystem::path(QUERN_SOURCE_DIR) / "tests" / "goldens" / "distill";

TEST(DistillLoss, EqualsPyTorch) {
  const SafetensorsFile file(kGoldens / "logits.safetensors");
  const Tensor teacher = file.tensor("teacher"), targets = file.tensor("targets");
  const Json losses = Json::read(kGoldens / "losses.json");
  ASSERT_EQ(losses.as_object("losses").size(), 8u);
  for (const auto& [name, want] : losses.as_object("losses")) {
    const DistillConfig c{.teacher = "x",
                          .direction = want.at("direction").as_string(),
                          .weight = want.at("weight").as_double(),
                          .temperature = want.at("temperature").as_double(),
                          .top = want.at("top").as_int()};
    const Tensor student = file.tensor("student").clone(), theirs = file.tensor("grad_" + name);
    const double loss = distill_rows(c, teacher.view<const float, 2>(), student.view<float, 2>(),
                                     {targets.data<int32_t>(), static_cast<size_t>(targets.size())}, 1.0 / 4);
    EXPECT_NEAR(loss, want.at("loss").as_double(), 1e-6 * std::abs(want.at("loss").as_double())) << name;
    double largest = 0, worst = 0;
    for (int64_t i = 0; i < student.size(); ++i) {
      largest = std::max(largest, std::abs(theirs.item(i)));
      worst = std::max(worst, std::abs(student.item(i) - theirs.item(i)));
    }
    EXPECT_GT(largest, 1e-2) << name;
    EXPECT_LE(worst, 1e-6 * largest) << name;
  }
}

TEST(DistillLoss, IsZeroForEqualModelsAndFiniteFarOut) {
  std::vector<float> a = {3, -1, 0.5f, 2}, same = a;
  for (const char* direction : {"forward", "reverse"}) {
    for (int64_t top : {0, 2}) {
      same = a;
      const DistillConfig c{.teacher = "x", .direction = direction, .temperature = 2, .top = top};
      EXPECT_NEAR(distill_token(c, a, same, 0), 0, 1e-6);
      for (float g : same) EXPECT_NEAR(g, 0, 1e-6);
      std::vector<float> far = {-1e4f, 1e4f, 0, 0};
      EXPECT_TRUE(std::isfinite(distill_token(c, a, far, 0))) << direction << top;
      for (float g : far) EXPECT_TRUE(std::isfinite(g)) << direction << top;
    }
  }
}

TEST(DistillConfig, SaysWhatIsWrong) {
  const auto why = [](DistillConfig c) { return message_of([&] { check(c, "here"); }); };
  EXPECT_EQ(why({}), "");
  EXPECT_EQ(why({.teacher = "big"}), "");
  EXPECT_NE(why({.teacher = "", .weight = 0.5}).find("teacher: is missing"), std::string::npos);
  EXPECT_NE(why({.teacher = "big", .direction = "both"}).find("forward or reverse"), std::string::npos);
  EXPECT_NE(why({.teacher = "big", .weight = 0}).find("weight"), std::string::npos);
  EXPECT_NE(why({.teacher = "big", .temperature = 0}).find("temperature"), std::string::npos);
  EXPECT_NE(why({.teacher = "big", .format = "q2"}).find("q2"), std::string::npos);
}

}  // namespace
}  // namespace quern::train
