#include "quern/infer/cache/weight_settings.h"

#include <gtest/gtest.h>

#include "quern/base/error.h"

namespace quern::infer {
namespace {

const WeightSettings::Names kNames;

std::string refusal(const WeightSettings& s) {
  try {
    s.load_options(kNames), s.kv_type(kNames);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(WeightSettings, SayHowAModelIsKept) {
  EXPECT_EQ(WeightSettings().load_options(kNames).dtype, DType::bf16);
  EXPECT_EQ(WeightSettings().kv_type(kNames), DType::bf16);
  const WeightSettings whole{.format = "f32"}, packed{.format = "q4", .head = "q8", .kv = "q8"};
  EXPECT_EQ(whole.load_options(kNames).dtype, DType::f32);
  EXPECT_FALSE(whole.load_options(kNames).scheme.has_value());
  EXPECT_EQ(whole.kv_type(kNames), DType::f32);
  EXPECT_EQ(whole.name(), "f32");
  EXPECT_EQ(packed.load_options(kNames).scheme->format, kernels::WeightFormat::q4);
  EXPECT_EQ(packed.load_options(kNames).head->format, kernels::WeightFormat::q8);
  EXPECT_EQ(packed.kv_type(kNames), DType::i8);
  EXPECT_EQ(packed.name(), "q4 with q8 head");
}

TEST(WeightSettings, WhatIsWrongIsNamed) {
  EXPECT_EQ(refusal({.format = "q5"}), "format: 'q5', expected f32, bf16, q8, q4 or q8a8");
  EXPECT_EQ(refusal({.format = "q8", .head = "q8a8"}), "head 'q8a8': expected f32, bf16, q8 or q4");
  EXPECT_EQ(refusal({.kv = "q4"}), "kv 'q4', expected bf16, q8 or f32");
}

}  // namespace
}  // namespace quern::infer
