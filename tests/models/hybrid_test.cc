// A model of mixed mixers: layers as the configuration says, decoded token by token as in one go, saved and read
// again, another dictionary by another configuration alone, and mistakes named.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "quern/base/test_message.h"
#include "quern/grad/gradcheck.h"
#include "tests/models/golden.h"

namespace quern {
namespace {

Json hybrid_config() {
  return Json::parse(R"({"model_type":"hybrid","vocab_size":50,"hidden_size":16,"intermediate_size":24,
    "mixers":{"near":{"type":"attention","n_head":2,"n_head_kv":1,"head_dim":8,"rotary_dims":8,"window":8},
              "far":{"type":"ovq","n_head":2,"head_dim":8,"rows":12,"chunk":8},
              "delta":{"type":"gated_delta","n_head":1,"head_dim":8}},
    "layers":["near","far","near","delta"]})");
}

std::vector<int32_t> some_ids(int64_t n) {
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < n; ++i) ids.push_back(static_cast<int32_t>(i * i % 47));
  return ids;
}

Tensor all_logits(models::Model& m, const std::vector<int32_t>& ids) {
  grad::Tape t(grad::Tape::inference);
  return m.logits(t, m.hidden(t, ids, mixers::Batch::single(static_cast<int64_t>(ids.size())))).value;
}

TEST(Hybrid, TokenByTokenIsTheWhole) {
  auto m = models::build_model(nn::builtin_registry(), hybrid_config());
  nn::initialize(*m, 4);
  EXPECT_EQ(m->sites(DType::f32).size(), 4u);
  const std::vector<int32_t> ids = some_ids(60);
  const Tensor whole = all_logits(*m, ids);
  mixers::SequenceState state(m->sites(DType::f32));
  grad::Tape t(grad::Tape::inference);
  for (int64_t at = 0; at < 60;) {
    const int64_t n = at == 0 ? 21 : 1;
    const std::vector<int32_t> now(ids.begin() + at, ids.begin() + at + n);
    const Tensor y = m->logits(t, m->hidden(t, now, mixers::Batch::resume({&state}, {n}))).value;
    for (int64_t i = 0; i < y.size(); ++i) ASSERT_NEAR(y.item(i), whole.item(at * 50 + i), 2e-5) << "token " << at;
    at += n;
  }
  EXPECT_EQ(state.length(), 60);
}

TEST(Hybrid, FiniteDifferences) {
  auto m = models::build_model(nn::builtin_registry(), hybrid_config());
  nn::initialize(*m, 4, DType::f64);
  grad::NamedParameters parameters;
  m->visit("", [&](const std::string& name, grad::Parameter& p) { parameters.emplace_back(name, &p); });
  const std::vector<int32_t> ids = some_ids(30);
  std::vector<int32_t> targets(ids.begin() + 1, ids.end());
  targets.push_back(-1);
  const grad::GradCheck c = grad::grad_check(
      [&](grad::Tape& t, const std::vector<grad::Var>&) {
        return std::vector<grad::Var>{m->loss(t, m->hidden(t, ids, mixers::Batch::documents({19, 11})), targets)};
      },
      {}, parameters, 4);
  EXPECT_LT(c.worst, 1e-7) << c.where;
}

TEST(Hybrid, SavedAndReadAgain) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("quern_hybrid_" + std::to_string(getpid()));
  auto m = models::build_model(nn::builtin_registry(), hybrid_config());
  nn::initialize(*m, 4);
  models::save_model(*m, folder, DType::f32);
  models::LoadReport report;
  auto again = models::load_model(nn::builtin_registry(), folder, {.pack = false}, &report);
  std::filesystem::remove_all(folder);
  EXPECT_TRUE(report.unused.empty() && report.missing.empty());
  const std::vector<int32_t> ids = some_ids(20);
  const Tensor a = all_logits(*m, ids), b = all_logits(*again, ids);
  for (int64_t i = 0; i < a.size(); ++i) ASSERT_EQ(a.item(i), b.item(i));
}

TEST(Hybrid, MistakesAreNamed) {
  auto message = [](const char* key, const char* value) {
    return message_of([&] {
      Json j = hybrid_config();
      j.set(key, Json::parse(value));
      models::build_model(nn::builtin_registry(), j);
    });
  };
  EXPECT_NE(message("layers", R"(["nera"])").find("did you mean 'near'"), std::string::npos);
  EXPECT_NE(message("layers", "[]").find("layers: 0"), std::string::npos);
  EXPECT_NE(message("mixers", R"({"near":{"n_head":1}})").find("type"), std::string::npos);
  EXPECT_NE(message("mixers", R"({"near":{"type":"ovqq"},"far":{"type":"ovq"},"delta":{"type":"ovq"}})")
                .find("did you mean 'ovq'"),
            std::string::npos);
  EXPECT_NE(message("mixers", R"({"near":{"type":"ovq","width":8}})").find("expected hidden_size 16"),
            std::string::npos);
}

}  // namespace
}  // namespace quern
