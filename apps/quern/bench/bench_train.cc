// A training step of a named shape on random tokens: time of forward, backward and optimizer, tokens per second, and
// model flops (three times the large matrix products of a forward, twice beside a frozen base; attention's products and
// scans are not counted) as a share of the machine's peak, measured before and after every step.

#include "apps/quern/bench/bench_model.h"
#include "apps/quern/models/random_model.h"
#include "apps/quern/models/shapes.h"
#include "quern/base/rng.h"
#include "quern/base/stopwatch.h"
#include "quern/host/bench.h"
#include "quern/models/checkpoint.h"
#include "quern/models/trained_adapter.h"
#include "quern/nn/builtin_registry.h"
#include "quern/optim/clip.h"
#include "quern/optim/groups.h"
#include "quern/trace/op_counters.h"

namespace quern::cli {
namespace {

// What learns: a model, or an adapter beside one.
struct Learner {
  std::unique_ptr<models::TrainedAdapter> adapter;
  std::unique_ptr<models::Model> model;

  explicit Learner(const TrainStepSetup& o) {
    if (o.base.empty()) {
      model = models::build_model(nn::builtin_registry(), o.config);
      nn::initialize(*model, 1);
      return;
    }
    adapter = std::make_unique<models::TrainedAdapter>(models::LoraSettings{.rank = o.rank}, 1);
    const nn::WeightPrepacking packing(kernels::QuantFormat(kernels::parse_format(o.base, "--base")));
    model = random_model(o.config, packing.beside(adapter.get()));
    model->visit("", [](const std::string&, grad::Parameter& p) { p.trainable = false; });
    adapter->finish();
  }
  nn::Module& module() const { return adapter ? static_cast<nn::Module&>(*adapter) : *model; }
  double products() const { return adapter ? 2 : 3; }  // of a step, for each of a forward
};

// The first n layers of a shape; 0: all.
Json first_layers(Json config, int64_t n) {
  if (n == 0) return config;
  const int64_t all = config.at("num_hidden_layers").as_int();
  if (n < 1 || n > all) fail("--layers {}: expected 1 to {}", n, all);
  config.set("num_hidden_layers", n);
  for (const char* key : {"layers_block_type", "layer_types"}) {
    const Json* types = config.find(key);
    if (!types) continue;
    const Json::Array& list = types->as_array();
    config.set(key, Json::Array(list.begin(), list.begin() + n));
  }
  return config;
}

}  // namespace

TrainStepTimes time_training_steps(const TrainStepSetup& o) {
  const Learner learner(o);
  models::Model& model = *learner.model;
  optim::OptimizerGroups optimizer(learner.module(), nn::builtin_registry(), {});
  const host::Bound bound = o.precision == grad::Precision::bf16 ? host::Bound::bf16_flops : host::Bound::f32_flops;
  const int64_t tokens = o.rows * o.length;
  std::vector<int32_t> ids(static_cast<size_t>(tokens) + 1);
  Rng rng(5);
  for (int32_t& t : ids) t = static_cast<int32_t>(rng.uniform() * static_cast<double>(model.vocab_size()));
  const std::span<const int32_t> in = std::span(ids).first(static_cast<size_t>(tokens)),
                                 targets = std::span(ids).last(in.size());
  const mixers::Batch batch = mixers::Batch::documents(std::vector<int64_t>(static_cast<size_t>(o.rows), o.length));
  std::vector<double> forward, backward, update, ratio, peak;
  TrainStepTimes out{.parameters = nn::parameter_count(learner.module()), .config = model.config()};
  auto step = [&](bool counts) {
    double before = counts ? host::measure(bound) : 0;
    Stopwatch watch;
    int64_t done = trace::matmul_flops.load();
    grad::Tape tape(grad::Tape::training, o.precision);
    tape.recompute_layers = o.activation_checkpointing;
    grad::Var loss = model.loss(tape, model.hidden(tape, in, batch), targets);
    out.flops = learner.products() * static_cast<double>(trace::matmul_flops.load() - done);
    double f = watch.lap();
    tape.backward(loss);
    double b = watch.lap();
    optimizer.step({.lr = 1e-4, .grad_scale = optim::clip_scale(optim::grad_norm(learner.module()), 1)});
    nn::zero_grad(learner.module());
    double u = watch.lap();
    if (!counts) return;
    forward.push_back(f), backward.push_back(b), update.push_back(u);
    peak.push_back((before + host::measure(bound)) / 2);
    ratio.push_back(out.flops * 1e-9 / (f + b) / peak.back());
  };
  step(false);  // first touch of memory
  for (int64_t i = 0; i < o.reps; ++i) step(true);
  out.forward = host::median(forward), out.backward = host::median(backward), out.update = host::median(update);
  out.peak_gflops = host::median(peak), out.mfu = host::median(ratio);
  return out;
}

int bench_train(const TrainBenchOptions& o) {
  const bool json = o.json;
  size_t dash = o.shape.find('-');
  if (dash == std::string::npos) fail("--shape '{}': expected FAMILY-SIZE, for example zaya-60m", o.shape);
  if (o.dtype != "bf16" && o.dtype != "f32") fail("--dtype '{}': expected bf16 or f32", o.dtype);
  if (o.rank < 1 || o.rank > 4096) fail("quern bench train: expected --rank of 1 to 4096");
  if (o.rows < 1 || o.length < 1) fail("quern bench train: expected --micro-batch and --length of at least 1");
  const std::string family = o.shape.substr(0, dash), size = o.shape.substr(dash + 1);
  const TrainStepTimes t =
      time_training_steps({.config = first_layers(shape_config(family, size, shape_vocab(family, size)), o.layers),
                           .base = o.base,
                           .rows = o.rows,
                           .length = o.length,
                           .reps = o.reps,
                           .rank = o.rank,
                           .precision = o.dtype == "bf16" ? grad::Precision::bf16 : grad::Precision::f32,
                           .activation_checkpointing = o.activation_checkpointing});
  const int64_t tokens = o.rows * o.length;
  const double micro = t.forward + t.backward, n = static_cast<double>(tokens);
  auto share = [&](double of) { return t.update / (t.update + micro * of / n); };
  Json j = Json::object();
  j.set("shape", o.shape), j.set("parameters", t.parameters), j.set("dtype", o.dtype), j.set("tokens", tokens);
  if (!o.base.empty()) j.set("base", o.base), j.set("rank", o.rank);
  j.set("tokens_per_s", n / micro), j.set("flops_per_token", t.flops / n), j.set("peak_gflops", t.peak_gflops);
  j.set("mfu", t.mfu), j.set("forward_s", t.forward), j.set("backward_s", t.backward);
  j.set("config", t.config);
  j.set("optimizer_s", t.update), j.set("optimizer_share_at_16k", share(16384)),
      j.set("optimizer_share_at_64k", share(65536)), j.set("resident_bytes", resident_bytes());
  if (json) {
    fmt::print("{}\n", j.dump(2));
    return 0;
  }
  fmt::print("{}: {} parameters{}, micro-batch of {} sequences of {} tokens, {}\n", o.shape, t.parameters,
             o.base.empty() ? "" : fmt::format(" of an adapter of rank {} over {}", o.rank, o.base), o.rows, o.length,
             o.dtype);
  fmt::print("{:.0f} tokens/s, {:.1f} MFLOP per token, MFU {:.2f} of {:.0f} GFLOP/s\n", n / micro, t.flops / n * 1e-6,
             t.mfu, t.peak_gflops);
  fmt::print(
      "forward {:.3f} s, backward {:.3f} s, optimizer {:.3f} s: {:.1f} % of a step of 16 Ki tokens, {:.1f} % of 64 "
      "Ki\n",
      t.forward, t.backward, t.update, 100 * share(16384), 100 * share(65536));
  fmt::print("resident {:.2f} GB\n", static_cast<double>(resident_bytes()) * 1e-9);
  return 0;
}

}  // namespace quern::cli
