#include "quern/rl/rollout_source.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "quern/base/error.h"
#include "quern/gym/splits.h"
#include "quern/models/checkpoint.h"
#include "quern/models/packed_twin.h"
#include "quern/rl/advantages.h"
#include "quern/rl/policy_batches.h"
#include "quern/rl/rollout_buffer.h"
#include "quern/rl/rollout_log.h"
#include "quern/rl/scores.h"
#include "quern/train/trainer/export.h"
#include "quern/train/trainer/gradients.h"

namespace quern::rl {
namespace {

using train::PhaseConfig;
using train::Recipe;
using train::RlConfig;

kernels::QuantFormat sampling_format(const Recipe& r) {
  return kernels::QuantFormat(r.dtype == "bf16" ? kernels::WeightFormat::bf16 : kernels::WeightFormat::f32);
}

constexpr int64_t kPrefixCacheBytes = int64_t{64} << 20;  // the prompts of a round are short

struct Slot {  // a problem that this round asks for
  int64_t index = 0, attempt = 0;
  gym::LearnerDifficulties::Draw draw = {};
};

class RolloutSource : public train::BatchSource {
 public:
  RolloutSource(const train::SourceRequest& r, const nn::Registry& registry, std::filesystem::path run,
                std::shared_ptr<PolicyStats> stats);

  train::StepBatches next(int64_t rows) override;
  int64_t consumed() const override { return consumed_; }
  void seek(int64_t consumed) override { consumed_ = consumed, buffer_.clear(); }
  std::string describe() const override;
  Json state() const override;
  void restore(const Json& state) override;
  void report(train::StepMetrics& m) override;
  bool samples_from_model() const override { return true; }

 private:
  void sample(int64_t rows);
  Slot slot(int64_t index, int64_t attempt) const;
  std::vector<RolloutGroup> ask(const std::vector<Slot>& slots);
  void value(RolloutGroup& g);
  void refresh();
  std::vector<LearnedRollout> learned() const;
  void add_current(std::vector<LearnedRollout>& rollouts);
  void add_reference(std::vector<LearnedRollout>& rollouts);

