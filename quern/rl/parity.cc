#include "quern/rl/parity.h"

#include <algorithm>
#include <cmath>

#include "quern/gym/splits.h"
#include "quern/models/packed_twin.h"
#include "quern/rl/rollout_sampler.h"
#include "quern/rl/scores.h"

namespace quern::rl {
namespace {

class Comparison {
 public:
  void add(std::span<const float> sampled, std::span<const float> other) {
    for (size_t i = 0; i < sampled.size(); ++i) {
      const double a = static_cast<double>(sampled[i]), b = static_cast<double>(other[i]), d = b - a;
      const double p = std::exp(a), q = std::exp(b);
      ++n_, widest_ = std::max(widest_, std::abs(d)), kl_ += std::expm1(d) - d;
      p_ += p, q_ += q, pp_ += p * p, qq_ += q * q, pq_ += p * q;
    }
  }
  Parity result() const {
    const double n = static_cast<double>(n_), vp = pp_ - p_ * p_ / n, vq = qq_ - q_ * q_ / n;
    const double both = std::sqrt(vp * vq);
    return {n_, widest_, kl_ / n, both > 0 ? (pq_ - p_ * q_ / n) / both : 1};
  }

 private:
  int64_t n_ = 0;
  double widest_ = 0, kl_ = 0, p_ = 0, q_ = 0, pp_ = 0, qq_ = 0, pq_ = 0;
};

class RouteComparison {
 public:
  void add(const nn::ExpertRoutes& recorded, const nn::ExpertRoutes& other) {
    for (size_t i = 0; i < recorded.ids.size(); ++i) ++choices_, differ_ += recorded.ids[i] != other.ids[i];
  }
  double share() const { return choices_ > 0 ? static_cast<double>(differ_) / static_cast<double>(choices_) : 0; }

 private:
  int64_t choices_ = 0, differ_ = 0;
};

std::vector<RolloutGroup> sampled(RolloutSampler& sampler, const ParityOptions& o) {
  const gym::NamedEnvironment& e = gym::plugin_environments().find(o.environment);
  std::vector<RolloutGroup> all;
  int64_t tokens = 0;
  for (uint64_t index = 0; tokens < o.tokens;) {
    std::vector<RolloutRequest> asks;
    for (int64_t i = 0; i < std::max<int64_t>(1, o.company / o.group); ++i, ++index) {
      gym::SeededProblem p = gym::split_problem({&e, static_cast<int64_t>(index % 5)}, {.seed = o.seed}, index);
      asks.push_back({.environment = &e,
                      .problem = std::move(p.problem),
                      .problem_seed = p.seed,
                      .seed = mix64(o.seed) + index});
    }
    for (RolloutGroup& g : sampler.run(std::move(asks), 0)) {
      for (const Rollout& r : g.rollouts) tokens += static_cast<int64_t>(r.record.tokens.size());
      all.push_back(std::move(g));
    }
  }
  return all;
}

infer::EngineOptions engine_options(const ParityOptions& o, const text::Tokenizer& tokenizer, int64_t sequences) {
  return {.kv = o.format == kernels::WeightFormat::bf16 ? DType::bf16 : DType::f32,
          .max_sequences = sequences,
          .cache_bytes = 0,
          .exact = o.exact,
          .tokenizer = &tokenizer};
}

}  // namespace

ParityReport measure_parity(const nn::Registry& registry, models::Model& model, const text::Tokenizer& tokenizer,
                            const text::ChatTemplate& chat_template, const ParityOptions& o) {
  models::PackedTwin twin(registry, model, kernels::QuantFormat(o.format));
  infer::Engine engine(twin.model(), engine_options(o, tokenizer, o.company));
  RolloutSampler sampler(engine, tokenizer, chat_template,
                         {.group = o.group, .max_tokens = o.max_tokens, .stop_ids = o.stop_ids});
  const std::vector<RolloutGroup> groups = sampled(sampler, o);
  ParityReport report;
  if (o.exact) {
    infer::Engine alone(twin.model(), engine_options(o, tokenizer, 1));
    const std::vector<infer::RolloutRecord> again = engine_scores(alone, groups);
    Comparison c;
    RouteComparison routes;
    size_t i = 0;
    for (const RolloutGroup& g : groups)
      for (const Rollout& r : g.rollouts) {
        c.add(r.record.logprobs, again[i].logprobs);
        routes.add(r.record.routes, again[i++].routes);
      }
    report.exact = c.result(), report.share_routes_differ = routes.share();
    return report;
  }
  Comparison own, replayed;
  RouteComparison routes;
  const grad::Precision precision =
      o.format == kernels::WeightFormat::bf16 ? grad::Precision::bf16 : grad::Precision::f32;
  for (const RolloutGroup& g : groups)
    for (const Rollout& r : g.rollouts) {
      nn::ExpertRoutes seen;
      own.add(r.record.logprobs, pass_scores(model, g.prompt, r.record, {.precision = precision, .seen = &seen}));
      replayed.add(r.record.logprobs,
                   pass_scores(model, g.prompt, r.record, {.routes = Routes::replayed, .precision = precision}));
      routes.add(r.record.routes, seen);
    }
  report.own = own.result(), report.replayed = replayed.result();
  report.share_routes_differ = routes.share();
  return report;
}

}  // namespace quern::rl
