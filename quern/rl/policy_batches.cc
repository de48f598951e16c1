#include "quern/rl/policy_batches.h"

#include <cmath>

#include "quern/rl/scores.h"

namespace quern::rl {
namespace {

struct Growing {
  train::MicroBatch micro;
  train::PolicyTokens policy;
  std::vector<int64_t> lengths;
  int64_t answer_tokens = 0;
};

// The values of an answer's tokens where its targets lie, 0 where the prompt is read.
void append_values(std::vector<float>& to, std::span<const float> values, size_t prompt) {
  to.resize(to.size() + prompt - 1, 0);
  to.insert(to.end(), values.begin(), values.end());
}

void append(Growing& g, const LearnedRollout& l, const train::RlConfig& c) {
  const RolloutTokens r = rollout_tokens(l.group->prompt, l.rollout->record.tokens);
  const infer::RolloutRecord& record = l.rollout->record;
  const size_t prompt = l.group->prompt.size(), answer = record.tokens.size();
  g.micro.tokens.insert(g.micro.tokens.end(), r.tokens.begin(), r.tokens.end());
  g.micro.targets.insert(g.micro.targets.end(), r.targets.begin(), r.targets.end());
  g.lengths.push_back(static_cast<int64_t>(r.tokens.size()));
  append_values(g.policy.sampled, record.logprobs, prompt);
  append_values(g.policy.advantage, std::vector<float>(answer, static_cast<float>(l.rollout->advantage)), prompt);
  if (!l.current.empty()) append_values(g.policy.current, l.current, prompt);
  if (!l.reference.empty()) append_values(g.policy.reference, l.reference, prompt);
  if (c.replay_routes) g.policy.routes.append(record.routes, 0, record.routes.tokens());
  g.answer_tokens += static_cast<int64_t>(answer);
}

train::MicroBatch finished(Growing g, const train::RlConfig& c) {
  const bool by_tokens = c.loss.normalize == "token";
  g.micro.weight = by_tokens ? g.answer_tokens : static_cast<int64_t>(g.lengths.size());
  g.policy.scale = 1 / (static_cast<double>(g.micro.weight) * (by_tokens ? 1 : static_cast<double>(c.max_tokens)));
  g.policy.temperature = c.temperature, g.policy.loss = c.loss;
  auto policy = std::make_shared<const train::PolicyTokens>(std::move(g.policy));
  g.micro.batch = mixers::Batch::documents(std::move(g.lengths));
  if (!policy->routes.empty()) g.micro.batch.replay_routes = &policy->routes;
  g.micro.policy = std::move(policy);
  return std::move(g.micro);
}

}  // namespace

std::vector<train::MicroBatch> policy_batches(std::span<const LearnedRollout> rollouts, const train::RlConfig& c) {
  std::vector<train::MicroBatch> out;
  Growing now;
  for (const LearnedRollout& l : rollouts) {
    const size_t n = l.group->prompt.size() + l.rollout->record.tokens.size() - 1;
    if (!now.lengths.empty() && static_cast<int64_t>(now.micro.tokens.size() + n) > c.micro_tokens)
      out.push_back(finished(std::exchange(now, {}), c));
    append(now, l, c);
  }
  if (!now.lengths.empty()) out.push_back(finished(std::move(now), c));
  return out;
}

grad::Var policy_loss(grad::Tape& tape, models::Model& model, const train::MicroBatch& b, PolicyStats& stats) {
  const train::PolicyTokens& p = *b.policy;
  const PolicyLoss loss(p.loss);
  const auto vocabulary = static_cast<double>(model.vocab_size());
  const double improbable = -std::log(vocabulary) - 2, rare_id = 0.9 * vocabulary;
  const auto term = [&](int64_t token, double logprob) {
    const auto t = static_cast<size_t>(token);
    const PolicyToken of{.sampled = static_cast<double>(p.sampled[t]),
                         .advantage = static_cast<double>(p.advantage[t]),
                         .reference = p.reference.empty() ? 0 : static_cast<double>(p.reference[t])};
    const double current = p.current.empty() ? logprob : static_cast<double>(p.current[t]);
    stats.add(of.sampled, current, logprob, loss.masked(of, current) ? 1 : 0,
              of.sampled < improbable && b.targets[t] >= rare_id ? 1 : 0);
    kernels::TokenTerm x = loss(of, logprob, current);
    x.loss *= p.scale, x.slope *= p.scale;
    return x;
  };
  const grad::Var hidden = model.hidden(tape, b.tokens, b.batch);
  return model.objective(tape, hidden, {b.targets, term, p.temperature});
}

}  // namespace quern::rl
