// Which optimizer moves which parameter of real models, rules and layer decay, and that a run continued from saved
// optimizer state is the run that was not interrupted.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "quern/base/test_message.h"
#include "quern/optim/groups.h"
#include "tests/models/golden.h"

namespace quern {
namespace {

std::unique_ptr<models::Model> model_of(const char* golden) { return load_golden(Golden(golden), DType::f32, false); }

void learn(models::Model& model, const Golden& g, optim::OptimizerGroups& optimizer, int steps) {
  for (int k = 0; k < steps; ++k) {
    nn::zero_grad(model);
    grad::Tape tape;
    std::span<const int32_t> ids = std::span(g.tokens).first(24);
    std::vector<int32_t> targets(ids.begin() + 1, ids.end());
    targets.push_back(-1);
    tape.backward(model.loss(tape, model.hidden(tape, ids, mixers::Batch::documents({10, 14})), targets));
    optimizer.step({.lr = 1e-2, .grad_scale = 0.5});
  }
}

// What decides is what a parameter is, not its rank: convolutions, A_log, D and temperatures have two and three
// dimensions in places.
TEST(OptimizerGroups, DecayFollowsTheKind) {
  for (const char* golden : {"zaya-2-4x2", "zamba-6", "zamba2-2block-adapters", "llama-gqa", "granite-h-moe"}) {
    auto model = model_of(golden);
    int matrices = 0, balances = 0;
    model->visit("", [&](const std::string& name, grad::Parameter& p) {
      SCOPED_TRACE(std::string(golden) + " " + name);
      auto has = [&](const char* part) { return name.find(part) != name.npos; };
      if (has("balancing_biases")) {
        ++balances;
        EXPECT_EQ(p.kind, grad::ParameterKind::balance);
      } else if (has("embed_tokens")) {
        EXPECT_EQ(p.kind, grad::ParameterKind::embedding);
      } else if (has("lm_head")) {
        EXPECT_EQ(p.kind, grad::ParameterKind::head);
      } else if (has("norm") || has("bias") || has("A_log") || name.ends_with(".D") || has("conv") || has("scale") ||
                 has("temp")) {
        EXPECT_EQ(p.kind, grad::ParameterKind::plain);
      } else {
        ++matrices;
        EXPECT_EQ(p.kind, grad::ParameterKind::matrix);
        EXPECT_GE(p.shape.size(), 2u);
      }
    });
    EXPECT_GE(matrices, 8) << golden;
    EXPECT_EQ(balances > 0, std::string(golden).starts_with("zaya"));
  }
}

TEST(OptimizerGroups, DefaultsAndRules) {
  auto model = model_of("zaya-2-4x2");
  optim::OptimizerConfig c;
  c.layer_decay = 0.5;
  c.rules = {Json::parse(R"({"match": "*experts.down_proj", "optimizer": {"type": "adamw"}, "lr_scale": 3})"),
             Json::parse(R"({"kind": "embedding"})")};
  optim::OptimizerGroups groups(*model, nn::builtin_registry(), c);
  std::map<std::string, std::vector<std::string>> roles;
  groups.visit_state([&](const optim::OptimizerSlot& slot, const optim::OptimizerPart& part, Tensor& t) {
    roles[slot.name].push_back(part.role);
    EXPECT_EQ(t.shape(), part.shape);
    EXPECT_EQ(t.dtype(), part.dtype);
  });
  const std::vector<std::string> adamw = {"m", "v", "step"}, muon = {"muon_m"};
  int layers = 0;
  model->visit("", [&](const std::string& name, grad::Parameter& p) {
    SCOPED_TRACE(name);
    if (p.kind == grad::ParameterKind::embedding) {
      EXPECT_EQ(groups.find(name), nullptr);
      return;
    }
    ASSERT_NE(groups.find(name), nullptr);
    const bool down = name.ends_with("experts.down_proj");
    EXPECT_EQ(roles[name], p.kind == grad::ParameterKind::matrix && !down ? muon : adamw);
    if (name.find("layers.0.") != name.npos) {
      ++layers;
      EXPECT_EQ(groups.find(name)->lr_scale, 0.5 * (down ? 3 : 1));
    } else if (name.find("layers.1.") != name.npos) {
      ++layers;
      EXPECT_EQ(groups.find(name)->lr_scale, down ? 3 : 1);
    }
  });
  EXPECT_GT(layers, 20);
  int64_t bytes = 0;
  groups.visit_state(
      [&](const optim::OptimizerSlot&, const optim::OptimizerPart&, Tensor& t) { bytes += t.bytes(); });
  EXPECT_EQ(groups.state_bytes(), bytes);
}

TEST(OptimizerGroups, EveryParameterLearnsAndTheLossFalls) {
  for (const char* golden : {"zaya-2-4x2", "zamba2-2block-adapters"}) {
    Golden g(golden);
    auto model = load_golden(g, DType::f32, false);
    optim::OptimizerGroups groups(*model, nn::builtin_registry(), {});
    std::map<std::string, Tensor> before;
    model->visit("", [&](const std::string& name, grad::Parameter& p) { before[name] = p.value.clone(); });
    auto loss = [&] {
      grad::Tape tape(grad::Tape::inference);
      std::span<const int32_t> ids = std::span(g.tokens).first(24);
      std::vector<int32_t> targets(ids.begin() + 1, ids.end());
      targets.push_back(-1);
      return model->loss(tape, model->hidden(tape, ids, mixers::Batch::documents({10, 14})), targets).value.item();
    };
    const double at_first = loss();
    learn(*model, g, groups, 4);
    EXPECT_LT(loss(), at_first - 0.2) << golden;
    model->visit("", [&](const std::string& name, grad::Parameter& p) {
      const Tensor& old = before[name];
      const bool same = std::equal(old.data<float>(), old.data<float>() + old.size(), p.value.data<float>());
      EXPECT_FALSE(same) << golden << " " << name;
    });
  }
}

TEST(OptimizerGroups, SavedStateContinuesTheRun) {
  Golden g("zaya-2-4x2");
  auto whole = load_golden(g, DType::f32, false), first = load_golden(g, DType::f32, false),
       second = load_golden(g, DType::f32, false);
  optim::OptimizerGroups a(*whole, nn::builtin_registry(), {}), b(*first, nn::builtin_registry(), {}),
      c(*second, nn::builtin_registry(), {});
  learn(*whole, g, a, 5);
  learn(*first, g, b, 2);
  std::map<std::string, Tensor> values, state;
  first->visit("", [&](const std::string& name, grad::Parameter& p) { values[name] = p.value.clone(); });
  b.visit_state([&](const optim::OptimizerSlot& s, const optim::OptimizerPart& part, Tensor& t) {
    state[s.name + "/" + part.role] = t.clone();
  });
  second->visit("", [&](const std::string& name, grad::Parameter& p) { p.value = values[name]; });
  c.visit_state([&](const optim::OptimizerSlot& s, const optim::OptimizerPart& part, Tensor& t) {
    t = state[s.name + "/" + part.role];
  });
  learn(*second, g, c, 3);
  std::map<std::string, Tensor> want;
  whole->visit("", [&](const std::string& name, grad::Parameter& p) { want[name] = p.value; });
  second->visit("", [&](const std::string& name, grad::Parameter& p) {
    EXPECT_TRUE(std::equal(p.value.data<float>(), p.value.data<float>() + p.value.size(), want[name].data<float>()))
        << name;
  });
}

TEST(OptimizerGroups, MistakesAreNamed) {
  auto model = model_of("llama-gqa");
  auto message = [&](optim::OptimizerConfig c) {
    return message_of([&] { optim::OptimizerGroups(*model, nn::builtin_registry(), c); });
  };
  optim::OptimizerConfig c;
  c.matrices = Json::parse(R"({"type": "moun"})");
  EXPECT_NE(message(c).find("did you mean 'muon'"), std::string::npos);
  c.matrices = Json::parse(R"({"type": "muon", "momentun": 0.9})");
  EXPECT_NE(message(c).find("did you mean 'momentum'"), std::string::npos);
  c = {};
  c.others = Json::parse(R"({"type": "muon"})");
  EXPECT_NE(message(c).find("is not a matrix"), std::string::npos);
  c = {};
  c.rules = {Json::parse(R"({"kind": "vector"})")};
  EXPECT_NE(message(c).find("'vector'"), std::string::npos);
}

}  // namespace
}  // namespace quern
