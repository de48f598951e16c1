#include "quern/train/trainer/trainer.h"

#include <chrono>
#include <cmath>
#include <map>
#include <numbers>

#include "quern/base/mmap.h"
#include "quern/base/traffic.h"
#include "quern/host/host.h"
#include "quern/mixers/ranks/context.h"
#include "quern/models/checkpoint.h"
#include "quern/models/zaya/zaya_model.h"
#include "quern/optim/clip.h"
#include "quern/train/report/tensorboard.h"
#include "quern/train/trainer/export.h"
#include "quern/train/trainer/spikes.h"
#include "quern/train/trainer/train_state.h"
#include "quern/train/zero/zero.h"
#include "quern/train/zero/zero_matrices.h"

namespace quern {
namespace {

namespace fs = std::filesystem;

class Stopwatch {
 public:
  double lap() {  // seconds since the last lap
    auto now = std::chrono::steady_clock::now();
    double s = std::chrono::duration<double>(now - last_).count();
    last_ = now;
    return s;
  }
  double peek() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - last_).count(); }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

// Bytes of text a token stands for, over the sets by their weights, as `quern data build` counted them; 0 = unknown.
double bytes_per_token(const std::vector<DataSetConfig>& sets, const fs::path& base) {
  double bytes = 0, total = 0;
  for (const DataSetConfig& s : sets) {
    fs::path facts = (base / s.path).string() + ".json";
    if (!fs::exists(facts)) return 0;
    Json j = Json::read(facts);
    const Json *b = j.find("bytes"), *t = j.find("tokens");
    if (!b || !t || t->as_double("tokens") <= 0) return 0;
    bytes += s.weight * b->as_double("bytes") / t->as_double("tokens"), total += s.weight;
  }
  return total > 0 ? bytes / total : 0;
}

std::optional<double> bits_per_byte(double loss, double bytes_a_token) {
  if (bytes_a_token <= 0 || !std::isfinite(loss)) return std::nullopt;
  return loss / std::numbers::ln2 / bytes_a_token;
}

// Rows of a micro-batch as one rank feeds them: all of them, or its part of every context group's rows.
struct MicroBatch {
  std::vector<int32_t> tokens, targets;
  Batch batch;
  int64_t learnt = 0;
  std::unique_ptr<Context> context;  // null: the rows lie here whole
};

MicroBatch micro_batch(TokenBatch b, Communicator* group, ContextForm form) {
  MicroBatch m;
  if (!group) {
    m.batch = Batch::documents(b.lengths), m.learnt = b.loss_tokens;
    m.tokens = std::move(b.tokens), m.targets = std::move(b.targets);
    return m;
  }
  m.context = std::make_unique<Context>(*group, b.lengths, form);
  m.batch = m.context->batch();
  for (int64_t row : m.context->rows()) {
    const auto i = static_cast<size_t>(row);
    m.tokens.push_back(b.tokens[i]), m.targets.push_back(b.targets[i]);
    m.learnt += b.targets[i] >= 0;
  }
  return m;
}

}  // namespace

bool holds_run(const fs::path& out) { return fs::exists(out / "metrics.jsonl") || latest_committed(out).has_value(); }

struct Trainer::Impl {
  Recipe recipe;
  const Registry& registry;
  Communicator& comm;
  TrainOptions o;
  std::unique_ptr<Communicator> group;         // ranks that share every row; null: rows are whole
  std::unique_ptr<Communicator> expert_group;  // ranks that share experts; null: every rank has all
  Json base_config, config;                    // of the model: before and with the phase's changes
  std::unique_ptr<Model> model;
  std::unique_ptr<ZeroShards> shards;  // null: every rank moves everything
  std::unique_ptr<OptimizerGroups> optimizer;
  std::unique_ptr<Loader> loader;
  std::unique_ptr<CheckpointWriter> writer;
  std::unique_ptr<MetricsFile> metrics;  // rank 0's
  std::unique_ptr<TensorboardFile> board;
  SpikeWatch spikes;
  std::map<int64_t, int64_t> rollbacks;  // to the checkpoint of this step
  size_t phase = 0;
  int64_t done = 0, tokens = 0, saved = -1;
  double flops_per_token = 0, peak = 0, text_bytes = 0;  // text_bytes: of a token
  StepMetrics last;
  std::vector<EvalMetrics> evals;

