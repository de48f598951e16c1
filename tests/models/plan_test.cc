// What plans count of a shape against the model built of it: parameters, and flops of the products.
#include <gtest/gtest.h>

#include "quern/models/checkpoint.h"
#include "quern/nn/builtin_registry.h"
#include "quern/nn/module.h"
#include "quern/plan/model_config.h"
#include "quern/trace/op_counters.h"

namespace quern {
namespace {

class PlannedShape : public testing::TestWithParam<std::tuple<plan::Family, int64_t>> {};

TEST_P(PlannedShape, IsTheModelThatIsBuilt) {
  const auto [family, width] = GetParam();
  const plan::ModelShape shape = plan::proportioned(family, width, 6, 1000);
  const auto model = models::build_model(nn::builtin_registry(), plan::model_config(shape, 512));
  nn::initialize(*model, 1);
  EXPECT_EQ(plan::parameters(shape), nn::parameter_count(*model));

  const std::vector<int32_t> ids(64, 1);
  const int64_t before = trace::matmul_flops.load();
  grad::Tape tape(grad::Tape::training);
  model->loss(tape, model->hidden(tape, ids, mixers::Batch::documents({64})), ids);
  const double counted = static_cast<double>(trace::matmul_flops.load() - before) / 64;
  // A router that was just initialized sends some tokens past the experts.
  EXPECT_NEAR(plan::matmul_flops(shape) / counted, 1, family == plan::Family::zaya ? 0.06 : 0.01);
}

INSTANTIATE_TEST_SUITE_P(Shapes, PlannedShape,
                         testing::Combine(testing::Values(plan::Family::llama, plan::Family::zaya,
                                                          plan::Family::zamba2),
                                          testing::Values(128, 320)),
                         [](const auto& i) {
                           return std::string(plan::family_name(std::get<0>(i.param))) +
                                  std::to_string(std::get<1>(i.param));
                         });

}  // namespace
}  // namespace quern
