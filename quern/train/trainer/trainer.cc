#include "quern/train/trainer/trainer.h"

#include <algorithm>
#include <optional>

#include "quern/base/mmap.h"
#include "quern/base/rng.h"
#include "quern/base/stopwatch.h"
#include "quern/models/checkpoint.h"
#include "quern/optim/clip.h"
#include "quern/trace/trace.h"
#include "quern/train/checkpoint/reader.h"
#include "quern/train/trainer/export.h"
#include "quern/train/trainer/trainer_impl.h"
#include "quern/train/trainer/utilization.h"

namespace quern::train {
namespace {

namespace fs = std::filesystem;

void prepare_folder(const TrainOptions& o) {
  fs::create_directories(o.out);
  if (!o.resume && holds_run(o.out))
    fail("{} already holds a run: resume it, or name another folder", o.out.string());
}

// The recipe as it was carried out, and what it came to.
void write_recipe(const fs::path& out, const Recipe& recipe, TrainedModel& trained) {
  Json j = Json::object();
  write_json(j, recipe);
  j.set("parameters", nn::parameter_count(trained.learner())), j.set("model_config", trained.config());
  write_durably(out / "recipe.json", j.dump(2) + "\n");
}

}  // namespace

bool holds_run(const fs::path& out) { return fs::exists(out / "metrics.jsonl") || latest_committed(out).has_value(); }

Trainer::Impl::Impl(const Recipe& r, const nn::Registry& registry, comm::Communicator& c, TrainOptions options)
    : recipe(r),
      comm(c),
      o(std::move(options)),
      ranks(comm, recipe.parallel),
      trained(recipe, registry, comm),
      spikes(recipe.spikes) {
  const bool root = comm.rank() == 0;
  if (root) write_recipe(o.out, recipe, trained);
  const auto newest = o.resume ? latest_committed(o.out) : std::nullopt;
  comm.barrier();
  enter_phase(newest ? recipe.at(CheckpointReader(*newest).step()).phase : 0);
  if (newest) restore(*newest);
  if (root) recorder = Recorder(o.out, newest ? state.done : MetricsFile::kNew, o.say);
  if (newest) event("resume", fmt::format("resumed from {}", newest->filename().string()));
  writer = std::make_unique<CheckpointWriter>(comm, o.out, CheckpointOptions{.keep = recipe.checkpoint.keep});
  measure_work();
}

bool Trainer::Impl::step() {
  if (state.done >= recipe.steps()) return false;
  follow_phases();
  const int64_t at = recipe.at(state.done).step;  // of the phase
  Stopwatch whole, clock;
  StepMetrics m;
  const trace::Span step(trace::Kind::step, "training step", state.done + 1);
  std::optional<trace::Span> part;
  const auto begin_part = [&part](std::string_view name) { part.emplace(trace::Kind::part, name); };

  enter(Section::data), begin_part("data");
  if (source->samples_from_model()) trained.settle();
  const StepBatches batches = source->next(phase().batch_size_at(at));
  double busy = clock.seconds();
  const int64_t weight = comm.all_reduce(batches.weight()), fed = comm.all_reduce(batches.tokens);
  m.data_s = clock.lap();

  enter(Section::compute), part.reset();
  const BackwardOptions how{.weight = weight,
                            .precision = precision_of(recipe),
                            .recompute = recipe.activation_checkpointing,
                            .experts = ranks.experts.get(),
                            .draw = Rng(static_cast<uint64_t>(recipe.seed), static_cast<uint64_t>(comm.rank()))
                                        .bits(static_cast<uint64_t>(state.done))};
  const BackwardResult here = backward(trained, o.objective, batches.micro, how);
  m.forward_s = here.forward_s, m.backward_s = here.backward_s;
  busy += clock.lap();

  enter(Section::reduce), begin_part("gradient reduction");
  m.loss = reduce_gradients(trained, ranks, recipe.parallel.two_level_from, here.loss);
  m.reduce_s = clock.lap();

  enter(Section::optimizer), begin_part("optimizer");
  m.grad_norm = gradient_norm(trained);
  const auto fault = source->samples_from_model() ? LossSpikeDetector::not_finite(m.loss, m.grad_norm)
                                                  : spikes.fault(m.loss, m.grad_norm);
  if (fault) {
    trained.zero_grad();
    go_back(*fault);
    return true;
  }
  m.balance = load_balance(trained.model().expert_loads());
  m.optimizer_s = clock.lap();
  begin_part("checkpoint");
  m.checkpoint_s = wait_for_save();
  clock.lap(), begin_part("optimizer");
  m.lr = optim::learning_rate(phase().schedule, static_cast<double>(at + 1));
  if (weight > 0)
    trained.step({.lr = m.lr, .grad_scale = recipe.clip > 0 ? optim::clip_scale(m.grad_norm, recipe.clip) : 1});
  trained.zero_grad();
  m.optimizer_s += clock.lap();
  ++state.done, state.tokens += fed;
  if (o.heartbeat) o.heartbeat->busy(busy);

  enter(Section::checkpoint), begin_part("checkpoint");
  const auto due = [this](int64_t every) { return every > 0 && state.done % every == 0; };
  if (due(recipe.checkpoint.every)) save();
  m.checkpoint_s += clock.lap();
  m.time_s = whole.lap();
  part.reset();
  record(m, fed);
  if (due(recipe.eval.every)) evaluate();
  if (state.done == recipe.steps()) finish();
  return true;
}

void Trainer::Impl::record(StepMetrics m, int64_t fed) {
  m.step = state.done, m.phase = phase().name, m.bpb = bits_per_byte(m.loss, text_bytes), m.tokens = state.tokens;
  const double known = m.data_s + m.forward_s + m.backward_s + m.reduce_s + m.optimizer_s + m.checkpoint_s;
  m.other_s = std::max(0.0, m.time_s - known);
  m.tokens_per_s = static_cast<double>(fed) / m.time_s;
  source->report(m);
  if (peak > 0) m.mfu = *m.tokens_per_s * flops_per_token / peak;
  last = m;
  recorder.write(m);
}

void Trainer::Impl::evaluate() {
  enter(Section::evaluate);
  trained.settle();
  evals.clear();
  for (const SetLoss& s : train::evaluate(trained.model(), recipe, comm, *source)) {
    evals.push_back({state.done, state.tokens, s.set, s.loss, s.bits_per_byte, s.margin, s.accuracy});
    recorder.write(evals.back());
  }
  if (comm.rank() == 0) peak = peak_flops(recipe);
}

void Trainer::Impl::event(const std::string& kind, const std::string& text) {
  recorder.write(EventMetrics{state.done, state.tokens, kind, text});
}

void Trainer::Impl::enter(Section s) {
  if (o.heartbeat) o.heartbeat->enter(s, state.done);
}

void Trainer::Impl::finish() {
  enter(Section::checkpoint);
  if (saved != state.done) save();
  writer->wait();
  if (recipe.eval.every == 0 || state.done % recipe.eval.every) evaluate();
}

Trainer::Trainer(const Recipe& recipe, const nn::Registry& registry, comm::Communicator& comm, TrainOptions options) {
  tokenizer_source(recipe);  // before the work: a model without its tokenizer cannot run
  if (comm.rank() == 0) prepare_folder(options);
  comm.barrier();
  check_data(recipe);
  impl_ = std::make_unique<Impl>(recipe, registry, comm, std::move(options));
}
Trainer::~Trainer() = default;
int64_t Trainer::steps() const { return impl_->recipe.steps(); }
int64_t Trainer::finished() const { return impl_->state.done; }
bool Trainer::step() { return impl_->step(); }
const StepMetrics& Trainer::last() const { return impl_->last; }
const std::vector<EvalMetrics>& Trainer::evaluations() const { return impl_->evals; }
models::Model& Trainer::model() {
  impl_->trained.settle();
  return impl_->trained.model();
}
int64_t Trainer::parameters() const { return nn::parameter_count(impl_->trained.learner()); }
void Trainer::evaluate() { impl_->evaluate(); }

void Trainer::checkpoint() {
  impl_->enter(Section::checkpoint);
  if (impl_->saved != impl_->state.done) impl_->save();
  impl_->writer->wait();
}

void Trainer::checkpoint_again() {
  impl_->enter(Section::checkpoint);
  impl_->save();
  impl_->writer->wait();
}

std::string Trainer::describe() const {
  Impl& t = *impl_;
  models::Model& model = t.trained.model();
  std::string s = fmt::format("{}: {}, {} parameters{}, {:.2f} MFLOP a token; {} steps, from {}\n", t.recipe.name,
                              model.family(), parameters(), t.trained.adapter() ? " of an adapter" : "",
                              t.flops_per_token * 1e-6, t.recipe.steps(), t.state.done);
  if (const comm::TwoLevels* l = t.ranks.levels.get())
    s += fmt::format("gradients are summed in two levels: {} hosts with {} ranks each\n", l->nodes(),
                     l->ranks_of_node());
  return s + t.source->describe() + t.trained.optimizer().describe();
}

void Trainer::export_model(const fs::path& folder, DType dtype) {
  impl_->trained.settle();
  if (models::TrainedAdapter* adapter = impl_->trained.adapter(); adapter && impl_->comm.rank() == 0) {
    adapter->save(folder, impl_->recipe.model.from);
  } else if (impl_->comm.rank() == 0) {
    models::save_model(impl_->trained.model(), folder, dtype);
    const fs::path tokenizer = tokenizer_source(impl_->recipe);
    if (!tokenizer.empty()) copy_tokenizer(tokenizer, folder);
  }
  impl_->comm.barrier();
}

}  // namespace quern::train
