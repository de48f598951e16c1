// A twin in its form for inference gives the logits of a fresh load of the same weights, to the bit, also after these
// have changed in place; and it does not see changes before it is refreshed.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "quern/grad/gradcheck.h"
#include "quern/models/checkpoint.h"
#include "quern/models/packed_twin.h"
#include "quern/nn/builtin_registry.h"
#include "tests/models/engine_on.h"

namespace quern {
namespace {

using kernels::WeightFormat;

std::unique_ptr<models::Model> plain_model(const std::string& family) {
  if (family == "hybrid") {
    auto m = models::build_model(nn::builtin_registry(), engine_model(family)->config());
    nn::initialize(*m, 4);
    return m;
  }
  return load_golden(Golden(family), DType::f32, false);
}

Tensor logits_of(models::Model& m) {
  std::vector<int32_t> ids(37);
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<int32_t>(i * 7 % 61);
  mixers::SequenceState state(m.sites(DType::f32));
  grad::Tape tape(grad::Tape::inference);
  return m.logits(tape, m.hidden(tape, ids, mixers::Batch::resume({&state}, {37}))).value;
}

bool equal(const Tensor& a, const Tensor& b) { return std::ranges::equal(a.span<float>(), b.span<float>()); }

class PackedTwinOf : public testing::TestWithParam<const char*> {};

TEST_P(PackedTwinOf, EqualsAFreshLoadAfterEveryRefresh) {
  const auto source = plain_model(GetParam());
  for (WeightFormat format : {WeightFormat::f32, WeightFormat::bf16, WeightFormat::q8}) {
    models::PackedTwin twin(nn::builtin_registry(), *source, kernels::QuantFormat(format));
    EXPECT_EQ(twin.version(), 0);
    for (int round = 0; round < 2; ++round) {
      const Tensor before = logits_of(twin.model()).clone();
      source->visit("", [&](const std::string& name, grad::Parameter& p) {
        if (p.kind == grad::ParameterKind::balance) return;
        const Tensor noise = grad::random_normal(p.shape, static_cast<uint64_t>(round) + name.size(), DType::f32);
        for (int64_t i = 0; i < p.value.size(); ++i) p.value.data<float>()[i] += 0.02f * noise.data<float>()[i];
      });
      EXPECT_TRUE(equal(logits_of(twin.model()), before)) << "the source's change shows before a refresh";
      twin.refresh();
      EXPECT_EQ(twin.version(), round + 1);
      const auto folder = std::filesystem::path(testing::TempDir()) / fmt::format("twin-{}-{}", GetParam(), getpid());
      models::save_model(*source, folder, DType::f32);
      const auto fresh = models::load_model(nn::builtin_registry(), folder, {.scheme = kernels::QuantFormat(format)});
      std::filesystem::remove_all(folder);
      const Tensor now = logits_of(twin.model());
      EXPECT_FALSE(equal(now, before));
      EXPECT_TRUE(equal(now, logits_of(*fresh))) << kernels::format_name(format) << ", round " << round;
    }
  }
}

TEST(PackedTwin, WeightsThatArePackedAlreadyAreRefused) {
  const auto packed = engine_model("llama-gqa");
  EXPECT_THROW(models::PackedTwin(nn::builtin_registry(), *packed, kernels::QuantFormat(WeightFormat::bf16)), Error);
}

INSTANTIATE_TEST_SUITE_P(Families, PackedTwinOf, testing::ValuesIn(kEngineFamilies), engine_family_name);

}  // namespace
}  // namespace quern
