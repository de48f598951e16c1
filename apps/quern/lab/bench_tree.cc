// quern bench tree-attention: attention over ranks, measured and modeled.
#include "apps/quern/bench/bench_tree.h"

#include <chrono>
#include <cmath>
#include <map>

#include "apps/quern/cli/args.h"
#include "quern/base/json.h"
#include "quern/base/stopwatch.h"
#include "quern/comm/in_process.h"
#include "quern/comm/mpi.h"
#include "quern/comm/network.h"
#include "quern/grad/gradcheck.h"
#include "quern/host/bench.h"
#include "quern/mixers/ranks/rank_attention.h"

namespace quern::cli {
namespace {

constexpr int kJoins = 8;

struct Way {
  std::string name;
  mixers::RankAttentionOptions options;
};

std::vector<Way> ways(int64_t head_dim) {
  std::vector<Way> all;
  const double scale = 1 / std::sqrt(static_cast<double>(head_dim));
  for (mixers::ReduceForm f : mixers::kReduceForms)
    all.push_back({mixers::reduce_form_name(f), {.scale = scale, .reduce = {.form = f, .node_ranks = 4}}});
  all.push_back({"ring-kv", {.scale = scale, .form = mixers::ShardForm::ring_kv}});
  all.push_back({"gather-kv", {.scale = scale, .form = mixers::ShardForm::gather_kv}});
  return all;
}

struct Measured {
  std::vector<double> seconds, join_seconds;
  std::vector<double> alone, butterfly, butterfly_join;  // timed just before: what the ratios are against
  int64_t bytes = 0, messages = 0, extra_bytes = 0;      // all ranks'; of one rank at most
};

double median_ratio(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> r;
  for (size_t i = 0; i < a.size(); ++i) r.push_back(a[i] / b[i]);
  return host::median(r);
}

// Each rank makes its own shard. From barrier to barrier, as rank 0 sees it; all ways in every round, each with its
// own measures of attention alone and of the butterfly beside it.
std::map<std::string, Measured> measured(comm::Communicator& c, const TreeBenchOptions& o) {
  const std::vector<int64_t> counts = comm::even_counts(o.tokens, c.size());
  const int64_t n = counts[static_cast<size_t>(c.rank())];
  const auto seed = static_cast<uint64_t>(c.rank());
  const Tensor q = grad::random_normal({1, o.heads, o.head_dim}, 1, DType::f32),
               k = grad::random_normal({n, o.kv_heads, o.head_dim}, 100 + seed, DType::f32),
               v = grad::random_normal({n, o.kv_heads, o.head_dim}, 200 + seed, DType::f32);
  const double scale = 1 / std::sqrt(static_cast<double>(o.head_dim));
  std::map<std::string, Measured> all;
  auto timed = [&](auto&& f) {
    c.barrier();
    const Stopwatch watch;
    f();
    c.barrier();
    return watch.seconds();
  };
  auto whole = [&](const mixers::RankAttentionOptions& way, mixers::ExchangeMemory& memory) {
    return timed([&] { mixers::rank_attention(c, {.q = q, .k = k, .v = v, .counts = counts}, way, memory); });
  };
  auto joining = [&](const mixers::RankAttentionOptions& way) {
    if (way.form != mixers::ShardForm::reduce) return 0.0;
    const Tensor records = mixers::no_partials(o.heads, o.head_dim, DType::f32);
    mixers::ExchangeMemory memory;
    return timed([&] {  // one behind the other, or barriers would be half of what is timed
             for (int i = 0; i < kJoins; ++i) mixers::reduce_partials(c, records, way.reduce, memory);
           }) /
           kJoins;
  };
  const mixers::RankAttentionOptions butterfly{.scale = scale};
  for (int64_t rep = -1; rep < o.reps; ++rep)  // the first round touches memory
    for (const Way& w : ways(o.head_dim)) {
      if (w.options.form != mixers::ShardForm::reduce && rep > 0 && rep % 8) continue;  // a hundred times as long
      mixers::ExchangeMemory memory, other;
      double alone = 0, tree = 0, tree_join = 0, seconds = 0, join = 0;
      int64_t bytes = 0, messages = 0;
      auto beside = [&] {
        alone = timed([&] { mixers::partials_of_all(q, {k, v, {}, {}}, scale); }), tree = whole(butterfly, other);
        tree_join = joining(butterfly);
      };
      auto itself = [&] {
        const comm::Communicator::Sent before = c.sent();  // barriers send no bytes
        seconds = whole(w.options, memory);
        bytes = c.sent().bytes - before.bytes, messages = c.sent().messages - before.messages;
        join = joining(w.options);
      };
      // By turns, for what comes first after another way finds other things in the caches.
      rep % 2 ? itself(), beside() : (beside(), itself());
      if (rep < 0) continue;
      Measured& m = all[w.name];
      m.alone.push_back(alone), m.butterfly.push_back(tree), m.butterfly_join.push_back(tree_join);
      m.seconds.push_back(seconds), m.join_seconds.push_back(join);
      if (rep > 0) continue;
      m.bytes = c.all_reduce(bytes), m.messages = c.all_reduce(messages, comm::ReduceOp::max);
      m.extra_bytes = c.all_reduce(memory.peak(), comm::ReduceOp::max);
    }
  return all;
}

Json to_json(const std::map<std::string, Measured>& all, const TreeBenchOptions& o, int ranks, bool mpi) {
  Json j = Json::object(), by = Json::object();
  j.set("ranks", ranks), j.set("kind", mpi ? "MPI processes" : "threads of one process");
  j.set("tokens", o.tokens), j.set("heads", o.heads), j.set("kv_heads", o.kv_heads), j.set("head_dim", o.head_dim);
  std::vector<double> alone, butterfly;  // beside every way
  for (const auto& [name, m] : all) {
    alone.insert(alone.end(), m.alone.begin(), m.alone.end());
    butterfly.insert(butterfly.end(), m.butterfly.begin(), m.butterfly.end());
  }
  j.set("compute_ms", 1e3 * host::median(alone)), j.set("butterfly_ms", 1e3 * host::median(butterfly));
  j.set("butterfly_over_compute", median_ratio(butterfly, alone));
  for (const Way& w : ways(o.head_dim)) {
    const Measured& m = all.at(w.name);
    Json one = Json::object();
    one.set("ms", 1e3 * host::median(m.seconds));
    one.set("over_compute", median_ratio(m.seconds, m.alone));
    one.set("over_butterfly", median_ratio(m.seconds, m.butterfly));
    if (w.options.form == mixers::ShardForm::reduce) {
      one.set("join_us", 1e6 * host::median(m.join_seconds));
      one.set("join_over_butterfly", median_ratio(m.join_seconds, m.butterfly_join));
    }
    one.set("bytes", m.bytes), one.set("most_messages", m.messages), one.set("extra_bytes", m.extra_bytes);
    by.set(w.name, std::move(one));
  }
  j.set("ways", std::move(by));
  return j;
}

void print(const Json& j) {
  fmt::print(
      "{} ranks ({}), {} keys, {} query heads of {}, {} key-value heads; attention on the local shard: {:.2f} ms, "
      "with "
      "a butterfly reduction {:.2f}×\n",
      j.at("ranks").as_int(), j.at("kind").as_string(), j.at("tokens").as_int(), j.at("heads").as_int(),
      j.at("head_dim").as_int(), j.at("kv_heads").as_int(), j.at("compute_ms").as_double(),
      j.at("butterfly_over_compute").as_double());
  fmt::print("{:<14}{:>10}{:>10}{:>12}{:>10}{:>16}{:>10}{:>14}\n", "", "ms", "/compute", "/butterfly", "join us",
             "bytes, all", "messages", "extra bytes");
  for (const auto& [name, w] : j.at("ways").as_object()) {
    const Json* join = w.find("join_us");
    fmt::print("{:<14}{:>10.2f}{:>10.2f}{:>12.2f}{:>10}{:>16}{:>10}{:>14}\n", name, w.at("ms").as_double(),
               w.at("over_compute").as_double(), w.at("over_butterfly").as_double(),
               join ? fmt::format("{:.0f}", join->as_double()) : "", w.at("bytes").as_int(),
               w.at("most_messages").as_int(), w.at("extra_bytes").as_int());
  }
}

// 40 000 keys a rank of 16 heads of 128 in bf16, read at 3.35 TB/s; nodes of 8; 5 µs and 450 GB/s in a node, 20 µs
// and 50 GB/s between nodes.
Json modeled() {
  constexpr int kNode = 8;
  constexpr int64_t kBlock = 2 * 40000 * 2048 * 2, kRecord = (2048 + 2 * 16) * 4;
  constexpr double kLocal = static_cast<double>(kBlock) / 3.35e12;
  const comm::Link near{5e-6, 450e9}, far{20e-6, 50e9};
  Json rows = Json::object();
  for (int p = 8; p <= 1024; p *= 2) {
    Json at = Json::object();
    auto of = [&](const comm::Network& n) {
      auto us = [&](const std::function<comm::CommSchedule(int)>& schedule, int64_t bytes, double work) {
        return 1e6 * comm::replay(n, schedule, bytes, kLocal, work).seconds;
      };
      Json one = Json::object();
      const double tree = us([&](int r) { return comm::butterfly_schedule(r, p); }, kRecord, 0),
                   two = us([&](int r) { return comm::two_level_schedule(r, n.node_of); }, kRecord, 0),
                   ring = us([&](int r) { return comm::ring_schedule(r, p); }, kRecord, 0),
                   kv = us([&](int r) { return comm::ring_schedule(r, p); }, kBlock, kLocal), local = 1e6 * kLocal;
      one.set("butterfly_us", tree), one.set("two_level_us", two), one.set("ring_us", ring),
          one.set("ring_kv_us", kv);
      one.set("ring_over_butterfly_joining", (ring - local) / (tree - local));
      one.set("ring_over_butterfly", ring / tree);
      one.set("ring_kv_over_butterfly", kv / tree);
      return one;
    };
    at.set("one_level", of({near, near, std::vector<int>(static_cast<size_t>(p), 0)}));
    at.set("contiguous", of({near, far, comm::contiguous_nodes(p, kNode)}));
    at.set("random", of({near, far, comm::shuffled_nodes(p, kNode, 7)}));
    rows.set(std::to_string(p), std::move(at));
  }
  return rows;
}

void print_model(const Json& rows) {
  fmt::print("microseconds on modeled networks: one node; nodes of 8 in order; nodes of 8 at random\n");
  fmt::print("{:>6}  {:<11}{:>12}{:>12}{:>12}{:>14}{:>16}\n", "ranks", "", "butterfly", "two-level", "ring",
             "ring-kv", "ring-kv/butterfly");
  for (const auto& [p, at] : rows.as_object())
    for (const auto& [name, one] : at.as_object())
      fmt::print("{:>6}  {:<11}{:>12.0f}{:>12.0f}{:>12.0f}{:>14.0f}{:>20.0f}\n", p, name,
                 one.at("butterfly_us").as_double(), one.at("two_level_us").as_double(),
                 one.at("ring_us").as_double(), one.at("ring_kv_us").as_double(),
                 one.at("ring_kv_over_butterfly").as_double());
}

}  // namespace

int bench_tree(const TreeBenchOptions& o) {
  const bool json = o.json;
  if (o.network) {
    const Json rows = modeled();
    json ? fmt::print("{}\n", rows.dump(2)) : print_model(rows);
    return 0;
  }
  if (o.ranks < 1 || o.tokens < 1)
    throw UsageError("quern bench tree-attention: expected --ranks and --keys of at least 1");
  if (o.kv_heads < 1 || o.heads < 1 || o.heads % o.kv_heads || o.head_dim < 1)
    throw UsageError(fmt::format("quern bench tree-attention: --heads {}: expected a multiple of --kv-heads {}",
                                 o.heads, o.kv_heads));
  auto run = [&](comm::Communicator& c) {
    const Json j = to_json(measured(c, o), o, c.size(), comm::under_mpi());
    if (c.rank() == 0) json ? fmt::print("{}\n", j.dump(2)) : print(j);
  };
  comm::under_mpi() ? comm::run_mpi(run) : comm::run_ranks(static_cast<int>(o.ranks), run);
  return 0;
}

}  // namespace quern::cli