  const Recipe& recipe_;
  const PhaseConfig& phase_;
  const RlConfig& c_;
  const train::RankGroups& ranks_;
  uint64_t seed_;
  text::Tokenizer tokenizer_;
  text::ChatTemplate chat_template_;
  models::PackedTwin twin_;
  infer::Engine engine_;
  RolloutSampler sampler_;
  gym::LearnerDifficulties difficulties_;
  std::map<std::string, double> best_;  // highest share solved of a group, by environment
  std::unique_ptr<models::Model> reference_;
  std::optional<RolloutLog> log_;
  bool logging_ = false;
  std::shared_ptr<PolicyStats> stats_;
  int64_t consumed_ = 0, age_ = 0, current_age_ = 0;  // ages of the next and of this step, in steps since sampling
  std::vector<std::vector<RolloutGroup>> buffer_;     // by step, the next one first
  std::vector<RolloutGroup> current_;                 // of the step that is under way
};

RolloutOptions rollout_options(const PhaseConfig& p, const std::filesystem::path& tokenizer) {
  return {.group = p.rl.group,
          .max_tokens = p.rl.max_tokens,
          .max_length = p.sequence_length,
          .temperature = p.rl.temperature,
          .min_compression = p.rl.min_compression,
          .stop_ids = models::load_generation_config(tokenizer).eos_token_id};
}

infer::EngineOptions engine_options(const Recipe& r, const RlConfig& c, const text::Tokenizer& tokenizer) {
  return {.kv = r.dtype == "bf16" ? DType::bf16 : DType::f32,
          .max_sequences = c.max_sequences,
          .cache_bytes = kPrefixCacheBytes,
          .exact = c.exact,
          .tokenizer = &tokenizer};
}

RolloutSource::RolloutSource(const train::SourceRequest& r, const nn::Registry& registry, std::filesystem::path run,
                             std::shared_ptr<PolicyStats> stats)
    : recipe_(r.recipe),
      phase_(recipe_.phase[r.phase]),
      c_(phase_.rl),
      ranks_(r.ranks),
      seed_(mix64(static_cast<uint64_t>(recipe_.seed) + 0x71ull) + r.phase),
      tokenizer_(models::load_tokenizer(train::tokenizer_source(recipe_))),
      chat_template_(models::load_chat_template(train::tokenizer_source(recipe_), r.model.family())),
      twin_(registry, r.model, sampling_format(recipe_)),
      engine_(twin_.model(), engine_options(recipe_, c_, tokenizer_)),
      sampler_(engine_, tokenizer_, chat_template_, rollout_options(phase_, train::tokenizer_source(recipe_))),
      difficulties_(c_.environments, c_.difficulty),
      stats_(std::move(stats)) {
  if (c_.updates > 1 && ranks_.all.size() > 1)
    fail("phase '{}', rl.updates: {} with {} ranks: rollouts that wait for their step are kept of one rank only",
         phase_.name, c_.updates, ranks_.all.size());
  if (c_.loss.kl > 0)
    reference_ =
        models::load_model(registry, recipe_.base / recipe_.model.from, {.dtype = DType::f32, .pack = false});
  if (ranks_.all.rank() == 0) log_.emplace(run / "rollouts.jsonl");
}

void RolloutSource::refresh() {
  twin_.refresh();
  engine_.cache().clear();
}

Slot RolloutSource::slot(int64_t index, int64_t attempt) const {
  Rng r(seed_, static_cast<uint64_t>(index * (c_.resample + 1) + attempt));
  return {index, attempt, difficulties_.draw(r)};
}

// Where a difficulty has too few problems, or they are too long, its group has no answers and counts as failed: the
// difficulty falls.
std::vector<RolloutGroup> RolloutSource::ask(const std::vector<Slot>& slots) {
  std::vector<RolloutSampler::Ask> asks;
  std::vector<size_t> asked;
  std::vector<RolloutGroup> out(slots.size());
  for (size_t i = 0; i < slots.size(); ++i) {
    const Slot& s = slots[i];
    const gym::NamedEnvironment& e = gym::plugin_environments().find(s.draw.environment);
    const auto number = static_cast<uint64_t>(s.index * (c_.resample + 1) + s.attempt);
    out[i].environment = &e, out[i].problem.difficulty = s.draw.difficulty;
    auto p =
        gym::find_split_problem({&e, s.draw.difficulty}, {.split = gym::ProblemSplit::train, .seed = seed_}, number);
    if (!p || !sampler_.fits(p->problem)) {
      if (s.draw.difficulty == 0)
        fail("phase '{}': environment '{}' has {} at difficulty 0", phase_.name, e.name,
             p ? fmt::format("problems of more than {} tokens (sequence_length)", phase_.sequence_length)
               : "too few problems to train on");
      continue;
    }
    asks.push_back({&e, std::move(p->problem), p->seed, mix64(seed_ ^ 0xa115) + number * 0x10001});
    asked.push_back(i);
  }
  std::vector<RolloutGroup> groups = sampler_.run(std::move(asks), twin_.version());
  for (size_t k = 0; k < asked.size(); ++k) out[asked[k]] = std::move(groups[k]);
  return out;
}

// Samples for `updates` steps of this many problems each. Every rank samples its share; what difficulties learn is the
// same on all.
void RolloutSource::sample(int64_t rows) {
  refresh();
  const int64_t first = rows * ranks_.group / ranks_.groups, end = rows * (ranks_.group + 1) / ranks_.groups;
  const int64_t attempts = c_.resample + 1, all = rows * c_.updates;
  Tensor means = Tensor::full({all * attempts}, DType::f64, 0), seen = Tensor::full({all * attempts}, DType::f64, 0),
         solved = Tensor::full({all * attempts}, DType::f64, 0);
  std::map<int64_t, RolloutGroup> got;  // by index from consumed_
  std::vector<Slot> open;
  for (int64_t i = 0; i < all; ++i)
    if (i % rows >= first && i % rows < end) open.push_back(slot(consumed_ + i, 0));
  while (!open.empty()) {
    std::vector<RolloutGroup> groups = ask(open);
    std::vector<Slot> again;
    for (size_t k = 0; k < open.size(); ++k) {
      const Slot& s = open[k];
      const int64_t i = s.index - consumed_, at = i * attempts + s.attempt;
      means.data<double>()[at] = groups[k].mean_reward(), seen.data<double>()[at] = 1;
      solved.data<double>()[at] = groups[k].share_solved();
      const bool signal = has_signal(groups[k].rewards());
      if (signal || s.attempt == 0 || groups[k].mean_reward() > got[i].mean_reward()) got[i] = std::move(groups[k]);
      if (!signal && s.attempt < c_.resample) again.push_back(slot(s.index, s.attempt + 1));
    }
    open = std::move(again);
  }
  for (Tensor* t : {&means, &seen, &solved}) ranks_.all.all_reduce(*t);
  struct Outcome {
    Slot slot;
    double mean, solved;
  };
  std::vector<Outcome> drawn;
  for (int64_t at = 0; at < all * attempts; ++at) {
    if (seen.data<double>()[at] == 0) continue;
    const Slot s = slot(consumed_ + at / attempts, at % attempts);
    drawn.push_back({s, means.data<double>()[at], solved.data<double>()[at]});
  }
  for (const auto& [s, mean, share] : drawn) {  // all were drawn before any of them is looked at
    difficulties_.observe(s.draw.environment, s.draw.difficulty, std::clamp(mean, 0.0, 1.0));
    double& best = best_[s.draw.environment];
    best = std::max(best, share);
  }
  buffer_.assign(static_cast<size_t>(c_.updates), {});
  for (auto& [i, g] : got) {
    value(g);
    buffer_[static_cast<size_t>(i / rows)].push_back(std::move(g));
  }
  age_ = 0;
}

void RolloutSource::value(RolloutGroup& g) {
  const LengthBonus bonus{c_.length_bonus, c_.max_tokens};
  const std::vector<double> rewards = g.rewards();
  std::vector<int64_t> tokens;
  for (const Rollout& r : g.rollouts) tokens.push_back(static_cast<int64_t>(r.record.tokens.size()));
  const std::vector<double> a =
      advantages(c_.advantage, rewards, bonus.of(rewards, tokens, best_[g.environment->name]));
  for (size_t i = 0; i < a.size(); ++i) g.rollouts[i].advantage = a[i];
}

// Answers of groups that have something to tell.
std::vector<LearnedRollout> RolloutSource::learned() const {
  std::vector<LearnedRollout> out;
  for (const RolloutGroup& g : current_) {
    const bool signal =
        std::any_of(g.rollouts.begin(), g.rollouts.end(), [](const Rollout& r) { return r.advantage != 0; });
    if (!signal && c_.loss.kl == 0) continue;
    for (const Rollout& r : g.rollouts) out.push_back({&g, &r});
  }
  return out;
}

// Without an update in between the weights are those that sampled, and so are the log-probabilities.
void RolloutSource::add_current(std::vector<LearnedRollout>& rollouts) {
  if (!c_.exact) return;
  if (current_age_ == 0) {
    for (LearnedRollout& l : rollouts) l.current = l.rollout->record.logprobs;
    return;
  }
  refresh();
  const std::vector<infer::RolloutRecord> all = engine_scores(engine_, current_);
  std::map<const Rollout*, const std::vector<float>*> by_rollout;
  size_t i = 0;
  for (const RolloutGroup& g : current_)
    for (const Rollout& r : g.rollouts) by_rollout[&r] = &all[i++].logprobs;
  for (LearnedRollout& l : rollouts) l.current = *by_rollout.at(l.rollout);
}

void RolloutSource::add_reference(std::vector<LearnedRollout>& rollouts) {
  if (!reference_) return;
  const ScoreOptions how{.temperature = c_.temperature,
                         .routes = c_.replay_routes ? Routes::replayed : Routes::own,
                         .precision = train::precision_of(recipe_)};
  for (LearnedRollout& l : rollouts) l.reference = pass_scores(*reference_, l.group->prompt, l.rollout->record, how);
}

train::StepBatches RolloutSource::next(int64_t rows) {
  if (buffer_.empty()) sample(rows);
  current_ = std::move(buffer_.front());
  buffer_.erase(buffer_.begin());
  current_age_ = age_++;
  std::vector<LearnedRollout> rollouts = learned();
  add_current(rollouts), add_reference(rollouts);
  train::StepBatches out;
  out.micro = policy_batches(rollouts, c_);
  for (const train::MicroBatch& m : out.micro) out.tokens += static_cast<int64_t>(m.tokens.size());
  consumed_ += rows;
  *stats_ = {};
  return out;
}

std::string RolloutSource::describe() const {
  return fmt::format("problems of {}; {} answers of up to {} tokens to each\n", fmt::join(c_.environments, ", "),
                     c_.group, c_.max_tokens);
}

Json RolloutSource::state() const {
  Json j = Json::object(), best = Json::object(), later = Json::array();
  for (const auto& [name, reward] : best_) best.set(name, reward);
  for (const std::vector<RolloutGroup>& groups : buffer_) later.push(to_json(groups));
  j.set("difficulties", difficulties_.state()), j.set("best", std::move(best)), j.set("age", age_);
  j.set("buffer", std::move(later)), j.set("version", twin_.version());
  return j;
}

void RolloutSource::restore(const Json& state) {
  const char* where = "the checkpoint's source";
  difficulties_.restore(state.at("difficulties", where));
  best_.clear();
  for (const auto& [name, reward] : state.at("best", where).as_object("best")) best_[name] = reward.as_double("best");
  age_ = state.at("age", where).as_int("age");
  buffer_.clear();
  for (const Json& groups : state.at("buffer", where).as_array("buffer"))
    buffer_.push_back(rollout_groups(groups, gym::plugin_environments()));
}

void RolloutSource::report(train::StepMetrics& m) {
  double answers = 0, reward = 0, solved = 0, tokens = 0, ended = 0, repeated = 0, groups = 0, signal = 0, level = 0;
  for (const RolloutGroup& g : current_) {
    ++groups, signal += has_signal(g.rewards()), level += static_cast<double>(g.problem.difficulty);
    for (const Rollout& r : g.rollouts) {
      ++answers, reward += r.reward, solved += r.reward == 1, ended += r.finished, repeated += r.repeats;
      tokens += static_cast<double>(r.record.tokens.size());
    }
  }
  comm::Communicator& comm = ranks_.all;
  for (double* x : {&answers, &reward, &solved, &tokens, &ended, &repeated, &groups, &signal, &level})
    *x = comm.all_reduce(*x);
  stats_->all_reduce(comm);
  if (answers > 0) {
    m.reward = reward / answers, m.solved = solved / answers, m.answer_tokens = tokens / answers;
    m.finished = ended / answers, m.repeated = repeated / answers;
  }
  m.signal = signal / groups;
  m.difficulty = level / groups, m.staleness = static_cast<double>(current_age_);
  if (stats_->tokens > 0) {
    m.masked = stats_->masked / stats_->tokens, m.kl = stats_->log_ratio / stats_->tokens;
    m.entropy = stats_->surprise / stats_->tokens, m.rare = stats_->rare / stats_->tokens;
    m.max_ratio = stats_->max_ratio;
  }
  if (log_) {
    if (!std::exchange(logging_, true)) log_->discard_after(m.step - 1);  // of an attempt that got further
    log_->write(m.step, current_);
  }
}

}  // namespace

void check_rollouts(const Recipe& recipe) {
  for (const PhaseConfig& p : recipe.phase) {
    if (!p.rl.on()) continue;
    gym::LearnerDifficulties(p.rl.environments, p.rl.difficulty);
    for (const std::string& name : p.rl.environments)
      if (const auto why = gym::plugin_environments().find(name).environment->unavailable())
        fail("phase '{}': environment '{}' cannot judge answers here: {}", p.name, name, *why);
    const std::filesystem::path tokenizer = train::tokenizer_source(recipe);
    if (tokenizer.empty())
      fail("phase '{}': reinforcement learning needs a tokenizer: name one, or a model.from that has one", p.name);
    if (models::load_generation_config(tokenizer).eos_token_id.empty())
      fail("phase '{}': {} names no token that ends an answer (eos_token_id in generation_config.json)", p.name,
           tokenizer.string());
    if (p.rl.loss.kl > 0 &&
        (recipe.model.from.empty() || recipe.model.fresh || !recipe.model.config.is_null() || !p.config.is_null()))
      fail("phase '{}', rl.loss.kl: the model to stay close to is model.from as it is, without fresh or config",
           p.name);
  }
}

train::TrainOptions with_rollouts(train::TrainOptions options, const Recipe& recipe, const nn::Registry& registry) {
  check_rollouts(recipe);
  auto stats = std::make_shared<PolicyStats>();
  options.source = [&registry, stats, run = options.out](const train::SourceRequest& r) {
    if (!r.recipe.phase[r.phase].rl.on()) return train::recipe_source(r);
    return std::unique_ptr<train::BatchSource>(std::make_unique<RolloutSource>(r, registry, run, stats));
  };
  options.objective = [stats](grad::Tape& tape, models::Model& model, const train::MicroBatch& b) {
    return b.policy ? policy_loss(tape, model, b, *stats) : train::next_token_loss(tape, model, b);
  };
  return options;
}

}  // namespace quern::rl