  Impl(const Recipe& r, const Registry& reg, Communicator& c, TrainOptions options)
      : recipe(r), registry(reg), comm(c), o(std::move(options)), spikes(r.spikes) {
    bool root = comm.rank() == 0;
    if (root) prepare_folder();
    comm.barrier();
    make_groups();
    check_data();
    load_model_source();
    if (root) write_recipe();
    auto newest = o.resume ? latest_committed(o.out) : std::nullopt;
    comm.barrier();
    if (newest) {
      CheckpointReader from(*newest);
      phase = recipe.at(from.step()).phase;
    }
    enter_phase(phase);
    if (newest) restore(*newest);
    if (root) {
      const int64_t from = newest ? done : MetricsFile::kNew;
      metrics = std::make_unique<MetricsFile>(o.out, from);
      board = std::make_unique<TensorboardFile>(o.out / "tensorboard", from);
      if (newest) event("resume", fmt::format("went on from {}", newest->filename().string()));
    }
    writer = std::make_unique<CheckpointWriter>(comm, o.out, CheckpointOptions{.keep = recipe.checkpoint.keep});
    measure_work();
  }

  void make_groups() {
    const int64_t share = recipe.parallel.context;
    if (comm.size() % share != 0)
      fail("parallel.context = {}: {} ranks cannot be divided into groups of so many", share, comm.size());
    if (share > 1) group = comm.split(comm.rank() / static_cast<int>(share));
    const int64_t experts = recipe.parallel.experts;
    if (comm.size() % experts != 0)
      fail("parallel.experts = {}: {} ranks cannot be divided into groups of so many", experts, comm.size());
    if (experts > 1) expert_group = comm.split(comm.rank() / static_cast<int>(experts));
  }

  // Around a step's forward and backward: evaluation, which ranks do each for themselves, knows nothing of it.
  void share_experts(bool shared) {
    if (!expert_group) return;
    auto* zaya = dynamic_cast<ZayaModel*>(model.get());
    if (!zaya) fail("parallel.experts = {}: {} has no experts", recipe.parallel.experts, model->family());
    zaya->share_experts(shared ? expert_group.get() : nullptr);
  }

  void prepare_folder() {
    fs::create_directories(o.out);
    if (!o.resume && holds_run(o.out))
      fail("{} already holds a run: resume it, or name another folder", o.out.string());
  }

  // The recipe as it was carried out, and what it came to.
  void write_recipe() const {
    Json j = Json::object();
    write_json(j, recipe);
    j.set("parameters", parameter_count(*model)), j.set("model_config", config);
    write_durably(o.out / "recipe.json", j.dump(2) + "\n");
  }

  // A later phase's data would otherwise be looked at for the first time hours from now.
  void check_data() const {
    for (const PhaseConfig& p : recipe.phase) Loader(p.data, p.sequence_length, 0, recipe.base);
    int64_t length =
        recipe.eval.sequence_length > 0 ? recipe.eval.sequence_length : recipe.phase.back().sequence_length;
    if (!recipe.eval.data.empty()) Loader(recipe.eval.data, length, 0, recipe.base);
  }

  void load_model_source() {
    const ModelSource& m = recipe.model;
    if (!m.from.empty()) base_config = Json::read(recipe.base / m.from / "config.json");
    if (!m.config.is_null()) base_config = base_config.is_null() ? m.config : merged(base_config, m.config);
    config = merged(base_config, recipe.phase[0].config);
    if (!m.from.empty() && !m.fresh && m.config.is_null() && config == base_config) {
      model = load_model(registry, recipe.base / m.from, {.dtype = DType::f32, .pack = false});
    } else {
      model = build_model(registry, config);
      if (!m.from.empty() && !m.fresh)
        adopt(*load_model(registry, recipe.base / m.from, {.dtype = DType::f32, .pack = false}));
      else
        initialise(*model, static_cast<uint64_t>(recipe.seed));
    }
    optimizer = make_optimizer();
  }

  std::unique_ptr<OptimizerGroups> make_optimizer() {
    if (recipe.parallel.zero == 0 || comm.size() == 1)
      return std::make_unique<OptimizerGroups>(*model, registry, recipe.optimizer);
    shards = std::make_unique<ZeroShards>(*model, comm, recipe.parallel.bucket);
    return std::make_unique<OptimizerGroups>(
        *model, registry, recipe.optimizer,
        [this](const std::string& name, Parameter& p, const Optimizer& rule) { return shards->own(name, p, rule); });
  }

