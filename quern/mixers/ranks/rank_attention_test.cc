// Attention over ranks against softmax in double by its definition: every way of joining, every rank count, ragged
// and empty shards, grouped heads; the same bits on all ranks; what is sent and kept against closed forms. The suite
// runs on ranks of one process, and then starts itself under mpirun.
#include "quern/mixers/ranks/rank_attention.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <set>

#include "quern/base/mmap.h"
#include "quern/base/test_message.h"
#include "quern/comm/in_process.h"
#include "quern/comm/mpi.h"
#include "quern/comm/network.h"
#include "quern/grad/gradcheck.h"
#include "quern/mixers/ranks/cache_shards.h"
#include "quern/tensor/safetensors.h"

namespace quern::mixers {
namespace {

comm::Communicator* mpi_world = nullptr;

void each_world(const std::vector<int>& sizes, const std::function<void(comm::Communicator&)>& fn) {
  if (mpi_world) return fn(*mpi_world);
  for (int p : sizes) comm::run_ranks(p, fn, {.timeout_s = 120});
}

struct Case {
  Tensor q, k, v;  // [1, Hq, d], [N, Hkv, d]
  double scale;
  std::vector<double> o;
};

// Softmax by its definition, in double.
Case make_case(int64_t n, int64_t hq, int64_t hkv, int64_t d, double scale, DType t) {
  Case c{grad::random_normal({1, hq, d}, 1, t), grad::random_normal({n, hkv, d}, 2, t),
         grad::random_normal({n, hkv, d}, 3, t), scale, std::vector<double>(static_cast<size_t>(hq * d))};
  std::vector<double> s(static_cast<size_t>(n));
  for (int64_t h = 0; h < hq; ++h) {
    const int64_t g = h / (hq / hkv);
    double top = -INFINITY, sum = 0;
    for (int64_t a = 0; a < n; ++a) {
      double dot = 0;
      for (int64_t j = 0; j < d; ++j) dot += c.q.item(h * d + j) * c.k.item((a * hkv + g) * d + j);
      s[static_cast<size_t>(a)] = dot * scale;
      top = std::max(top, dot * scale);
    }
    for (int64_t a = 0; a < n; ++a) {
      const double e = std::exp(s[static_cast<size_t>(a)] - top);
      sum += e;
      for (int64_t j = 0; j < d; ++j) c.o[static_cast<size_t>(h * d + j)] += e * c.v.item((a * hkv + g) * d + j);
    }
    for (int64_t j = 0; j < d; ++j) c.o[static_cast<size_t>(h * d + j)] /= sum;
  }
  return c;
}

struct Form {
  const char* name;
  RankAttentionOptions options;
};
std::vector<Form> forms() {
  std::vector<Form> all;
  for (ReduceForm f : kReduceForms) all.push_back({reduce_form_name(f), {.reduce = {.form = f, .node_ranks = 2}}});
  all.push_back({"two-level of 3", {.reduce = {.form = ReduceForm::two_level, .node_ranks = 3}}});
  all.push_back({"ring-kv", {.form = ShardForm::ring_kv, .slice_bytes = 5000}});
  all.push_back({"gather-kv", {.form = ShardForm::gather_kv}});
  return all;
}

Attended run(comm::Communicator& c, const Case& x, const std::vector<int64_t>& counts, RankAttentionOptions o,
             ExchangeMemory& memory) {
  int64_t at = 0;
  for (int r = 0; r < c.rank(); ++r) at += counts[static_cast<size_t>(r)];
  const int64_t n = counts[static_cast<size_t>(c.rank())];
  o.scale = x.scale;
  return rank_attention(c, {.q = x.q, .k = x.k.narrow(0, at, n), .v = x.v.narrow(0, at, n), .counts = counts}, o,
                        memory);
}

void expect_all(const Case& x, const std::vector<int>& worlds, double tolerance,
                const std::function<std::vector<int64_t>(int ranks)>& counts) {
  for (const Form& f : forms())
    each_world(worlds, [&](comm::Communicator& c) {
      ExchangeMemory memory;
      const Attended a = run(c, x, counts(c.size()), f.options, memory);
      double worst = 0;
      for (int64_t i = 0; i < a.o.size(); ++i)
        worst = std::max(worst, std::abs(a.o.item(i) - x.o[static_cast<size_t>(i)]));
      EXPECT_LT(worst, tolerance) << f.name << ", " << c.size() << " ranks, " << x.k.dim(0) << " keys";
      const std::vector<std::string> bits =
          c.all_gather_text(std::string(static_cast<const char*>(a.o.raw()), static_cast<size_t>(a.o.bytes())) +
                            std::string(static_cast<const char*>(a.lse.raw()), static_cast<size_t>(a.lse.bytes())));
      EXPECT_EQ(std::set<std::string>(bits.begin(), bits.end()).size(), 1u) << f.name << ", " << c.size() << " ranks";
    });
}

const std::vector<int> kWorlds = {1, 2, 3, 4, 5, 8};

TEST(RankAttention, EveryFormRankCountAndLength) {
  for (int64_t n : {1, 7, 31, 16384})
    for (int64_t group : {1, 4}) {
      const Case x = make_case(n, 8, 8 / group, 64, 1 / std::sqrt(64.0), DType::f32);
      expect_all(x, kWorlds, 1e-6, [&](int ranks) { return comm::even_counts(n, ranks); });
    }
}

TEST(RankAttention, RaggedAndEmptyShards) {
  const Case x = make_case(100, 4, 2, 40, 1 / std::sqrt(40.0), DType::f32);
  expect_all(x, {2, 3, 5}, 1e-6, [](int ranks) {  // all with the last rank but ten keys with the second
    std::vector<int64_t> counts(static_cast<size_t>(ranks), 0);
    counts.back() += 90;
    counts[ranks > 1 ? 1 : 0] += 10;
    return counts;
  });
}

TEST(RankAttention, LogitsOfTensAndDoublePrecision) {
  expect_all(make_case(2000, 4, 4, 128, 1, DType::f32), {1, 3, 4}, 2e-5,
             [](int ranks) { return comm::even_counts(2000, ranks); });  // scores of deviation 11
  expect_all(make_case(2000, 4, 4, 128, 1, DType::f64), {1, 3, 4}, 1e-13,
             [](int ranks) { return comm::even_counts(2000, ranks); });
}

// Bytes and messages at the send calls, all ranks together.
struct Sent {
  int64_t bytes = 0, max_messages = 0, extra = 0;
};
Sent sent_by(int ranks, const Case& x, const RankAttentionOptions& o) {
  Sent s;
  std::mutex m;
  comm::run_ranks(ranks, [&](comm::Communicator& c) {
    ExchangeMemory memory;
    run(c, x, comm::even_counts(x.k.dim(0), ranks), o, memory);
    const std::lock_guard lock(m);
    s.bytes += c.sent().bytes;
    s.max_messages = std::max(s.max_messages, c.sent().messages);
    s.extra = std::max(s.extra, memory.peak());
  });
  return s;
}

TEST(RankAttention, StepsAndBytesAreTheClosedForms) {
  if (mpi_world) GTEST_SKIP() << "counted on ranks of one process";
  const int64_t n = 480, hq = 16, hkv = 4, d = 128, B = (hq * d + 2 * hq) * 4;  // 8320
  const Case x = make_case(n, hq, hkv, d, 0.1, DType::f32);
  for (int64_t p : {1, 2, 3, 4, 5, 8}) {
    const int64_t whole = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(p))),
                  rounds = std::countr_zero(static_cast<uint64_t>(whole));
    auto with = [&](ReduceForm f) {
      return sent_by(static_cast<int>(p), x, {.reduce = {.form = f, .node_ranks = 4}});
    };
    const Sent tree = with(ReduceForm::butterfly);
    EXPECT_EQ(tree.bytes, (whole * rounds + 2 * (p - whole)) * B);
    if (p == whole) {
      EXPECT_EQ(tree.max_messages, rounds);
    }
    EXPECT_EQ(tree.extra, B);
    EXPECT_LT(tree.extra, 64 << 10);
    const Sent ring = with(ReduceForm::ring);
    EXPECT_EQ(ring.bytes, p * (p - 1) * B);
    EXPECT_EQ(ring.max_messages, p - 1);
    // A sum of one number a head takes one exchange, which sends p·(p − 1) of it and not 2·(p − 1).
    const int64_t more = p > 2 ? (p - 1) * (p - 2) * hq * 4 : 0;
    for (const auto& [f, small] :
         {std::pair{ReduceForm::three_reduces, 2}, {ReduceForm::two_reduces, 1}, {ReduceForm::heads, 0}})
      EXPECT_EQ(with(f).bytes, 2 * (p - 1) * B + small * more) << reduce_form_name(f);
    EXPECT_EQ(with(ReduceForm::native).bytes, tree.bytes) << "threads bring no reduction of their own";
    if (p == 8) {  // two nodes of four: six up, one each way between, six back
      EXPECT_EQ(with(ReduceForm::two_level).bytes, 14 * B);
    }
    // Keys and values: every block makes p − 1 hops. With slices of a whole block two messages a step.
    const Sent kv = sent_by(static_cast<int>(p), x, {.form = ShardForm::ring_kv});
    EXPECT_EQ(kv.bytes, (p - 1) * n * 2 * hkv * d * 4);
    EXPECT_EQ(kv.max_messages, 2 * (p - 1));
    EXPECT_EQ(sent_by(static_cast<int>(p), x, {.form = ShardForm::gather_kv}).bytes, kv.bytes);
    // Room: two blocks of n/p keys, a slice of one, and the records.
    if (p > 1 && n % p == 0) {
      EXPECT_EQ(kv.extra, 3 * (n / p) * hkv * d * 4 + p * B);
    }
  }
}

