// Forecasts of inference against closed forms.
#include "quern/plan/inference.h"

#include <gtest/gtest.h>

namespace quern::plan {
namespace {

InferenceSize dense() {
  return {.body = 1'000'000'000,
          .head = 100'000'000,
          .rest = 1'000'000,
          .active_body = 1e9,
          .active_head = 100'000'000,
          .row_bytes = 10'000,
          .fixed_bytes = 2'000'000,
          .max_positions = 32'768};
}

TEST(Inference, MemoryAndContext) {
  const std::vector<FormatCost>& formats = format_costs();
  ASSERT_EQ(formats.size(), 3u);
  const double gib = 1024.0 * 1024 * 1024;
  const InferenceForecast bf16 = forecast(dense(), formats[0], {}, 0, 4 * gib);
  EXPECT_DOUBLE_EQ(bf16.weight_bytes, 2e9 + 2e8 + 4e6);
  EXPECT_EQ(bf16.context, 32'768) << "1.7 GB are left for 0.33 GB of rows";
  EXPECT_EQ(bf16.decode_tokens_per_s, 0) << "no rate was measured";
  EXPECT_EQ(forecast(dense(), formats[0], {}, 0, 2 * gib).context, 0) << "weights alone are more";
  const double tight = 1.05 * bf16.weight_bytes + 256.0 * (1 << 20) + 2e6 + 1234 * 10'000.0 + 1;
  EXPECT_EQ(forecast(dense(), formats[0], {}, 0, tight).context, 1234);
}

TEST(Inference, DecodeReadsWhatATokenMeets) {
  const FormatCost q8{"q8", 1, 1};
  const MachineRates rates{.read_gbs = 10, .bf16_gflops = 100};
  const InferenceForecast shallow = forecast(dense(), q8, rates, 0, 1e12),
                          deep = forecast(dense(), q8, rates, 20'000, 1e12);
  const double bytes = 1e9 + 1e8 + 4e6 + 2e6;
  EXPECT_NEAR(deep.decode_tokens_per_s / shallow.decode_tokens_per_s, bytes / (bytes + 2e8), 1e-9);
  EXPECT_LT(shallow.decode_tokens_per_s, 10e9 / bytes) << "never faster than the memory";
  EXPECT_LT(shallow.prefill_tokens_per_s, 100e9 / 2e9) << "nor than the products";
  InferenceSize experts = dense();
  experts.active_body = 1e8;  // one of ten
  EXPECT_GT(forecast(experts, q8, rates, 0, 1e12).decode_tokens_per_s, 5 * shallow.decode_tokens_per_s);
}

}  // namespace
}  // namespace quern::plan