  void adopt(Model& other) {  // its parameters' values
    std::map<std::string, Tensor> values;
    other.visit("", [&](const std::string& name, Parameter& p) { values[name] = p.value; });
    model->visit("", [&](const std::string& name, Parameter& p) {
      auto v = values.find(name);
      if (v == values.end() || v->second.shape() != p.shape)
        fail(
            "the changed configuration needs {} {}, which the model before it has not: changes may not change shapes",
            name, to_string(p.shape));
      p.value = v->second;
    });
  }

  // Model, data and schedule of a phase. The model keeps its values and the optimizers what they know.
  void enter_phase(size_t i) {
    settle();
    phase = i;
    const PhaseConfig& p = recipe.phase[i];
    Json wanted = merged(base_config, p.config);
    if (!(wanted == config)) {
      std::unique_ptr<Model> before = std::move(model);
      config = wanted;
      model = build_model(registry, config);
      adopt(*before);
      std::map<std::pair<std::string, std::string>, Tensor> state;
      optimizer->visit_state([&](const OptimizerSlot& s, const OptimizerPart& part, Tensor& t) {
        state[{s.name, part.role}] = t;
      });
      optimizer.reset();  // its slots look at the old shards
      auto fresh = make_optimizer();
      fresh->visit_state([&](const OptimizerSlot& s, const OptimizerPart& part, Tensor& t) {
        if (auto old = state.find({s.name, part.role}); old != state.end()) t.copy_from(old->second);
      });
      optimizer = std::move(fresh);
    }
    loader = std::make_unique<Loader>(p.data, p.sequence_length, static_cast<uint64_t>(recipe.seed) + i, recipe.base);
    text_bytes = bytes_per_token(p.data, recipe.base);
  }

  // Flops a token of forward and backward, by counting the large products of one row; and the machine's peak.
  void measure_work() {
    comm.barrier();
    if (comm.rank() == 0) {
      Loader row(recipe.phase[phase].data, recipe.phase[phase].sequence_length, 0, recipe.base);
      TokenBatch b = row.next(1);
      check_ids(b);
      int64_t before = product_flops.load();
      Tape tape(Tape::inference, recipe.dtype == "bf16");
      model->loss(tape, model->hidden(tape, b.tokens, Batch::documents(b.lengths)), b.targets);
      flops_per_token =
          3.0 * static_cast<double>(product_flops.load() - before) / static_cast<double>(b.tokens.size());
      measure_peak();
    }
    comm.barrier();
  }
  void measure_peak() { peak = measure(recipe.dtype == "bf16" ? Bound::bf16_flops : Bound::f32_flops) * 1e9; }

  void check_ids(const TokenBatch& b) const {
    for (int32_t t : b.tokens)
      if (t < 0 || t >= model->vocab_size())
        fail(
            "phase '{}': the data holds token {}, the model's vocabulary ends at {}: were both made with the same "
            "tokenizer?",
            recipe.phase[phase].name, t, model->vocab_size() - 1);
  }

  // This rank's rows of the next step, in micro-batches: those of its context group. Every rank counts all rows as
  // drawn.
  std::vector<MicroBatch> draw(int64_t rows, int64_t& fed) {
    const int64_t groups = comm.size() / recipe.parallel.context, mine = comm.rank() / recipe.parallel.context;
    if (expert_group && rows % groups != 0)
      fail("parallel.experts = {}: the {} rows of a step cannot be dealt evenly to {} ranks or groups of them",
           recipe.parallel.experts, rows, groups);
    int64_t first = rows * mine / groups, end = rows * (mine + 1) / groups;
    int64_t micro = recipe.phase[phase].micro_rows;
    std::vector<TokenBatch> batches;
    for (int64_t r = 0; r < rows; ++r) {
      if (r < first || r >= end) {
        loader->next(1, 0, 2);  // drawn, but put together by another rank
        continue;
      }
      if (batches.empty() || (micro > 0 && batches.back().rows >= micro)) batches.emplace_back();
      batches.back().add(loader->next(1));
    }
    const ContextForm form = recipe.parallel.context_form == "ring" ? ContextForm::ring : ContextForm::gather;
    std::vector<MicroBatch> out;
    for (TokenBatch& b : batches) {
      check_ids(b);
      if (!group || group->rank() == 0) fed += static_cast<int64_t>(b.tokens.size());
      if (group && static_cast<int64_t>(b.tokens.size()) < 2 * group->size())
        fail("parallel.context = {}: a micro-batch of {} tokens cannot be cut into {} chunks", group->size(),
             b.tokens.size(), 2 * group->size());
      if (b.loss_tokens > 0 || expert_group) out.push_back(micro_batch(std::move(b), group.get(), form));
    }
    return out;
  }