TEST(RankAttention, ResultIsTheGradientOfTheEnergy) {  // F(ζ) = log Σ exp(scale·q·k + ζ·v), o = ∂F/∂ζ at 0
  const int64_t n = 23, d = 6;
  const Case x = make_case(n, 1, 1, d, 0.4, DType::f64);
  each_world({3}, [&](comm::Communicator& c) {
    ExchangeMemory memory;
    const Attended a = run(c, x, comm::even_counts(n, c.size()), {}, memory);
    auto energy = [&](int64_t axis, double zeta) {
      double sum = 0;
      for (int64_t i = 0; i < n; ++i) {
        double s = 0;
        for (int64_t j = 0; j < d; ++j) s += x.scale * x.q.item(j) * x.k.item(i * d + j);
        sum += std::exp(s + zeta * x.v.item(i * d + axis));
      }
      return std::log(sum);
    };
    EXPECT_NEAR(a.lse.item(), energy(0, 0), 1e-12);
    for (int64_t j = 0; j < d; ++j) EXPECT_NEAR(a.o.item(j), (energy(j, 1e-5) - energy(j, -1e-5)) / 2e-5, 1e-7);
  });
}

Tensor rows_of(const Tensor& x, const std::vector<RowRun>& runs) {
  Shape s = x.shape();
  s[0] = 0;
  for (const RowRun& r : runs) s[0] += r.n;
  const Tensor out = Tensor::empty(s, x.dtype());
  for (const RowRun& r : runs) out.narrow(0, r.local, r.n).copy_from(x.narrow(0, r.row, r.n));
  return out;
}

