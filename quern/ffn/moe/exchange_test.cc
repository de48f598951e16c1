// Experts that lie over ranks: outputs, gradients of inputs and of parameters, and loads are those of one rank that
// has every token, for both routers and readings of the skip class, also where ranks feed unequal numbers of tokens
// or none.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "quern/comm/in_process.h"
#include "quern/ffn/moe/exchange.h"
#include "quern/ffn/moe/moe_ffn.h"
#include "quern/nn/check_module.h"

namespace quern::ffn {
namespace {

constexpr int64_t kWidth = 6, kExperts = 5;

std::unique_ptr<MoeFfn> mixture(int kind) {
  if (kind == 2)
    return std::make_unique<MoeFfn>(std::make_unique<LinearRouter>(kWidth, kExperts, 2, TopKWeights::renormalized),
                                    kWidth, 4, kExperts);
  ZayaRouterConfig c{.width = kWidth, .router_width = 5, .n_experts = kExperts, .depth_average = false};
  c.skip = kind == 1 ? ZayaRouterConfig::Skip::identity : ZayaRouterConfig::Skip::zero;
  return std::make_unique<MoeFfn>(c, 4);
}

struct Result {
  Tensor y, gx;
  std::map<std::string, Tensor> grads;
};

// Rows [begin, end) of x through the mixture, forwards and backwards with gy.
Result pass(int kind, const Tensor& x, const Tensor& gy, int64_t begin, int64_t end, comm::Communicator* group) {
  auto m = mixture(kind);
  grad::NamedParameters parameters = nn::randomized(*m, 21, 0.8);
  for (auto& [name, p] : parameters)  // let the skip class win now and then
    if (name.ends_with("balancing_biases")) p->value = Tensor::of<double>({6}, {0.05, -0.1, 0.1, 0, 0, 0.3});
  m->share(group);
  grad::Tape tape;
  grad::Var in = tape.input(x.narrow(0, begin, end - begin).clone());
  DepthCarry carry;
  grad::Var y = m->forward(tape, in, carry);
  tape.backward(std::vector<grad::Var>{y}, std::vector<Tensor>{gy.narrow(0, begin, end - begin).clone()});
  Result r{.y = y.value, .gx = tape.grad(in), .grads = {}};
  m->visit("", [&](const std::string& name, grad::Parameter& p) {
    r.grads[name] = p.grad.defined() ? p.grad : Tensor::zeros(p.shape, DType::f64);
  });
  return r;
}

void expect_near(const Tensor& a, const Tensor& b, const std::string& what) {
  ASSERT_EQ(a.size(), b.size()) << what;
  for (int64_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a.item(i), b.item(i), 1e-12) << what << ", element " << i;
}

TEST(ExpertExchange, EqualsOneRank) {
  constexpr int64_t T = 23;
  const Tensor x = grad::random_normal({T, kWidth}, 4), gy = grad::random_normal({T, kWidth}, 5);
  for (int kind : {0, 1, 2}) {
    const Result one = pass(kind, x, gy, 0, T, nullptr);
    if (kind < 2) {
      EXPECT_GT(one.grads.at("gate.balancing_biases").item(kExperts), 0) << "no token was skipped";
    }
    for (int ranks : {1, 2, 3, 5})
      comm::run_ranks(ranks, [&](comm::Communicator& comm) {
        // The last rank of several has one token alone, the others share the rest.
        const bool last = comm.rank() == ranks - 1;
        const comm::Range cut = ranks == 1 ? comm::Range{0, T}
                                : last     ? comm::Range{T - 1, T}
                                           : comm::even_range(T - 1, ranks - 1, comm.rank());
        const std::string what = fmt::format("kind {}, rank {} of {}", kind, comm.rank(), ranks);
        Result mine = pass(kind, x, gy, cut.begin, cut.end, &comm);
        expect_near(mine.y, one.y.narrow(0, cut.begin, cut.end - cut.begin).clone(), what + ": y");
        expect_near(mine.gx, one.gx.narrow(0, cut.begin, cut.end - cut.begin).clone(), what + ": gx");
        const comm::Range own = comm::even_range(kExperts, ranks, comm.rank());
        for (auto& [name, g] : mine.grads) {
          if (name.starts_with("experts."))
            for (int64_t e = 0; e < kExperts; ++e) {
              double sum = 0;
              const Tensor of = g.narrow(0, e, 1).clone();
              for (int64_t i = 0; i < of.size(); ++i) sum += std::abs(of.item(i));
              const bool here = e >= own.begin && e < own.end;
              EXPECT_TRUE(here || sum == 0) << what << ": expert " << e << " is not here";
            }
          g = g.to(DType::f64);
          comm.all_reduce(g);
          expect_near(g, one.grads.at(name).to(DType::f64), what + ": " + name);
        }
      });
  }
}

TEST(ExpertExchange, SendsARowWhereItsExpertIsAlone) {
  comm::run_ranks(2, [&](comm::Communicator& comm) {  // experts 0 and 1 are rank 0's, 2 and 3 rank 1's; 4 is none
    const std::vector<std::vector<int32_t>> chosen = {{0, 2, 4, 1}, {3, 3, 4, 4}};
    const std::vector<int32_t>& e = chosen[static_cast<size_t>(comm.rank())];
    Tensor expert = Tensor::empty({4, 1}, DType::i32), x = Tensor::empty({4, 1}, DType::f32);
    for (int64_t t = 0; t < 4; ++t)
      expert.data<int32_t>()[t] = e[static_cast<size_t>(t)],
      x.data<float>()[t] = static_cast<float>(10 * comm.rank() + t);
    const ExpertExchange exchange(comm, expert, 4);
    grad::Tape tape(grad::Tape::inference);
    const grad::Var here = exchange.send_tokens(tape, x);
    const std::vector<float> expected = comm.rank() == 0 ? std::vector<float>{0, 3} : std::vector<float>{1, 10, 11};
    ASSERT_EQ(here.value.size(), static_cast<int64_t>(expected.size()));
    for (size_t i = 0; i < expected.size(); ++i)
      EXPECT_EQ(here.value.data<float>()[i], expected[i]) << "rank " << comm.rank();
    const Tensor back = exchange.home(tape, here).value;
    for (int64_t t = 0; t < 4; ++t)
      EXPECT_EQ(back.data<float>()[t], e[static_cast<size_t>(t)] == 4 ? 0 : x.data<float>()[t]);
  });
}

TEST(ExpertExchange, MoreRanksThanExpertsAreRefused) {
  comm::run_ranks(6, [&](comm::Communicator& comm) { EXPECT_THROW(mixture(0)->share(&comm), Error); });
}

}  // namespace
}  // namespace quern::ffn
