// Time to first token of a request that shares most of its prompt with an earlier one (prefix cache), compared with
// the same prompt cold. Twice: the shared part ends anywhere, and at a turn. Every repetition has its own engine, so
// that only the first request is cached.
#include <algorithm>

#include "apps/quern/bench/bench_model.h"
#include "apps/quern/cli/args.h"
#include "quern/host/bench.h"
#include "quern/infer/engine/engine.h"

namespace quern::cli {
namespace {

using Tokens = std::vector<int32_t>;

struct Case {
  const char* name;
  bool turn;
  std::vector<double> ratio, seconds = {};
  int64_t cached = 0, replayed = 0;
};

}  // namespace

int bench_prefix(const ModelBenchOptions& o) {
  const bool json = o.json;
  const infer::EngineOptions options{.kv = bench_kv(o), .chunk = o.chunk, .cache_bytes = int64_t{4} << 30};
  std::unique_ptr<models::Model> model = bench_subject(o);
  int64_t n = o.prompt, shared = n * 9 / 10;
  auto request = [](Tokens prompt) {
    infer::Request r{.prompt = std::move(prompt)};
    r.options.max_tokens = 1;
    r.options.sampling.temperature = 0;
    return r;
  };
  std::vector<double> cold;
  Case cases[] = {{"anywhere", false, {}}, {"turn end", true, {}}};
  for (int64_t rep = 0; rep < o.reps; ++rep)
    for (Case& c : cases) {
      uint64_t seed = static_cast<uint64_t>(rep) * 4;
      Tokens first = random_tokens(n, model->vocab_size(), seed), second = first;
      Tokens rest = random_tokens(n - shared, model->vocab_size(), seed + 1);
      std::copy(rest.begin(), rest.end(), second.begin() + shared);
      infer::Engine engine(*model, options);
      infer::Request a = request(first);
      if (c.turn) a.turn_ends = {shared};
      double cold_seconds = engine.run(std::move(a)).prompt_seconds;
      infer::Generated warm = engine.run(request(second));
      cold.push_back(cold_seconds);
      c.seconds.push_back(warm.prompt_seconds);
      c.ratio.push_back(warm.prompt_seconds / cold_seconds);
      c.cached = warm.cached_tokens, c.replayed = warm.recomputed_tokens;
    }
  Json out = Json::object(), rows = Json::array();
  if (!json) fmt::print("{} prompt tokens, {} shared; {:.2f} s without the cache\n", n, shared, host::median(cold));
  for (Case& c : cases) {
    Json row = Json::object();
    row.set("shared_until", c.name);
    row.set("seconds", host::median(c.seconds));
    row.set("ratio", host::median(c.ratio));
    row.set("cached_tokens", c.cached);
    row.set("replayed_tokens", c.replayed);
    rows.push(std::move(row));
    if (!json)
      fmt::print(
          "shared until {:<9} {:.2f} s, {:.3f} of the time without the cache; {} tokens cached, {} recomputed\n",
          c.name, host::median(c.seconds), host::median(c.ratio), c.cached, c.replayed);
  }
  out.set("prompt_tokens", n);
  out.set("cold_seconds", host::median(cold));
  out.set("warm", std::move(rows));
  if (json) fmt::print("{}\n", out.dump(2));
  return 0;
}

}  // namespace quern::cli
