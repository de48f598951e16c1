// Checkpoint layouts that families register: ZAYA's two against published-layout models made by transformers, and the
// rewrite that docs/checkpoints.md shows.
#include <sstream>

#include "quern/base/test_message.h"
#include "quern/models/zaya/zaya_model.h"
#include "quern/nn/builtin_registry.h"
#include "quern/tensor/safetensors.h"
#include "quern/train/reshape/test_rewrite.h"

namespace quern {
namespace {

using namespace train::checkpoint_test;

TEST(Layout, ZayaLayoutsAgreeWithPublishedNames) {
  const fs::path goldens = fs::path(QUERN_SOURCE_DIR) / "tests/goldens";
  for (const char* name : {"zaya-2-4x2", "zaya-5-4x2"}) {
    const TensorFolder current(goldens / name), legacy(goldens / (std::string(name) + "-legacy"));
    Named a, b;  // a second role must travel alike
    for (const std::string& n : current.names()) {
      a.emplace_back(n, "master", current.tensor(n));
      a.emplace_back(n, "m", current.tensor(n));
    }
    std::map<std::string, Tensor> want_legacy, want_current;
    for (const std::string& n : legacy.names()) {
      b.emplace_back(n, "master", legacy.tensor(n));
      b.emplace_back(n, "m", legacy.tensor(n));
      want_legacy[n + "/m"] = want_legacy[n + "/master"] = legacy.tensor(n);
    }
    for (const std::string& n : current.names())
      want_current[n + "/m"] = want_current[n + "/master"] = current.tensor(n);
    const auto rule = [&](const char* to) {
      return fmt::format("[[rewrite]]\nop = 'zaya'\nto = '{}'\nconfig = '{}'\n", to, (goldens / name).string());
    };
    expect_equal(rewritten(nn::builtin_registry(), a, rule("legacy"), 1 << 14), want_legacy);
    expect_equal(rewritten(nn::builtin_registry(), b, rule("current"), 1 << 14), want_current);
  }
}

// docs/checkpoints.md: its examples, in order, make a model with more blocks, experts and tokens.
TEST(Layout, TheDocumentsExamples) {
  const fs::path root = QUERN_SOURCE_DIR, folder = root / "tests/goldens/zaya-2-4x2";
  std::istringstream lines(read_file(root / "docs/checkpoints.md"));
  std::string toml;
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    inside = line == "    [[rewrite]]" || (inside && line.starts_with("    "));
    if (inside) toml += line.substr(4) + "\n";
  }
  ASSERT_NE(toml, "");
  const TensorFolder weights(folder);
  Named tensors;
  for (const std::string& n : weights.names()) tensors.emplace_back(n, "master", weights.tensor(n));
  std::map<std::string, std::string> found, want;
  for (const auto& [name, t] : rewritten(nn::builtin_registry(), tensors, toml, 1 << 16))
    found[name] = to_string(t.shape());
  Json config = Json::read(folder / "config.json");
  models::ZayaConfig c = models::ZayaConfig::from_hf(config, nullptr);
  c.num_hidden_layers = 3, c.num_experts = 8, c.vocab_size = 4096;
  c.layer_types.assign(3, c.layer_types.at(0));
  models::ZayaModel(c).visit(
      "", [&](const std::string& name, grad::Parameter& p) { want[name + "/master"] = to_string(p.shape); });
  EXPECT_EQ(found, want);
}

TEST(Layout, MistakesAreNamed) {
  const auto said = [](const std::string& rule) {
    return message_of([&] {
      rewritten(nn::builtin_registry(), {{"w", "weight", iota({3})}}, "[[rewrite]]\nop = " + rule);
    });
  };
  EXPECT_NE(said("'zaya'\nto = 'old'\n").find("expected legacy or current, found 'old'"), std::string::npos);
  EXPECT_NE(said("'zaya'\nto = 'legacy'\n").find("expected a config.json"), std::string::npos);
  EXPECT_NE(said("'zay'\n").find("resize, zaya, found 'zay'; did you mean 'zaya'?"), std::string::npos)
      << said("'zay'\n");
}

}  // namespace
}  // namespace quern