void expect_near(const Tensor& a, const Tensor& b, double tolerance) {
  ASSERT_EQ(a.shape(), b.shape());
  const Tensor x = a.contiguous_copy_if_needed(), y = b.contiguous_copy_if_needed();
  for (int64_t i = 0; i < a.size(); ++i) ASSERT_NEAR(x.item(i), y.item(i), tolerance) << "element " << i;
}

// Keys of one sequence over ranks, forwards and backwards, against automatic differentiation elsewhere.
TEST(RankAttention, CausalRowsAndGradientsEqualTheGolden) {
  const SafetensorsFile golden(QUERN_SOURCE_DIR "/tests/goldens/rank-attention/attention.safetensors");
  auto of = [&](const char* name) { return golden.tensor(name).clone(); };
  for (int64_t block : {1, 3, 64})
    for (ReduceForm f : kReduceForms)
      each_world(kWorlds, [&](comm::Communicator& c) {
        const CacheShards shards(c, {.form = f}, block);
        const std::vector<RowRun> here = shards.here(0, 31);
        grad::Tape tape;
        const grad::Var q = tape.input(of("q")), k = tape.input(rows_of(of("k"), here)),
                        v = tape.input(rows_of(of("v"), here));
        const grad::Var o = rank_attend(tape, c, {.q = q, .first = 0, .k = k, .v = v, .keys = here},
                                        {.scale = 1 / std::sqrt(8.0)}, {.form = f});
        expect_near(o.value, of("o"), 1e-13);
        tape.backward({o}, {of("go")});
        expect_near(tape.grad(q), of("gq"), 1e-13);
        expect_near(tape.grad(k), rows_of(of("gk"), here), 1e-13);
        expect_near(tape.grad(v), rows_of(of("gv"), here), 1e-13);
        // The last query alone, as decoding has it.
        ExchangeMemory memory;
        std::vector<int64_t> counts(static_cast<size_t>(c.size()));
        const int64_t mine = k.dim(0);
        c.all_gather(std::span(&mine, 1), counts);
        const Attended a =
            rank_attention(c, {.q = of("q").narrow(0, 30, 1), .k = k.value, .v = v.value, .counts = counts},
                           {.scale = 1 / std::sqrt(8.0), .reduce = {.form = f}}, memory);
        expect_near(a.o, of("o").narrow(0, 30, 1), 1e-13);
        expect_near(a.lse, of("lse").narrow(0, 30, 1), 1e-13);
      });
}

