#include "quern/rl/rollout_source.h"

#include <algorithm>
#include <future>
#include <map>
#include <optional>
#include <utility>

#include "quern/base/error.h"
#include "quern/models/adapter_twin.h"
#include "quern/models/checkpoint.h"
#include "quern/models/packed_twin.h"
#include "quern/rl/advantages.h"
#include "quern/rl/environments.h"
#include "quern/rl/policy_batches.h"
#include "quern/rl/rollout_checks.h"
#include "quern/rl/rollout_log.h"
#include "quern/rl/rollout_supply.h"
#include "quern/rl/sampling_ranks.h"
#include "quern/rl/scores.h"
#include "quern/train/trainer/export.h"
#include "quern/train/trainer/gradients.h"
#include "quern/train/trainer/trained_model.h"

namespace quern::rl {
namespace {

using train::PhaseConfig;
using train::Recipe;
using train::RlConfig;

kernels::QuantFormat sampling_format(const Recipe& r) {
  return kernels::QuantFormat(r.dtype == "bf16" ? kernels::WeightFormat::bf16 : kernels::WeightFormat::f32);
}

constexpr int64_t kPrefixCacheBytes = int64_t{64} << 20;  // the prompts of a round are short

// So many under way keep the engine full: those whose last answers are long leave room for the next.
int64_t groups_in_engine(const RlConfig& c) { return (3 * c.max_sequences / 2 + c.group - 1) / c.group; }

class RolloutSource : public train::BatchSource {
 public:
  RolloutSource(const train::SourceRequest& r, const nn::Registry& registry, std::filesystem::path run,
                std::shared_ptr<PolicyStats> stats);
  ~RolloutSource() override;

  train::StepBatches next(int64_t rows) override;
  int64_t consumed() const override { return consumed_; }
  void seek(int64_t consumed) override;
  std::string describe() const override;
  Json state() override;
  void restore(const Json& state) override;
  void report(train::StepMetrics& m) override;
  bool samples_from_model() const override { return true; }

 private:
  void publish();
  void finish_filling();
  void fill_ahead(int64_t rows);
  std::vector<RolloutGroup> groups_of(int64_t rows);
  void value(RolloutGroup& g);
  std::vector<LearnedRollout> learned() const;
  void add_current(std::vector<LearnedRollout>& rollouts);
  void add_reference(std::vector<LearnedRollout>& rollouts);
  void watch(const train::StepMetrics& m);

