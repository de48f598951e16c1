// quern bench host|comm|kernels|products|mixers|model|batch|speculative|prefix|test-time|draft|train|tree-attention
//   host:           what this machine is and can do (bandwidth roofline, register-only compute peaks, thread wake-up latency);
//                   --full: memory, matrix products, operations and storage by size, and a page of curves
//   comm:           collectives between ranks over sizes: latency, bandwidth, overlap with computation
//   kernels:        every kernel's bench case, each result with its ratio to the peak measured next to it
//   products:       matrix products as chosen for this machine, beside every other kind of instructions it has
//   model:          prefill and decode speed of a whole model, against the bf16 peak and the read bandwidth
//   batch:          throughput of many sequences at once
//   speculative:    cost of draft tokens in a step, and what speculative decoding gains (formerly: rows)
//   prefix:         time to first token when the prefix cache has most of a prompt
//   test-time:      a plan of test-time compute, compared with the same prompts in plain batches (formerly: think)
//   draft:          speed-up by a draft model at given acceptance rates
//   train:          a training step of a shape: model flops against the peak, and where the time goes
//   tree-attention: attention over a KV cache sharded over ranks, every way of joining (formerly: tree); --network:
//                   modeled up to 1 024 ranks
//   mixers:         one layer of MHA, CCGQA and CCA with projections, prefill and backward, in one run; --decode: a token
//                   after a long context, softmax and memories of fixed size; --crossing: where they cost the same
#include "apps/quern/bench/bench_comm.h"
#include "apps/quern/bench/bench_host.h"
#include "apps/quern/bench/bench_mixers.h"
#include "apps/quern/bench/bench_model.h"
#include "apps/quern/bench/bench_products.h"
#include "apps/quern/bench/bench_tree.h"
#include "apps/quern/cli/args.h"
#include "apps/quern/cli/shared_flags.h"
#include "apps/quern/cli/verbs.h"
#include "apps/quern/cli/whole_numbers.h"
#include "apps/quern/models/shipped_models.h"
#include "quern/host/bench.h"
#include "quern/host/host.h"