  void reduce_gradients() {
    if (comm.size() == 1) return;
    std::vector<Parameter*> all;
    std::vector<int64_t> has;
    model->visit("", [&](const std::string&, Parameter& p) {
      if (shards && shards->holds(p)) return;
      all.push_back(&p);
      has.push_back(p.grad.defined());
    });
    comm.all_reduce(has, ReduceOp::max);  // what shards hold is summed already
    for (size_t i = 0; i < all.size(); ++i) {
      if (!has[i]) continue;
      if (!all[i]->grad.defined()) all[i]->grad = Tensor::zeros(all[i]->shape, DType::f32);
      comm.all_reduce(all[i]->grad);
    }
  }

  // The balancing biases' gradients are the loads of this step, of all ranks.
  std::optional<double> evenness() {
    double sum = 0;
    int64_t layers = 0;
    model->visit("", [&](const std::string&, Parameter& p) {
      if (p.kind != ParameterKind::balance || !p.grad.defined()) return;
      const auto loads = p.grad.span<float>().first(static_cast<size_t>(p.grad.size()) - 1);  // the last is no expert
      double total = 0, entropy = 0;
      for (float n : loads) total += n;
      if (total == 0 || loads.size() < 2) return;
      for (float n : loads)
        if (n > 0) entropy -= n / total * std::log(n / total);
      sum += entropy / std::log(static_cast<double>(loads.size())), ++layers;
    });
    return layers > 0 ? std::optional(sum / static_cast<double>(layers)) : std::nullopt;
  }

  double gradient_norm() {
    const double whole = grad_norm(*model);  // of what no shard holds, where there are shards
    return shards ? std::sqrt(whole * whole + shards->sum_of_grad_squares()) : whole;
  }

  void move_parameters(const OptimizerStep& s) {
    if (!shards) return optimizer->step(s);
    optimizer->step(
        s, [&](const MatrixOptimizer& rule, std::span<OptimizerSlot* const> slots, const OptimizerStep& o) {
          step_matrices(comm, rule, slots, o, [&](const Parameter& p, int rank) { return shards->piece(p, rank); });
        });
    shards->gather();
  }

