// ZAYA with plain attention, with the linear router, or without averaging over depth: which parameters it then has,
// that it is saved, read and decoded as it is trained, recomputed layers included, and that the published form says
// nothing of switches.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <set>

#include "tests/models/golden.h"

namespace quern {
namespace {

namespace fs = std::filesystem;

Json switched(const char* attention, const char* router) {
  Json j = Json::read(fs::path(QUERN_SOURCE_DIR) / "tests/goldens/zaya-2-4x2/config.json");
  j.set("quern_attention", attention), j.set("quern_router", router);
  return j;
}

std::set<std::string> names(models::Model& m) {
  std::set<std::string> s;
  m.visit("", [&](const std::string& name, grad::Parameter&) { s.insert(name); });
  return s;
}

Tensor all_logits(models::Model& m, const std::vector<int32_t>& ids) {
  grad::Tape t(grad::Tape::inference);
  return m.logits(t, m.hidden(t, ids, mixers::Batch::single(static_cast<int64_t>(ids.size())))).value;
}

std::vector<int32_t> some_ids(int64_t n) {
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < n; ++i) ids.push_back(static_cast<int32_t>(3 + i * i % 41));
  return ids;
}

TEST(ZayaSwitches, DecideWhichParametersThereAre) {
  auto published = models::build_model(nn::builtin_registry(), switched("ccgqa", "mlp-eda"));
  auto plain = models::build_model(nn::builtin_registry(), switched("gqa", "linear"));
  auto flat = models::build_model(nn::builtin_registry(), switched("ccgqa", "mlp"));
  const std::string eda = "model.layers.1.mlp.gate.router_states_scale",
                    conv = "model.layers.1.self_attn.qkv_proj.conv_qk_grouped.weight",
                    mlp = "model.layers.1.mlp.gate.down_proj.weight";
  EXPECT_TRUE(names(*published).contains(eda) && names(*published).contains(conv) && names(*published).contains(mlp));
  EXPECT_TRUE(!names(*flat).contains(eda) && names(*flat).contains(mlp) && names(*flat).contains(conv));
  EXPECT_TRUE(!names(*plain).contains(eda) && !names(*plain).contains(conv) && !names(*plain).contains(mlp));
  EXPECT_TRUE(names(*plain).contains("model.layers.1.self_attn.q_proj.weight"));
  EXPECT_EQ(published->config().find("quern_attention"), nullptr);
  EXPECT_EQ(published->config().find("quern_router"), nullptr);
  EXPECT_EQ(plain->config().at("quern_router", "config").as_string("config"), "linear");
  EXPECT_THROW(models::build_model(nn::builtin_registry(), switched("mha", "linear")), Error);
  EXPECT_THROW(models::build_model(nn::builtin_registry(), switched("gqa", "mpl")), Error);
}

TEST(ZayaSwitches, SavedReadAndDecodedAlike) {
  const std::vector<int32_t> ids = some_ids(40);
  for (auto [attention, router] :
       {std::pair{"gqa", "linear"}, {"ccgqa", "mlp"}, {"ccgqa", "linear"}, {"gqa", "mlp-eda"}}) {
    const std::string what = fmt::format("{}, {}", attention, router);
    auto m = models::build_model(nn::builtin_registry(), switched(attention, router));
    nn::initialize(*m, 4);
    const Tensor expected = all_logits(*m, ids);
    const fs::path folder = fs::temp_directory_path() / fmt::format("quern_switches_{}", ::getpid());
    models::save_model(*m, folder, DType::f32);
    auto read = models::load_model(nn::builtin_registry(), folder);  // packed
    fs::remove_all(folder);
    mixers::SequenceState state(read->sites(DType::f32));
    grad::Tape t(grad::Tape::inference);
    const int64_t V = m->vocab_size();
    for (int64_t at = 0; at < 40;) {
      const int64_t n = at == 0 ? 17 : 1;
      const std::vector<int32_t> now(ids.begin() + at, ids.begin() + at + n);
      const Tensor y = read->logits(t, read->hidden(t, now, mixers::Batch::resume({&state}, {n}))).value;
      for (int64_t i = 0; i < y.size(); ++i)
        ASSERT_NEAR(y.item(i), expected.item(at * V + i), 2e-5) << what << ", token " << at;
      at += n;
    }
  }
}

TEST(ZayaSwitches, RecomputedLayersHaveTheSameGradients) {
  const std::vector<int32_t> ids = some_ids(24);
  std::vector<int32_t> targets(ids.begin() + 1, ids.end());
  targets.push_back(-1);
  std::map<std::string, Tensor> plain;
  for (bool recompute : {false, true}) {
    auto m = models::build_model(nn::builtin_registry(), switched("gqa", "linear"));
    nn::initialize(*m, 4);
    grad::Tape t;
    t.recompute_layers = recompute;
    t.backward(m->loss(t, m->hidden(t, ids, mixers::Batch::documents({24})), targets));
    int64_t compared = 0;
    m->visit("", [&](const std::string& name, grad::Parameter& p) {
      if (!p.grad.defined()) return;
      if (!recompute) {
        plain[name] = p.grad.clone();
        return;
      }
      ASSERT_TRUE(plain.contains(name)) << name;
      for (int64_t i = 0; i < p.grad.size(); ++i) ASSERT_EQ(p.grad.item(i), plain[name].item(i)) << name;
      ++compared;
    });
    if (recompute) {
      EXPECT_EQ(compared, static_cast<int64_t>(plain.size()));
    }
  }
}

}  // namespace
}  // namespace quern