namespace quern::cli {
namespace {

constexpr std::pair<const char*, const char*> kOldNames[] = {
    {"rows", "speculative"}, {"think", "test-time"}, {"tree", "tree-attention"}};

int bench_kernels(host::Bench::Options options, bool json) {
  host::Bench bench(std::move(options));
  host::run_all_benches(bench);
  if (!json) {
    fmt::print("{}", bench.table());
    return 0;
  }
  Json out = Json::object();
  out.set("host", host::to_json(host::host_info()));
  out.set("rows", bench.json());
  fmt::print("{}\n", out.dump(2));
  return 0;
}

// What the flags say, of every benchmark.
struct BenchFlags {
  std::string what;
  bool json = false;
  int64_t reps = 15;
  host::Bench::Options options;
  MixerBenchOptions mixers;
  DecodeBenchOptions decode;
  bool decoding = false, crossing = false;
  std::vector<std::string> dictionary;
  ModelBenchOptions model;
  TrainBenchOptions train;
  TreeBenchOptions tree;
  CommBenchOptions comm;
  HostBenchOptions host;
  HtmlReportFlag html;
  std::vector<std::string> ranks;
  std::optional<int64_t> prompt;
  int64_t rank = 16;
  std::string draft;
  std::string plan = "mrsa:8x4x2,beta=192,tau=64";
};

// What measures the machine.
void declare_machine(Args& a, BenchFlags& f) {
  a.flag("--operation NAME", f.comm.operations,
         "comm: all-reduce, butterfly, reduce-scatter, all-gather, broadcast, all-to-all, message, shift, or in two "
         "levels all-reduce-2, reduce-scatter-2, all-gather-2; repeatable [all of them]")
      .flag("--max-mib MIB", f.comm.max_mib, "comm: largest size; a rank needs three times as much memory")
      .flag("--machine FILE", f.comm.machine,
            "host, comm: write what was measured into this file for quern plan; comm adds to that of host")
      .flag("--full", f.host.full,
            "host: memory by size, stride and threads, matrix products by shape, attention, storage; some minutes")
      .settings(f.html)
      .flag("--storage DIR", f.host.storage, "host --full, --machine: folder whose storage is measured");
}

// Adds them to the command line.
void declare(Args& a, BenchFlags& f) {
  a.positional("BENCHMARK", f.what)
      .optional_positional("DIR", f.model.dir)
      .flag("--only NAME", f.options.only,
            "kernels: run only MODULE or MODULE/ROW, given by parts of their names; host --full: only memory, "
            "products, operations or storage")
      .flag("--reps N", f.reps, "repetitions; results are medians")
      .flag("--tokens N", f.mixers.tokens, "mixers: sequence length in tokens")
      .flag("--width N", f.mixers.width, "mixers: model width")
      .flag("--dtype TYPE", f.mixers.dtype,
            "mixers: type of prefill (backward is f32); train: compute type: bf16 or f32")
      .flag("--skip-backward", f.mixers.skip_backward, "mixers: benchmark prefill only")
      .flag("--decode", f.decoding, "mixers: benchmark decoding one token after contexts from 1024 to --max-context")
      .flag("--max-context N", f.decode.deepest, "mixers --decode: longest context in tokens")
      .alias("--deepest")
      .flag("--dictionary N", f.dictionary,
            "mixers --decode, --crossing: rows of the OVQ dictionary; repeatable with --crossing [1024]")
      .flag("--write-every N", f.decode.chunk, "mixers --decode, --crossing: OVQ chunk in tokens")
      .flag("--crossing", f.crossing,
            "mixers: find the context length at which softmax attention costs as much as OVQ")
      .flag("--shape SHAPE", f.model.shape,
            "model benchmarks: zaya1-8b, zamba2-2.7b, … with random weights, instead of DIR; train: zaya-60m, …")
      .flag("--quant FORMAT", f.model.scheme,
            "model benchmarks: weight format: f32, bf16, q8, q4 or q8a8; a quantized DIR stays as it is")
      .alias("--scheme")
      .flag(
          "--kv TYPE", f.model.kv,
          "model benchmarks: KV cache type: bf16, q8 or f32; repeatable with model and batch, to compare [bf16; f32 "
          "with f32 weights]")
      .flag("--prompt N", f.prompt, "model, prefix: prompt length in tokens [2048; 4096 for prefix]")
      .flag("--chunk N", f.model.chunk, "prefix: maximum prefill tokens per step")
      .flag("--depth N", f.model.depths,
            "model, batch, adapters, speculative: context length of decoding in tokens; repeatable [512 and 8192; "
            "512 for "
            "batch and adapters]")
      .flag("--batch N", f.model.batches,
            "model, batch, adapters: number of concurrent sequences; speculative: tokens per step; repeatable [1; 1 "
            "4 16 for "
            "batch; 16 for adapters; 2 3 5 9 for speculative]")
      .flag("--rank N", f.rank, "adapters, train --base: rank of the adapters")
      .flag("--draft MODEL", f.draft, "draft: draft model: a folder, or q8 or q4 for a quantized copy of the model")
      .flag("--plan PLAN", f.plan, "test-time: test-time compute plan, as in quern run --think")
      .flag("--skip-prefill", f.model.skip_prefill, "model: benchmark decoding only")
      .flag("--micro-batch N", f.train.rows, "train: sequences per micro-batch")
      .alias("--rows")
      .flag("--length N", f.train.length, "train: sequence length in tokens")
      .flag("--base FORMAT", f.train.base,
            "train: a LoRA adapter learns, and the weights are frozen in this format: f32, bf16, q8 or q4 [all "
            "weights learn]")
      .flag("--layers N", f.train.layers, "train: only the first N layers of the shape; 0 is all of them")
      .flag("--activation-checkpointing", f.train.activation_checkpointing,
            "train: recompute the activations inside each layer in the backward pass")
      .flag("--ranks N", f.ranks,
            "comm, tree-attention: number of ranks, as threads of this process; under mpirun, its processes are the "
            "ranks; repeatable with comm [2; 8 for tree-attention]")
      .flag("--keys N", f.tree.tokens, "tree-attention: number of keys in the KV caches of all ranks")
      .flag("--heads N", f.tree.heads, "tree-attention: number of query heads")
      .flag("--kv-heads N", f.tree.kv_heads, "tree-attention: number of key-value heads")
      .flag("--head-dim N", f.tree.head_dim, "tree-attention: head dimension")
      .flag("--network", f.tree.network, "tree-attention: model networks of up to 1024 ranks instead of measuring")
      .json(f.json)
      .note(
          "BENCHMARK is one of\n"
          "  host            memory bandwidth, compute peaks and thread wake-up latency of this machine; --full: by "
          "size and "
          "shape\n"
          "  comm            collectives between ranks over sizes: latency, bandwidth, overlap with computation\n"
          "  kernels         every kernel, with its ratio to the measured peak\n"
          "  products        matrix products as chosen for this machine, against every other kind it has\n"
          "  mixers          one layer of MHA, CCGQA and CCA: prefill and backward; --decode and --crossing: OVQ\n"
          "  model           prefill and decode speed of a model, against the compute peak and the read bandwidth\n"
          "  batch           throughput of concurrent sequences\n"
          "  adapters        sequences with a LoRA adapter each, compared with none and with one for all\n"
          "  speculative     speculative decoding: cost of draft tokens per step, and the speed-up of prompt lookup\n"
          "  draft           speculative decoding: the speed-up of a draft model at given acceptance rates\n"
          "  prefix          time to first token with and without the prefix cache\n"
          "  test-time       test-time compute by a plan, compared with plain batches\n"
          "  train           a training step: tokens per second and model flops utilization (MFU)\n"
          "  tree-attention  attention over a KV cache sharded across ranks");
}

int bench_mixer_layers(BenchFlags& f) {
  const std::vector<int64_t> dictionaries = whole_numbers(f.dictionary, "--dictionary", {1024});
  f.decode.rows = dictionaries.front();
  if (f.crossing) {
    f.decode.reps = f.reps;
    return bench_crossing(f.decode, dictionaries);
  }
  if (f.decoding) {
    if (dictionaries.size() > 1) throw UsageError("quern bench mixers: --decode takes one --dictionary");
    f.decode.reps = std::min<int64_t>(f.reps, 5);
    return bench_decode(f.decode);
  }
  f.mixers.reps = f.reps;
  return bench_mixers(f.mixers);
}

int bench_of_model(BenchFlags& f) {
  f.model.reps = f.what == "prefix" ? std::min<int64_t>(f.reps, 5) : f.reps;
  f.model.prompt = f.prompt.value_or(f.what == "prefix" ? 4096 : 2048);
  if (f.model.prompt < 10 || f.model.chunk < 1)
    throw UsageError("quern bench: expected --prompt of at least 10 and --chunk of at least 1");
  if (f.what == "model") return bench_model(f.model);
  if (f.what == "batch") return bench_batch(f.model);
  if (f.what == "adapters") return bench_adapters(f.model, f.rank);
  if (f.what == "speculative") return bench_rows(f.model);
  if (f.what == "draft") return bench_draft(f.model, f.draft);
  if (f.what == "test-time") return bench_think(f.model, f.plan);
  if (f.what == "prefix") return bench_prefix(f.model);
  throw UsageError(fmt::format(
      "quern bench: unknown benchmark '{}', expected host, comm, kernels, products, mixers, model, batch, adapters, "
      "speculative, prefix, "
      "test-time, draft, train or tree-attention",
      f.what));
}

}  // namespace

int cmd_bench(Words args) {
  BenchFlags f;
  Args a("bench", "benchmark this machine, its kernels and models");
  declare_machine(a, f);
  declare(a, f);
  if (!a.parse(args)) return 0;
  if (f.reps < 1) throw UsageError(fmt::format("quern bench: --reps {}: expected 1 or more", f.reps));
  f.mixers.json = f.decode.json = f.model.json = f.train.json = f.tree.json = f.comm.json = f.json;
  for (const auto& [old, name] : kOldNames)
    if (f.what == old) f.what = name;
  if (!f.model.dir.empty()) f.model.dir = model_folder(f.model.dir);
  if (f.what == "host") {
    f.host.reps = f.reps, f.host.json = f.json, f.host.machine = f.comm.machine, f.host.only = f.options.only;
    f.host.html = f.html.file;
    f.host.full = f.host.full || !f.host.html.empty() || !f.host.only.empty();
    return bench_host(f.host);
  }
  if (f.what == "comm") {
    f.comm.ranks = whole_numbers(f.ranks, "--ranks", {}, 1024), f.comm.reps = std::min<int64_t>(f.reps, 7);
    return bench_comm(f.comm);
  }
  if (f.what == "kernels") {
    f.options.reps = static_cast<int>(f.reps);
    return bench_kernels(std::move(f.options), f.json);
  }
  if (f.what == "products") return bench_products({.reps = f.reps, .json = f.json});
  if (f.what == "mixers") return bench_mixer_layers(f);
  if (f.what == "train") {
    f.train.shape = f.model.shape, f.train.dtype = f.mixers.dtype, f.train.reps = std::min<int64_t>(f.reps, 9);
    f.train.rank = f.rank;
    return bench_train(f.train);
  }
  if (f.what == "tree-attention") {
    const std::vector<int64_t> ranks = whole_numbers(f.ranks, "--ranks", {f.tree.ranks});
    if (ranks.size() > 1) throw UsageError("quern bench tree-attention: takes one --ranks");
    f.tree.reps = f.reps, f.tree.ranks = ranks.front();
    return bench_tree(f.tree);
  }
  return bench_of_model(f);
}

}  // namespace quern::cli