  bool step() {
    if (done >= recipe.steps()) return false;
    if (auto [at, unused] = recipe.at(done); at != phase) {
      enter_phase(at);
      event("phase", fmt::format("'{}' begins", recipe.phase[at].name));
      measure_work();
    }
    const PhaseConfig& p = recipe.phase[phase];
    const int64_t at = recipe.at(done).step;
    if (at == 0) spikes.forget();  // other data: its losses are measured against each other
    Stopwatch whole, watch;
    StepMetrics m;
    enter(Section::data);
    int64_t fed = 0;
    std::vector<MicroBatch> batches = draw(p.batch_size_at(at), fed);
    double busy = watch.peek();
    int64_t learnt = 0;
    for (const MicroBatch& b : batches) learnt += b.learnt;
    learnt = comm.all_reduce(learnt), fed = comm.all_reduce(fed);
    m.data_s = watch.lap();
    enter(Section::compute);
    double loss = 0;
    share_experts(true);
    for (const MicroBatch& b : batches) {
      double share = static_cast<double>(b.learnt) / static_cast<double>(learnt);
      Tape tape(Tape::training, recipe.dtype == "bf16");
      tape.recompute_layers = recipe.activation_checkpointing;
      if (shards) tape.on_parameter = [&](Parameter& x) { shards->need(x); };
      Var l = model->loss(tape, model->hidden(tape, b.tokens, b.batch), b.targets);
      if (b.learnt > 0) loss += share * l.value.item();
      m.forward_s += watch.lap();
      if (shards && &b == &batches.back()) tape.on_grad_ready = [&](Parameter& x) { shards->ready(x); };
      tape.backward(l, share);
      m.backward_s += watch.lap();
    }
    share_experts(false);
    busy += m.forward_s + m.backward_s;
    enter(Section::reduce);
    if (shards) shards->finish();
    loss = comm.all_reduce(loss);
    reduce_gradients();
    m.reduce_s = watch.lap();
    enter(Section::optimizer);
    const double norm = gradient_norm();
    SpikeWatch::Verdict verdict = spikes.see(std::isfinite(norm) ? loss : norm);
    if (verdict == SpikeWatch::Verdict::not_a_number || verdict == SpikeWatch::Verdict::spike) {
      zero_grad(*model);
      go_back(verdict == SpikeWatch::Verdict::spike
                  ? fmt::format("loss {:.4f} stayed above {:.4f}", loss, spikes.line())
                  : fmt::format("loss {} and gradient norm {} are no numbers", loss, norm));
      return true;
    }
    m.balance = evenness();
    m.optimizer_s = watch.lap();
    if (recipe.checkpoint.bounded && writer->busy()) {
      enter(Section::checkpoint);
      writer->wait();
      m.checkpoint_s = watch.lap();
      enter(Section::optimizer);
    }
    m.lr = learning_rate(p.schedule, static_cast<double>(at + 1));
    move_parameters({.lr = m.lr, .grad_scale = recipe.clip > 0 ? clip_scale(norm, recipe.clip) : 1});
    zero_grad(*model);
    m.optimizer_s += watch.lap();
    ++done, tokens += fed;
    if (o.heartbeat) o.heartbeat->busy(busy);
    enter(Section::checkpoint);
    if (recipe.checkpoint.every > 0 && done % recipe.checkpoint.every == 0) save();
    m.checkpoint_s += watch.lap();
    m.step = done, m.phase = p.name, m.loss = loss, m.bpb = bits_per_byte(loss, text_bytes);
    m.tokens = tokens, m.grad_norm = norm;
    m.time_s = whole.lap();
    m.other_s =
        std::max(0.0, m.time_s - m.data_s - m.forward_s - m.backward_s - m.reduce_s - m.optimizer_s - m.checkpoint_s);
    m.tokens_per_s = static_cast<double>(fed) / m.time_s;
    if (peak > 0) m.mfu = *m.tokens_per_s * flops_per_token / peak;
    last = m;
    if (metrics) metrics->write(m), board->write(m);
    if (recipe.eval.every > 0 && done % recipe.eval.every == 0) evaluate();
    if (done == recipe.steps()) finish();
    return true;
  }

  void settle() {  // all values of this rank's model are the newest
    if (shards) shards->settle();
  }

  void enter(Section s) {
    if (o.heartbeat) o.heartbeat->enter(s, done);
  }

  void finish() {
    enter(Section::checkpoint);
    if (saved != done) save();
    writer->wait();
    if (recipe.eval.every == 0 || done % recipe.eval.every) evaluate();
  }

  void evaluate() {
    enter(Section::evaluate);
    settle();
    evals.clear();
    int64_t length =
        recipe.eval.sequence_length > 0 ? recipe.eval.sequence_length : recipe.phase.back().sequence_length;
    for (const DataSetConfig& set : recipe.eval.data) {
      Loader rows({set}, length, 0, recipe.base);
      double sum = 0, n = 0;
      for (int64_t r = 0; r < recipe.eval.sequences; ++r) {
        TokenBatch b = rows.next(1, 0, r % comm.size() == comm.rank() ? 1 : 2);
        if (b.loss_tokens == 0) continue;
        check_ids(b);
        Tape tape(Tape::inference, recipe.dtype == "bf16");
        Var l = model->loss(tape, model->hidden(tape, b.tokens, Batch::documents(b.lengths)), b.targets);
        sum += static_cast<double>(b.loss_tokens) * l.value.item(), n += static_cast<double>(b.loss_tokens);
      }
      sum = comm.all_reduce(sum), n = comm.all_reduce(n);
      double loss = n > 0 ? sum / n : std::nan("");
      evals.push_back({done, tokens, set.path, loss, bits_per_byte(loss, bytes_per_token({set}, recipe.base))});
      if (metrics) metrics->write(evals.back()), board->write(evals.back());
    }
    if (comm.rank() == 0) measure_peak();  // the machine's speed changes while a run goes on
  }

  void event(const std::string& kind, const std::string& text) {
    if (comm.rank() != 0) return;
    if (metrics) metrics->write(EventMetrics{done, tokens, kind, text});
    o.say(fmt::format("step {}: {}", done, text));
  }

