// A training step of a named shape on random tokens: time of forward, backward and optimizer, tokens per second, and
// model flops (three times the large matrix products of a forward; attention's products and scans are not counted) as
// a share of the machine's peak, measured before and after every step.

#include "apps/quern/bench/bench_model.h"
#include "apps/quern/models/context.h"
#include "apps/quern/models/random_model.h"
#include "apps/quern/models/shapes.h"
#include "quern/base/rng.h"
#include "quern/base/stopwatch.h"
#include "quern/host/bench.h"
#include "quern/optim/clip.h"
#include "quern/optim/groups.h"
#include "quern/trace/op_counters.h"

namespace quern::cli {

TrainStepTimes time_training_steps(const Json& config, int64_t rows, int64_t length, grad::Precision precision,
                                   int64_t reps) {
  auto model = models::build_model(nn::builtin_registry(), config);
  nn::initialize(*model, 1);
  optim::OptimizerGroups optimizer(*model, nn::builtin_registry(), {});
  const host::Bound bound = precision == grad::Precision::bf16 ? host::Bound::bf16_flops : host::Bound::f32_flops;
  const int64_t tokens = rows * length;
  std::vector<int32_t> ids(static_cast<size_t>(tokens) + 1);
  Rng rng(5);
  for (int32_t& t : ids) t = static_cast<int32_t>(rng.uniform() * static_cast<double>(model->vocab_size()));
  const std::span<const int32_t> in = std::span(ids).first(static_cast<size_t>(tokens)),
                                 targets = std::span(ids).last(in.size());
  const mixers::Batch batch = mixers::Batch::documents(std::vector<int64_t>(static_cast<size_t>(rows), length));
  std::vector<double> forward, backward, update, ratio, peak;
  TrainStepTimes out{.parameters = nn::parameter_count(*model), .config = model->config()};
  auto step = [&](bool counts) {
    double before = counts ? host::measure(bound) : 0;
    Stopwatch watch;
    int64_t done = trace::matmul_flops.load();
    grad::Tape tape(grad::Tape::training, precision);
    grad::Var loss = model->loss(tape, model->hidden(tape, in, batch), targets);
    out.flops = 3.0 * static_cast<double>(trace::matmul_flops.load() - done);
    double f = watch.lap();
    tape.backward(loss);
    double b = watch.lap();
    optimizer.step({.lr = 1e-4, .grad_scale = optim::clip_scale(optim::grad_norm(*model), 1)});
    nn::zero_grad(*model);
    double u = watch.lap();
    if (!counts) return;
    forward.push_back(f), backward.push_back(b), update.push_back(u);
    peak.push_back((before + host::measure(bound)) / 2);
    ratio.push_back(out.flops * 1e-9 / (f + b) / peak.back());
  };
  step(false);  // first touch of memory
  for (int64_t i = 0; i < reps; ++i) step(true);
  out.forward = host::median(forward), out.backward = host::median(backward), out.update = host::median(update);
  out.peak_gflops = host::median(peak), out.mfu = host::median(ratio);
  return out;
}

int bench_train(const TrainBenchOptions& o) {
  const bool json = o.json;
  size_t dash = o.shape.find('-');
  if (dash == std::string::npos) fail("--shape '{}': expected FAMILY-SIZE, for example zaya-60m", o.shape);
  if (o.dtype != "bf16" && o.dtype != "f32") fail("--dtype '{}': expected bf16 or f32", o.dtype);
  if (o.rows < 1 || o.length < 1) fail("quern bench train: expected --micro-batch and --length of at least 1");
  const std::string family = o.shape.substr(0, dash), size = o.shape.substr(dash + 1);
  const TrainStepTimes t =
      time_training_steps(shape_config(family, size, shape_vocab(family, size)), o.rows, o.length,
                          o.dtype == "bf16" ? grad::Precision::bf16 : grad::Precision::f32, o.reps);
  const int64_t tokens = o.rows * o.length;
  const double micro = t.forward + t.backward, n = static_cast<double>(tokens);
  auto share = [&](double of) { return t.update / (t.update + micro * of / n); };
  Json j = Json::object();
  j.set("shape", o.shape), j.set("parameters", t.parameters), j.set("dtype", o.dtype), j.set("tokens", tokens);
  j.set("tokens_per_s", n / micro), j.set("flops_per_token", t.flops / n), j.set("peak_gflops", t.peak_gflops);
  j.set("mfu", t.mfu), j.set("forward_s", t.forward), j.set("backward_s", t.backward);
  j.set("config", t.config);
  j.set("optimizer_s", t.update), j.set("optimizer_share_at_16k", share(16384)),
      j.set("optimizer_share_at_64k", share(65536)), j.set("resident_bytes", resident_bytes());
  if (json) {
    fmt::print("{}\n", j.dump(2));
    return 0;
  }
  fmt::print("{}: {} parameters, micro-batch of {} sequences of {} tokens, {}\n", o.shape, t.parameters, o.rows,
             o.length, o.dtype);
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
