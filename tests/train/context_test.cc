// Context parallel: outputs, gradients of inputs and of parameters are those of one rank, in double, for attention,
// CCA and Mamba-2 in several forms, 1 to 8 ranks, packed documents, both forms of attention; and the rows that travel
// are those that must.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <mutex>

#include "quern/base/test_message.h"
#include "quern/comm/in_process.h"
#include "quern/mixers/attention/attention_mixer.h"
#include "quern/mixers/cca/cca_mixer.h"
#include "quern/mixers/mamba2/mamba2_mixer.h"
#include "quern/mixers/ranks/context_parallel.h"
#include "quern/nn/builtin_registry.h"
#include "quern/nn/check_module.h"

namespace quern {
namespace {

using MakeMixer = std::function<std::unique_ptr<mixers::Mixer>()>;

struct Outcome {
  Tensor y, gx;
  std::map<std::string, Tensor> parameters;
};

Tensor rows_of(const Tensor& x, const std::vector<int64_t>& which) {
  Tensor out = Tensor::empty({static_cast<int64_t>(which.size()), x.dim(1)}, x.dtype());
  for (size_t i = 0; i < which.size(); ++i)
    out.narrow(0, static_cast<int64_t>(i), 1).copy_from(x.narrow(0, which[i], 1));
  return out;
}

Outcome run(mixers::Mixer& m, const Tensor& x, const Tensor& gy, const mixers::Batch& batch) {
  grad::NamedParameters named = nn::randomized(m, 5, 0.7);
  grad::Tape tape;
  grad::Var in = tape.input(x);
  grad::Var y = m.forward(tape, in, batch, 0);
  tape.backward({y}, {gy});
  Outcome o{y.value.clone(), tape.grad(in).clone(), {}};
  m.visit("", [&](const std::string& name, grad::Parameter& p) {
    if (p.grad.defined()) o.parameters[name] = p.grad.clone();
  });
  return o;
}

double distance(const Tensor& a, const Tensor& b) {
  EXPECT_EQ(a.shape(), b.shape());
  double worst = 0;
  for (int64_t i = 0; i < a.size(); ++i) worst = std::max(worst, std::abs(a.item(i) - b.item(i)));
  return worst;
}

void expect_equal_on_ranks(const MakeMixer& make, int64_t width, const std::vector<int64_t>& documents,
                           double tolerance) {
  int64_t T = 0;
  for (int64_t n : documents) T += n;
  const Tensor x = grad::random_normal({T, width}, 9), gy = grad::random_normal({T, width}, 11);
  const auto one_mixer = make();
  const Outcome one = run(*one_mixer, x, gy, mixers::Batch::documents(documents));
  for (mixers::ContextParallelKind form : {mixers::ContextParallelKind::gather, mixers::ContextParallelKind::ring})
    for (int ranks : {1, 2, 3, 4, 8}) {
      SCOPED_TRACE(fmt::format("{} ranks, {}", ranks, form == mixers::ContextParallelKind::ring ? "ring" : "gather"));
      comm::run_ranks(ranks, [&](comm::Communicator& comm) {
        const mixers::ContextParallel context(comm, documents, form);
        const auto mixer = make();
        Outcome o = run(*mixer, rows_of(x, context.rows()), rows_of(gy, context.rows()), context.batch());
        EXPECT_LE(distance(o.y, rows_of(one.y, context.rows())), tolerance) << "outputs";
        EXPECT_LE(distance(o.gx, rows_of(one.gx, context.rows())), tolerance) << "gradients of inputs";
        for (const auto& [name, expected] : one.parameters) {
          Tensor sum =
              o.parameters.contains(name) ? o.parameters[name] : Tensor::zeros(expected.shape(), expected.dtype());
          comm.all_reduce(sum);
          EXPECT_LE(distance(sum, expected), 20 * tolerance) << name;
        }
      });
    }
}

const std::vector<std::vector<int64_t>> kDocuments = {{37}, {5, 1, 17, 2, 9}, {3, 2}, {16, 16}};

TEST(ContextParallel, Attention) {
  for (int64_t window : {0, 6})
    for (const auto& documents : kDocuments)
      expect_equal_on_ranks(
          [&] {
            mixers::AttentionConfig c;
            c.width = 6, c.n_head = 4, c.n_head_kv = 2, c.head_dim = 4, c.rotary_dims = 4, c.window = window;
            return std::make_unique<mixers::AttentionMixer>(c);
          },
          6, documents, 1e-12);
}

// The length that frequencies depend on is that of the whole document, of which a rank has a part.
TEST(ContextParallel, AttentionWithScaledRotaryPositions) {
  for (const auto& documents : kDocuments)
    expect_equal_on_ranks(
        [&] {
          mixers::AttentionConfig c;
          c.width = 6, c.n_head = 2, c.n_head_kv = 1, c.head_dim = 6, c.rotary_dims = 6;
          c.rope.magnitude = 1.25, c.rope.dynamic = mixers::DynamicNtk{.factor = 4, .length = 4};
          return std::make_unique<mixers::AttentionMixer>(c);
        },
        6, documents, 1e-12);
}

TEST(ContextParallel, CompressedConvolutionalAttention) {
  struct Form {
    int64_t n_head, n_head_kv, time0, time1, window;
    bool delay, mean, bias;
  };
  for (const Form& f : {Form{4, 2, 2, 2, 0, true, true, false}, Form{2, 2, 4, 3, 0, true, true, true},
                        Form{2, 1, 0, 0, 0, false, false, true}, Form{4, 2, 3, 0, 5, false, true, false},
                        Form{4, 2, 0, 2, 3, true, false, true}})
    for (const auto& documents : kDocuments)
      expect_equal_on_ranks(
          [&] {
            mixers::CcaConfig c;
            c.width = 6, c.n_head = f.n_head, c.n_head_kv = f.n_head_kv, c.head_dim = 4, c.rotary_dims = 2;
            c.time0 = f.time0, c.time1 = f.time1, c.window = f.window, c.value_delay = f.delay, c.qk_mean = f.mean;
            c.qkv_bias = c.o_bias = f.bias;
            return std::make_unique<mixers::CcaMixer>(c);
          },
          6, documents, 1e-12);
}

TEST(ContextParallel, Mamba2) {
  for (int64_t groups : {1, 2})
    for (const auto& documents : kDocuments)
      expect_equal_on_ranks(
          [&] {
            mixers::Mamba2Config c;
            c.width = 6, c.n_head = 4, c.head_dim = 3, c.n_state = 5, c.n_group = groups, c.conv_bias = groups == 1;
            return std::make_unique<mixers::Mamba2Mixer>(c);
          },
          6, documents, 1e-11);
}

TEST(ContextParallel, OtherMixersRejectItByName) {
  const std::map<std::string, std::string> fields = {
      {"gated_delta", R"({"width": 6, "n_head": 2, "head_dim": 4})"},
      {"linear_attention", R"({"width": 6, "n_head": 2, "head_dim": 4})"},
      {"mamba1", R"({"width": 6, "inner": 8, "n_head": 1, "n_state": 4, "dt_rank": 2})"},
      {"ovq", R"({"width": 6, "n_head": 2, "head_dim": 4})"},
      {"vq_attention", R"({"width": 6, "n_head": 2, "head_dim": 4})"},
  };
  comm::run_ranks(1, [&](comm::Communicator& comm) {
    const mixers::ContextParallel context(comm, {8});
    for (const auto& [name, json] : fields) {
      const auto mixer = nn::builtin_registry().mixers.make(name, Json::parse(json));
      nn::randomized(*mixer, 5, 0.7);
      const auto forward = [&](const mixers::Batch& batch) {
        grad::Tape tape(grad::Tape::inference);
        return mixer->forward(tape, tape.input(grad::random_normal({8, 6}, 9)), batch, 0);
      };
      EXPECT_EQ(forward(mixers::Batch::single(8)).value.dim(0), 8) << name;
      EXPECT_EQ(message_of([&] { forward(context.batch()); }),
                name + ": context parallelism (parallel.context) is not supported by this mixer");
    }
  });
}

TEST(ContextParallel, ChunksAreZigZagAndHalosAreFetchedWhereADocumentGoesOn) {
  comm::run_ranks(3, [&](comm::Communicator& comm) {
    const mixers::ContextParallel c(comm,
                                    {7, 17});  // 24 rows, chunks of 4; the second document begins inside chunk 1
    const int r = comm.rank();
    std::vector<int64_t> rows;
    for (int chunk : {r, 5 - r})
      for (int64_t i = 4 * chunk; i < 4 * chunk + 4; ++i) rows.push_back(i);
    EXPECT_EQ(c.rows(), rows);
    Tensor x = Tensor::empty({8, 1}, DType::f64);
    for (int64_t i = 0; i < 8; ++i) x.data<double>()[i] = 100.0 + static_cast<double>(rows[static_cast<size_t>(i)]);
    grad::Tape tape;
    grad::Var in = tape.input(x);
    const grad::Var wide = c.with_halo(tape, in, 2);
    std::vector<double> got(wide.value.span<double>().begin(), wide.value.span<double>().end());
    const std::vector<std::vector<double>> expected = {
        {0, 0, 100, 101, 102, 103, 118, 119, 120, 121, 122, 123},
        {102, 103, 104, 105, 106, 0, 0, 107, 114, 115, 116, 117, 118, 119},
        {0, 107, 108, 109, 110, 111, 110, 111, 112, 113, 114, 115}};
    EXPECT_EQ(got, expected[static_cast<size_t>(r)]);
    // A gradient of 1 for every fetched row: each owner gets one for every time a row of its own was lent.
    tape.backward({wide}, {Tensor::full(wide.value.shape(), DType::f64, 1)});
    const Tensor g = tape.grad(in);
    for (int64_t i = 0; i < 8; ++i) {
      const int64_t row = rows[static_cast<size_t>(i)];
      const bool lent = row == 2 || row == 3 || row == 7 || row == 10 || row == 11 || row == 14 || row == 15 ||
                        row == 18 || row == 19;
      EXPECT_EQ(g.item(i), lent ? 2 : 1) << "row " << row;
    }
  });
}

}  // namespace
}  // namespace quern