  void save() {
    settle();
    Json s = Json::object(), backs = Json::array();
    s.set("tokens", tokens), s.set("consumed", loader->consumed()), s.set("phase", static_cast<int64_t>(phase));
    s.set("spikes", spikes.save());
    for (auto [step, times] : rollbacks) {
      Json b = Json::object();
      b.set("step", step), b.set("times", times);
      backs.push(b);
    }
    s.set("rollbacks", backs), s.set("ranks", int64_t{comm.size()}), s.set("config", config);
    writer->save(done, train_state(*model, *optimizer, comm), s);
    saved = done;
  }

  void restore(const fs::path& folder) {
    CheckpointReader from(folder);
    for (const std::string& s : load_train_state(from, *model, *optimizer))
      if (comm.rank() == 0) o.say(fmt::format("{} is not in {}: it starts from zero", s, folder.string()));
    const Json& s = from.state();
    const std::string where = folder.string() + ", state";
    done = saved = from.step();
    tokens = s.at("tokens", where).as_int(where);
    if (s.at("phase", where).as_int(where) == static_cast<int64_t>(phase))
      loader->seek(s.at("consumed", where).as_int(where));
    spikes.load(s.at("spikes", where));
    rollbacks.clear();
    for (const Json& b : s.at("rollbacks", where).as_array(where))
      rollbacks[b.at("step", where).as_int(where)] = b.at("times", where).as_int(where);
  }

  // To the last checkpoint; the rows drawn since then are passed over.
  void go_back(const std::string& why) {
    settle();
    writer->wait();
    auto folder = latest_committed(o.out);
    if (!folder) throw BadNumbers(fmt::format("{} at step {}, and there is no checkpoint to go back to", why, done));
    int64_t passed = loader->consumed(), failed_at = done;
    std::map<int64_t, int64_t> known = rollbacks;
    enter_phase(recipe.at(CheckpointReader(*folder).step()).phase);
    restore(*folder);
    rollbacks = known;
    if (++rollbacks[done] > recipe.spikes.most_rollbacks)
      throw BadNumbers(fmt::format(
          "{} at step {}; this was tried {} times from step {}, each time on other rows: the learning rate "
          "or the data is at fault",
          why, failed_at, recipe.spikes.most_rollbacks + 1, done));
    if (phase == recipe.at(failed_at).phase) loader->seek(passed);
    if (metrics) metrics->discard_after(done), board->discard_after(done);
    event("rollback", fmt::format("{} at step {}; back to step {} ({} of {} times), the rows between are passed over",
                                  why, failed_at, done, rollbacks[done], recipe.spikes.most_rollbacks));
  }
};

Trainer::Trainer(const Recipe& recipe, const Registry& registry, Communicator& comm, TrainOptions options)
    : impl_(std::make_unique<Impl>(recipe, registry, comm, std::move(options))) {}
Trainer::~Trainer() = default;
int64_t Trainer::steps() const { return impl_->recipe.steps(); }
int64_t Trainer::finished() const { return impl_->done; }
bool Trainer::step() { return impl_->step(); }
const StepMetrics& Trainer::last() const { return impl_->last; }
const std::vector<EvalMetrics>& Trainer::evaluations() const { return impl_->evals; }
Model& Trainer::model() {
  impl_->settle();
  return *impl_->model;
}
int64_t Trainer::parameters() const { return parameter_count(*impl_->model); }
void Trainer::evaluate() { impl_->evaluate(); }

void Trainer::checkpoint(bool again) {
  impl_->enter(Section::checkpoint);
  if (again || impl_->saved != impl_->done) impl_->save();
  impl_->writer->wait();
}

std::string Trainer::describe() const {
  const Impl& t = *impl_;
  std::string s =
      fmt::format("{}: {}, {} parameters, {:.2f} MFLOP a token; {} steps, from {}\n", t.recipe.name,
                  t.model->family(), parameter_count(*t.model), t.flops_per_token * 1e-6, t.recipe.steps(), t.done);
  return s + t.loader->describe() + t.optimizer->describe();
}

void Trainer::export_model(const fs::path& folder, DType dtype) {
  impl_->settle();
  if (impl_->comm.rank() == 0) {
    save_model(*impl_->model, folder, dtype);
    if (!impl_->recipe.tokenizer.empty()) copy_tokenizer(impl_->recipe.base / impl_->recipe.tokenizer, folder);
  }
  impl_->comm.barrier();
}

}  // namespace quern