  const Recipe& recipe_;
  const PhaseConfig& phase_;
  const RlConfig& c_;
  const train::RankGroups& ranks_;
  SamplingRanks sampling_;
  text::Tokenizer tokenizer_;
  text::ChatTemplate chat_template_;
  models::Model& model_;
  std::optional<models::PackedTwin> twin_;           // none: an adapter learns
  std::optional<models::AdapterTwin> adapter_twin_;  // none: the learner's base and adapter sample too
  infer::Engine engine_;
  RolloutSampler sampler_;
  Environments environments_;
  gym::LearnerDifficulties difficulties_;
  RolloutSupply supply_;
  std::map<std::string, double> best_;        // highest share solved of a group, by environment
  std::unique_ptr<models::Model> reference_;  // of the KL; none: the model without its adapter
  std::optional<RolloutLog> log_;
  bool logging_ = false;
  std::shared_ptr<PolicyStats> stats_;
  int64_t consumed_ = 0;
  int64_t step_ = -1, published_ = -1;  // steps of the phase: the one under way, the one whose weights the twin has
  int64_t evicted_ = 0, astray_ = 0;    // groups of this step that were too old; steps in a row beyond a limit
  std::vector<RolloutGroup> current_;   // of the step that is under way
  std::future<void> filling_;           // last: it ends before anything that it uses
};

RolloutOptions rollout_options(const PhaseConfig& p, const std::filesystem::path& tokenizer) {
  return {.group = p.rl.group,
          .max_tokens = p.rl.max_tokens,
          .max_length = p.sequence_length,
          .temperature = p.rl.temperature,
          .min_compression = p.rl.min_compression,
          .stop_ids = models::load_generation_config(tokenizer).eos_token_id};
}

std::optional<models::PackedTwin> twin_of(const Recipe& r, const nn::Registry& registry, models::Model& model) {
  if (r.adapter.on()) return {};
  return std::optional<models::PackedTwin>(std::in_place, registry, model, sampling_format(r));
}

// With an adapter, sampling and learning that take turns can share one base. A thread that samples meanwhile needs an adapter
// that stays as it is, and exact sampling the adapter's products in their form for inference.
std::optional<models::AdapterTwin> adapter_twin_of(const train::SourceRequest& r, const RlConfig& c,
                                                   const nn::Registry& registry) {
  if (!r.adapter || (c.ahead == 0 && !c.exact)) return {};
  return std::optional<models::AdapterTwin>(std::in_place, registry, r.recipe.base / r.recipe.model.from,
                                            train::base_of_adapter(r.recipe), *r.adapter);
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
      sampling_(ranks_, c_.samplers, fmt::format("phase '{}'", phase_.name)),
      tokenizer_(models::load_tokenizer(train::tokenizer_source(recipe_))),
      chat_template_(models::load_chat_template(train::tokenizer_source(recipe_), r.model.family())),
      model_(r.model),
      twin_(twin_of(recipe_, registry, model_)),
      adapter_twin_(adapter_twin_of(r, c_, registry)),
      engine_(twin_           ? twin_->model()
              : adapter_twin_ ? adapter_twin_->model()
                              : model_,
              engine_options(recipe_, c_, tokenizer_)),
      sampler_(engine_, tokenizer_, chat_template_, rollout_options(phase_, train::tokenizer_source(recipe_))),
      environments_(c_, recipe_.base),
      difficulties_(environments_.difficulties()),
      supply_(sampler_, environments_, difficulties_,
              {.name = phase_.name,
               .seed = mix64(static_cast<uint64_t>(recipe_.seed) + 0x71ull) + r.phase,
               .rank = sampling_.samples() ? sampling_.index() : 0,
               .ranks = sampling_.count(),
               .resample = c_.resample,
               .aggregation = c_.aggregation}),
      stats_(std::move(stats)) {
  check_room(phase_, r.model.max_positions(), sampler_, environments_);
  if (c_.loss.kl > 0 && !recipe_.adapter.on())
    reference_ =
        models::load_model(registry, recipe_.base / recipe_.model.from, {.dtype = DType::f32, .pack = false});
  if (ranks_.all.rank() == 0) log_.emplace(run / "rollouts.jsonl");
}

RolloutSource::~RolloutSource() {
  supply_.stop();
  if (filling_.valid()) filling_.wait();
}

// The twin takes over the weights as they are now, and groups under way that would be too old for their step are dropped.
void RolloutSource::publish() {
  if (std::exchange(published_, step_) == step_) return;
  if (twin_) twin_->refresh();
  if (adapter_twin_) adapter_twin_->refresh();
  engine_.cache().clear();
  evicted_ += supply_.drop_older(step_ + c_.ahead - c_.stalest());
}

// While the trainer learns from this step's rollouts, a thread samples those of the step that comes `ahead` steps later.
void RolloutSource::fill_ahead(int64_t rows) {
  const int64_t left = phase_.steps - 1 - step_;
  if (!sampling_.samples()) return;
  if (const int64_t ahead = std::min(c_.ahead, left); ahead > 0) {
    publish();
    filling_ =
        std::async(std::launch::async, [this, groups = sampling_.share(consumed_, ahead * rows), version = step_] {
          supply_.fill(groups, groups_in_engine(c_), version);
        });
  }
}

// Waits for the thread, and lets difficulties and bonuses know what came of all ranks' groups: in the order of rows,
// whichever rank they are of. Collective.
void RolloutSource::finish_filling() {
  if (filling_.valid()) filling_.get();
  std::vector<GroupOutcome> all;
  for (const std::string& text : ranks_.all.all_gather_text(to_json(supply_.take_outcomes()).dump()))
    for (GroupOutcome& o : group_outcomes(Json::parse(text))) all.push_back(std::move(o));
  std::ranges::sort(all, {}, [](const GroupOutcome& o) { return std::pair(o.row, o.attempt); });
  for (const GroupOutcome& o : all) {
    difficulties_.observe(o.environment, o.difficulty, std::clamp(o.mean_reward, 0.0, 1.0));
    double& best = best_[o.environment];
    best = std::max(best, o.share_solved);
  }
}

// The groups of the next step: sampled for it, or in the round of an earlier one, or while earlier steps were learned.
// What is filled here is filled on every rank, or waited for by every rank.
std::vector<RolloutGroup> RolloutSource::groups_of(int64_t rows) {
  const int64_t mine = sampling_.share(consumed_, rows);
  finish_filling();
  if (c_.ahead > 0 && sampling_.samples()) publish();
  if (supply_.ready() < mine) {
    publish();
    if (c_.ahead > 0)
      supply_.fill(mine, groups_in_engine(c_), step_);
    else
      supply_.fill(sampling_.share(consumed_, rows * c_.updates), 0, step_);
  }
  finish_filling();
  if (c_.ahead == 0) supply_.sort_ready();
  return sampling_.deal(supply_.take(mine), environments_);
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
  if (std::ranges::all_of(current_, [&](const RolloutGroup& g) { return g.version == step_; })) {
    for (LearnedRollout& l : rollouts) l.current = l.rollout->record.logprobs;
    return;
  }
  publish();
  const std::vector<infer::RolloutRecord> all = engine_scores(engine_, current_);
  std::map<const Rollout*, const std::vector<float>*> by_rollout;
  size_t i = 0;
  for (const RolloutGroup& g : current_)
    for (const Rollout& r : g.rollouts) by_rollout[&r] = &all[i++].logprobs;
  for (LearnedRollout& l : rollouts) l.current = *by_rollout.at(l.rollout);
}

void RolloutSource::add_reference(std::vector<LearnedRollout>& rollouts) {
  if (c_.loss.kl == 0) return;
  const ScoreOptions how{.temperature = c_.temperature,
                         .routes = c_.replay_routes ? Routes::replayed : Routes::own,
                         .precision = train::precision_of(recipe_),
                         .bare = true};
  for (LearnedRollout& l : rollouts)
    l.reference = pass_scores(reference_ ? *reference_ : model_, l.group->prompt, l.rollout->record, how);
}

train::StepBatches RolloutSource::next(int64_t rows) {
  ++step_, evicted_ = 0;
  current_ = groups_of(rows);
  for (RolloutGroup& g : current_) value(g);
  std::vector<LearnedRollout> rollouts = learned();
  add_current(rollouts), add_reference(rollouts);
  train::StepBatches out;
  out.micro = policy_batches(rollouts, c_);
  for (const train::MicroBatch& m : out.micro) out.tokens += static_cast<int64_t>(m.tokens.size());
  consumed_ += rows;
  fill_ahead(rows);
  *stats_ = {};
  return out;
}

std::string RolloutSource::describe() const {
  return fmt::format("problems of {}; {} answers of up to {} tokens to each\n",
                     fmt::join(environments_.names(), ", "), c_.group, c_.max_tokens);
}

Json RolloutSource::state() {
  finish_filling();
  Json j = Json::object(), best = Json::object(), ranks = Json::array();
  for (const auto& [name, reward] : best_) best.set(name, reward);
  for (const std::string& text : sampling_.of_samplers(ranks_.all.all_gather_text(supply_.state().dump())))
    ranks.push(Json::parse(text));
  j.set("difficulties", difficulties_.state()), j.set("best", std::move(best)), j.set("step", step_);
  j.set("astray", astray_), j.set("ranks", std::move(ranks));
  return j;
}

void RolloutSource::seek(int64_t consumed) {
  if (filling_.valid()) filling_.get();
  consumed_ = consumed, published_ = -1;
  supply_.skip_to(consumed);
}

void RolloutSource::restore(const Json& state) {
  const char* where = "the checkpoint's source";
  difficulties_.restore(state.at("difficulties", where));
  best_.clear();
  for (const auto& [name, reward] : state.at("best", where).as_object("best")) best_[name] = reward.as_double("best");
  step_ = state.at("step", where).as_int("step"), astray_ = state.at("astray", where).as_int("astray");
  if (sampling_.samples()) supply_.restore(state.at("ranks", where).as_array("ranks"));
}

void RolloutSource::report(train::StepMetrics& m) {
  double answers = 0, reward = 0, solved = 0, tokens = 0, ended = 0, repeated = 0, groups = 0, signal = 0, level = 0,
         age = 0, evicted = static_cast<double>(evicted_);
  for (const RolloutGroup& g : current_) {
    ++groups, signal += has_signal(g.rewards()), level += static_cast<double>(g.problem.difficulty);
    age += static_cast<double>(step_ - g.version);
    for (const Rollout& r : g.rollouts) {
      ++answers, reward += r.reward, solved += r.reward == 1, ended += r.finished, repeated += r.repeats;
      tokens += static_cast<double>(r.record.tokens.size());
    }
  }
  comm::Communicator& comm = ranks_.all;
  for (double* x : {&answers, &reward, &solved, &tokens, &ended, &repeated, &groups, &signal, &level, &age, &evicted})
    *x = comm.all_reduce(*x);
  stats_->all_reduce(comm);
  if (answers > 0) {
    m.reward = reward / answers, m.solved = solved / answers, m.answer_tokens = tokens / answers;
    m.finished = ended / answers, m.repeated = repeated / answers;
  }
  m.signal = signal / groups, m.difficulty = level / groups, m.staleness = age / groups, m.evicted = evicted;
  if (stats_->tokens > 0) {
    m.masked = stats_->masked / stats_->tokens, m.kl = stats_->log_ratio / stats_->tokens;
    m.entropy = stats_->surprise / stats_->tokens, m.rare = stats_->rare / stats_->tokens;
    m.max_ratio = stats_->max_ratio;
  }
  if (log_) {
    if (!std::exchange(logging_, true)) log_->discard_after(m.step - 1);  // of an attempt that got further
    log_->write(m.step, current_);
  }
  watch(m);
}

// Loops and gibberish are what such runs collapse into: a model that has come to this is not worth the hours that follow.
void RolloutSource::watch(const train::StepMetrics& m) {
  const train::AstrayConfig& limit = c_.astray;
  const bool loops = m.repeated.value_or(0) > limit.repeated, gibberish = m.rare.value_or(0) > limit.rare;
  astray_ = loops || gibberish ? astray_ + 1 : 0;
  if (astray_ < limit.steps) return;
  const std::string what = loops ? fmt::format("{:.0f} % of the answers repeat themselves", 100 * *m.repeated)
                                 : fmt::format("{:.2g} % of the tokens are gibberish", 100 * *m.rare);
  fail(
      "phase '{}', step {}: the run has gone astray, for {} steps: {} (rl.astray). Its last checkpoint may be worth "
      "more than what follows; a smaller learning rate or a KL to the start (rl.loss.kl) keeps a run on its way",
      phase_.name, m.step, astray_, what);
}

}  // namespace

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
