// ZeRO: sums, matrices and whole runs are those of ranks that keep everything; matrices that lie in any number of
// pieces are orthogonalized as if they lay in one. And whole runs saved by so many ranks, read by others and saved
// again lose nothing, whatever the plan on either side.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>

#include "quern/comm/in_process.h"
#include "quern/models/checkpoint.h"
#include "quern/optim/muon/muon.h"
#include "quern/train/checkpoint/reader.h"
#include "quern/train/trainer/trainer.h"
#include "quern/train/zero/zero.h"
#include "quern/train/zero/zero_matrices.h"
#include "tests/train/tiny_run.h"

namespace quern {
namespace {

namespace fs = std::filesystem;

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && std::memcmp(a.raw(), b.raw(), static_cast<size_t>(a.bytes())) == 0;
}

Tensor random_tensor(Shape shape, uint64_t seed) {
  Tensor t = Tensor::empty(std::move(shape), DType::f32);
  Rng rng(seed);
  for (float& x : t.span<float>()) x = static_cast<float>(rng.normal());
  return t;
}

// Matrices of several shapes with values, gradients and momenta, the same wherever they are made.
struct Matrices {
  std::vector<std::unique_ptr<grad::Parameter>> whole;
  std::vector<Tensor> momentum;
  Matrices() {
    const std::vector<Shape> shapes = {{8, 16}, {64, 48}, {3, 20, 24}, {40, 40}, {2, 2}, {33, 7}};
    for (size_t i = 0; i < shapes.size(); ++i) {
      whole.push_back(std::make_unique<grad::Parameter>(shapes[i], grad::Init::normal()));
      whole[i]->kind = grad::ParameterKind::matrix, whole[i]->fused = i == 3 ? 2 : 1;
      whole[i]->value = random_tensor(shapes[i], 10 + i), whole[i]->grad = random_tensor(shapes[i], 20 + i);
      momentum.push_back(random_tensor(shapes[i], 30 + i));
    }
  }
};

constexpr optim::OptimizerStep kStep{.lr = 0.01, .grad_scale = 0.7};

// cut[r] … cut[r + 1]: what rank r holds of all matrices, laid one after the other.
void expect_equal_for_cuts(const optim::MuonOptions& options, const std::vector<int64_t>& cuts) {
  optim::Muon muon(options);
  Matrices one;
  std::vector<optim::OptimizerSlot> slots(one.whole.size());
  std::vector<optim::OptimizerSlot*> all;
  for (size_t i = 0; i < slots.size(); ++i) {
    slots[i].parameter = slots[i].whole = one.whole[i].get();
    slots[i].state.add("muon_m", one.momentum[i]);
    all.push_back(&slots[i]);
  }
  muon.step(all, kStep);
  comm::run_ranks(static_cast<int>(cuts.size()) - 1, [&](comm::Communicator& comm) {
    Matrices mine;
    std::map<const grad::Parameter*, int64_t> first;
    int64_t at = 0;
    for (auto& p : mine.whole) first[p.get()] = at, at += p->value.size();
    auto piece = [&](const grad::Parameter& p, int rank) {
      auto inside = [&](int64_t x) { return std::clamp<int64_t>(x - first.at(&p), 0, p.value.size()); };
      return comm::Range{inside(cuts[static_cast<size_t>(rank)]), inside(cuts[static_cast<size_t>(rank) + 1])};
    };
    std::vector<optim::OptimizerSlot> own(mine.whole.size());
    std::vector<std::unique_ptr<grad::Parameter>> pieces;
    std::vector<optim::OptimizerSlot*> cut;
    for (size_t i = 0; i < own.size(); ++i) {
      grad::Parameter& p = *mine.whole[i];
      const comm::Range c = piece(p, comm.rank());
      auto part = [&](const Tensor& t) { return t.reshape({t.size()}).narrow(0, c.begin, c.end - c.begin); };
      pieces.push_back(std::make_unique<grad::Parameter>(Shape{c.end - c.begin}, p.init));
      pieces[i]->value = part(p.value), pieces[i]->grad = part(p.grad);
      own[i].parameter = pieces[i].get(), own[i].whole = &p, own[i].begin = c.begin;
      own[i].state.add("muon_m", part(mine.momentum[i]));
      cut.push_back(&own[i]);
    }
    train::step_matrices(comm, muon, cut, kStep, piece);
    for (size_t i = 0; i < own.size(); ++i) {
      const comm::Range c = piece(*mine.whole[i], comm.rank());
      auto expected = [&](const Tensor& t) { return t.reshape({t.size()}).narrow(0, c.begin, c.end - c.begin); };
      EXPECT_TRUE(same_bits(pieces[i]->value, expected(one.whole[i]->value)))
          << "matrix " << i << ", rank " << comm.rank() << " of " << comm.size();
      EXPECT_TRUE(same_bits(own[i].state.at("muon_m"), expected(one.momentum[i]))) << "momentum " << i;
    }
  });
}

TEST(ZeroMatrices, EqualOneProcessForEverySpan) {
  constexpr int64_t total = 8 * 16 + 64 * 48 + 3 * 20 * 24 + 40 * 40 + 4 + 33 * 7;
  for (int ranks = 1; ranks <= 8; ++ranks) {
    std::vector<int64_t> even, crowded, random;
    Rng rng(static_cast<uint64_t>(ranks));
    for (int r = 0; r <= ranks; ++r) {
      even.push_back(total * r / ranks);
      // All boundaries inside the second matrix: it lies in as many pieces as there are ranks, cut in mid-row.
      crowded.push_back(r == 0 ? 0 : r == ranks ? total : 128 + 48 * 7 * r + 5);
      random.push_back(r == 0 ? 0 : r == ranks ? total : static_cast<int64_t>(rng.below(total)));
    }
    std::sort(random.begin(), random.end());
    for (bool split : {false, true})
      for (const auto& cuts : {even, crowded, random})
        expect_equal_for_cuts({.split_fused = split, .dtype = split ? "f32" : "bf16"}, cuts);
  }
}

TEST(ZeroMatrices, OwnersAreEven) {
  std::vector<train::MatrixShare> m;
  for (int i = 0; i < 40; ++i) m.push_back({1.0 + i % 7, {10, 20, 30}});
  double load[3] = {};
  const std::vector<int> owners = train::matrix_owners(m, 3);
  for (size_t i = 0; i < m.size(); ++i) load[owners[i]] += m[i].cost;
  EXPECT_LE(*std::max_element(load, load + 3) - *std::min_element(load, load + 3), 1.0);
  EXPECT_EQ(train::matrix_owners(std::vector<train::MatrixShare>{{1, {1, 5, 2}}}, 3), std::vector{1})
      << "who holds most";
}

TEST(ZeroShards, SumsAreThoseOfAllReduceAndGoOutEarly) {
  const Json config = Json::read(fs::path(QUERN_SOURCE_DIR) / "tests/goldens/zaya-2-4x2/config.json");
  for (int ranks : {2, 3})
    comm::run_ranks(ranks, [&](comm::Communicator& comm) {
      auto model = models::build_model(nn::builtin_registry(), config);
      nn::initialize(*model, 5);
      train::ZeroShards shards(*model, comm, 3000);
      EXPECT_GT(shards.buckets(), 4);
      std::map<std::string, Tensor> plain;
      auto backward = [&](bool to_shards) {
        std::vector<int32_t> ids, targets;
        for (int i = 0; i < 24; ++i) ids.push_back(3 + (i * 7 + comm.rank()) % 40), targets.push_back(3 + i);
        grad::Tape tape;
        grad::Var loss = model->loss(tape, model->hidden(tape, ids, mixers::Batch::documents({24})), targets);
        if (to_shards) tape.on_grad_ready = [&](grad::Parameter& p) { shards.ready(p); };
        tape.backward(loss);
      };
      backward(false);
      model->visit("", [&](const std::string& name, grad::Parameter& p) {
        if (!p.trainable || !p.grad.defined()) return;
        comm.all_reduce(p.grad);
        plain[name] = p.grad.clone(), p.grad = Tensor();
      });
      for (int turn = 0; turn < 2; ++turn) {
        backward(true);
        shards.finish();
        EXPECT_GE(shards.early(), shards.buckets() / 2) << "of " << shards.buckets();
        double squares = 0;
        model->visit("", [&](const std::string& name, grad::Parameter& p) {
          if (!shards.holds(p)) return;
          int64_t end = 0;
          for (int r = 0; r < comm.size(); ++r) {
            EXPECT_EQ(shards.piece(p, r).begin, end);
            end = shards.piece(p, r).end;
          }
          EXPECT_EQ(end, p.value.size());
          const comm::Range c = shards.piece(p, comm.rank());
          struct Any : optim::Optimizer {
            optim::OptimizerRange cut() const override { return optim::OptimizerRange::elements; }
            std::vector<optim::OptimizerPart> state(const std::string&, const grad::Parameter&) const override {
              return {};
            }
            void step(std::span<optim::OptimizerSlot* const>, const optim::OptimizerStep&) const override {}
          } any;
          const optim::OwnPiece own = shards.own(name, p, any);
          EXPECT_EQ(own.begin, c.begin);
          EXPECT_FALSE(p.grad.defined());
          const auto sum = plain.find(name);
          ASSERT_EQ(own.piece->grad.defined(), sum != plain.end()) << name;
          if (sum == plain.end()) return;
          EXPECT_TRUE(same_bits(own.piece->grad,
                                sum->second.reshape({sum->second.size()}).narrow(0, c.begin, c.end - c.begin)))
              << name;
          for (float g : sum->second.span<float>()) squares += static_cast<double>(g) * g;
          for (int64_t i = c.begin; i < c.end; ++i)  // what gather() must bring to all
            own.piece->value.data<float>()[i - c.begin] = static_cast<float>(i % 97);
        });
        EXPECT_NEAR(shards.sum_of_grad_squares(), squares, 1e-9 * squares);
        shards.gather();
        model->visit("", [&](const std::string& name, grad::Parameter& p) {
          if (!shards.holds(p) || !plain.contains(name)) return;
          shards.need(p);
          for (int64_t i = 0; i < p.value.size(); ++i) ASSERT_EQ(p.value.data<float>()[i], i % 97) << name;
        });
        shards.settle();  // nothing arrives on top of new values
        nn::initialize(*model, 5);
      }
    });
}

class Plans : public testing::TestWithParam<const char*> {
 protected:
  train::Recipe recipe(std::vector<std::string> set = {}) {
    return train::read_recipe(tiny::write_recipe(folder_.path, GetParam()), set);
  }
  std::vector<train::StepMetrics> run(const train::Recipe& r, const std::string& name, int ranks, int64_t stop = 0,
                                      bool resume = false, bool save = false) {
    comm::run_ranks(ranks, [&](comm::Communicator& c) {
      train::Trainer t(r, nn::builtin_registry(), c, {.out = folder_.path / name, .resume = resume});
      while ((stop == 0 || t.finished() < stop) && t.step()) {
      }
      if (stop > 0) save ? t.checkpoint_again() : t.checkpoint();
    });
    return train::read_metrics(folder_.path / name / "metrics.jsonl").steps;
  }
  fs::path out(const std::string& name) const { return folder_.path / name; }