TEST(CacheShards, EveryRowHasOneOwner) {
  each_world({1, 2, 3, 5}, [](comm::Communicator& c) {
    for (int64_t block : {1, 4}) {
      const CacheShards shards(c, {}, block);
      int64_t mine = 0;
      for (int64_t row = 0; row < 40; ++row) {
        const std::vector<RowRun> run = shards.here(row, row + 1);
        EXPECT_EQ(run.size(), shards.owner(row) == c.rank() ? 1u : 0u);
        if (!run.empty()) {
          EXPECT_EQ(run[0].local, mine++);
          EXPECT_EQ(run[0].row, row);
        }
        EXPECT_EQ(shards.count_here(row + 1), mine);
        EXPECT_EQ(c.all_reduce(mine), row + 1);
      }
      int64_t n = 0;
      for (const RowRun& r : shards.here(5, 33)) n += r.n;
      EXPECT_EQ(n, shards.count_here(33) - shards.count_here(5));
    }
  });
}

TEST(RankAttention, FormsHaveNames) {
  for (ReduceForm f : kReduceForms) EXPECT_EQ(parse_reduce_form(reduce_form_name(f)), f);
  EXPECT_NE(message_of([] { parse_reduce_form("trees"); }).find("'trees'"), std::string::npos);
}

TEST(RankAttention, SameSuiteUnderMpirun) {
  if (mpi_world) return;
  if (!comm::mpi_built() || std::system("mpirun --version >/dev/null 2>&1") != 0)
    GTEST_SKIP() << "no MPI here: the suite ran on ranks of one process only";
  const std::filesystem::path log =
      std::filesystem::temp_directory_path() / fmt::format("quern-rank-attention-{}", ::getpid());
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  const int code = std::system(fmt::format("ASAN_OPTIONS=detect_leaks=0 OMPI_ALLOW_RUN_AS_ROOT=1 "
                                           "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
                                           "mpirun --oversubscribe -n 3 '{}' --gtest_brief=1 >'{}' 2>&1",
                                           self, log.string())
                                   .c_str());
  EXPECT_EQ(code, 0) << read_file(log);
  std::filesystem::remove(log);
}

}  // namespace
}  // namespace quern::mixers

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  if (!quern::comm::under_mpi()) return RUN_ALL_TESTS();
  int code = 0;
  quern::comm::run_mpi(
      [&](quern::comm::Communicator& c) {
        quern::mixers::mpi_world = &c;
        code = RUN_ALL_TESTS();
      },
      {.timeout_s = 120});
  return code;
}