  // Every tensor of every role, and the state, but for who wrote it.
  static void expect_same_content(const fs::path& a, const fs::path& b) {
    const train::CheckpointReader x(a), y(b);
    ASSERT_EQ(x.tensors().size(), y.tensors().size());
    std::map<std::string, int> roles;
    for (const train::StoredTensor& t : x.tensors()) {
      ++roles[t.role];
      EXPECT_TRUE(same_bits(x.read(t.name, t.role), y.read(t.name, t.role))) << t.name << " (" << t.role << ")";
    }
    for (const char* role : {"weight", "m", "v", "muon_m", "step"}) EXPECT_GT(roles[role], 0) << role;
    Json sx = x.state(), sy = y.state();
    sx.erase("ranks"), sy.erase("ranks");
    EXPECT_EQ(sx, sy);
  }

  tiny::Folder folder_{"plans"};
};

TEST_P(Plans, ZeroIsTheSameTraining) {
  const auto one = run(recipe(), "one", 1);
  for (int ranks : {2, 4, 8}) {
    const auto plain = ranks == 8 ? run(recipe(), "plain", ranks) : one;
    const auto zero = run(recipe({"parallel.zero=1", "parallel.bucket=3000"}), fmt::format("zero{}", ranks), ranks);
    ASSERT_EQ(zero.size(), one.size());
    for (size_t i = 0; i < one.size(); ++i) {
      EXPECT_NEAR(plain[i].loss, one[i].loss, 1e-5) << ranks << " ranks, step " << i + 1;
      EXPECT_NEAR(zero[i].loss, one[i].loss, 1e-5) << ranks << " ranks with shards, step " << i + 1;
    }
  }
}

TEST_P(Plans, WithoutClippingZeroIsThatBitForBit) {  // the norm's rounding is all that may differ
  const auto plain = run(recipe({"clip=0"}), "plain", 3);
  const auto zero = run(recipe({"clip=0", "parallel.zero=1", "parallel.bucket=3000"}), "zero", 3);
  for (size_t i = 0; i < plain.size(); ++i) EXPECT_EQ(zero[i].loss, plain[i].loss) << "step " << i + 1;
  expect_same_content(out("plain") / "step_12", out("zero") / "step_12");
}

TEST_P(Plans, SavedOnFourReadByAnyAndSavedAgain) {
  const std::vector<std::string> keep = {"checkpoint.keep=20", "parallel.bucket=3000"};
  auto with = [&](const char* zero) {
    auto set = keep;
    set.push_back(zero);
    return recipe(set);
  };
  const train::Recipe plain = with("parallel.zero=0"), zero = with("parallel.zero=1");
  for (const train::Recipe* four : {&plain, &zero}) {
    const std::string name = four == &plain ? "plain" : "zero";
    const auto whole = run(*four, name + "_whole", 4);
    run(*four, name, 4, 5);
    const fs::path saved = out(name) / "step_5";
    bool other_plan = false;
    for (int ranks : {1, 2, 3, 8}) {
      other_plan = !other_plan;
      run(other_plan ? (four == &plain ? zero : plain) : *four, name, ranks, 5, true, true);
      expect_same_content(saved, *train::latest_committed(out(name)));
      run(*four, name, 4, 5, true, true);
      expect_same_content(saved, *train::latest_committed(out(name)));
    }
    EXPECT_EQ(train::latest_committed(out(name))->filename(), "step_5.9");
    const auto rest = run(*four, name, 4, 0, true);
    ASSERT_EQ(rest.size(), whole.size());
    for (size_t i = 0; i < rest.size(); ++i) EXPECT_EQ(rest[i].loss, whole[i].loss) << "step " << i + 1;
    expect_same_content(out(name + "_whole") / "step_12", out(name) / "step_12");
  }
}

class ContextPlans : public Plans {};

TEST_P(ContextPlans, RowsThatLieOverRanksAreLearnedAlike) {
  const auto one = run(recipe(), "one", 1);
  struct Plan {
    int ranks;
    std::vector<std::string> set;
  };
  int n = 0;
  for (const Plan& plan :
       {Plan{2, {"parallel.context=2"}}, Plan{4, {"parallel.context=4", "parallel.context_form=ring"}},
        Plan{4, {"parallel.context=2", "parallel.zero=1", "parallel.bucket=3000"}},
        Plan{8, {"parallel.context=4", "phase.0.micro_rows=1"}}, Plan{2, {"parallel.context=2", "recompute=true"}}}) {
    const auto other = run(recipe(plan.set), fmt::format("plan{}", n++), plan.ranks);
    ASSERT_EQ(other.size(), one.size());
    for (size_t i = 0; i < one.size(); ++i) {
      EXPECT_NEAR(other[i].loss, one[i].loss, 1e-5) << plan.ranks << " ranks, " << plan.set[0] << ", step " << i + 1;
      EXPECT_EQ(other[i].tokens, one[i].tokens);
    }
  }
  EXPECT_THROW(run(recipe({"parallel.context=2"}), "odd", 3), Error);
  EXPECT_THROW(recipe({"parallel.context_form=star"}), Error);
}

INSTANTIATE_TEST_SUITE_P(Families, ContextPlans,
                         testing::Values("llama-gqa", "zaya-2-4x2", "zamba2-1block", "granite-h-moe", "falcon-h1",
                                         "nemotron-h"),
                         [](const auto& i) {
                           std::string s = i.param;
                           std::replace(s.begin(), s.end(), '-', '_');
                           return s;
                         });

INSTANTIATE_TEST_SUITE_P(Families, Plans,
                         testing::Values("llama-gqa", "zaya-2-4x2", "zamba2-1block", "granite-h-moe", "falcon-h1"),
                         [](const auto& i) {
                           std::string s = i.param;
                           std::replace(s.begin(), s.end(), '-', '_');
                           return s;
                         });

}  // namespace
}  // namespace quern
