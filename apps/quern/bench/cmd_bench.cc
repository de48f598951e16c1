// quern bench host|kernels|mixers|model|batch|rows|prefix|think|draft|train|tree
//   host:    what this machine is and can do (bandwidth roofline, register-only compute peaks, handing work over)
//   kernels: every kernel's bench case, each figure with its ratio to the peak measured beside it
//   model:   a whole model's prompt and generation speed, against the bf16 peak and the read bandwidth
//   batch:   total speed of many sequences at once; prefix: time to the first token when most of a prompt is known
//   think:   a plan of thinking longer, beside the same prompts in plain batches
//   draft:   what a draft model would bring if so many of its guesses came true
//   train:   a training step of a shape: model flops against the peak, and where the time goes
//   tree:    attention whose keys lie over ranks, every way of joining; --network: modelled up to 1 024 ranks
//   mixers:  one layer of MHA, CCGQA and CCA with projections, prefill and backward, in one run; --decode: a
//            token behind a long context, softmax beside memories of fixed size; --crossing: where they cost the same
#include "apps/quern/bench/bench_mixers.h"
#include "apps/quern/bench/bench_model.h"
#include "apps/quern/bench/bench_tree.h"
#include "apps/quern/cli/args.h"
#include "apps/quern/cli/verbs.h"
#include "apps/quern/cli/whole_numbers.h"
#include "quern/host/bench.h"
#include "quern/host/host.h"

namespace quern {
namespace {

Json peaks(int64_t reps) {
  Json j = Json::object();
  for (Bound b : {Bound::f32_flops, Bound::bf16_flops, Bound::int8_ops, Bound::read, Bound::write, Bound::copy}) {
    std::vector<double> v;
    for (int64_t i = 0; i < reps; ++i) v.push_back(measure(b));
    j.set(bound_name(b), median(v));
  }
  return j;
}

std::string_view unit_of(std::string_view peak) {
  if (peak == bound_name(Bound::int8_ops)) return "GOP/s";
  return peak.ends_with("peak") ? "GFLOP/s" : "GB/s";
}

int bench_host(int64_t reps, bool json) {
  Json info = to_json(host_info()), peak = peaks(reps);
  const double handoff = handoff_ns();
  if (json) {
    info.set("peaks", std::move(peak));
    info.set("handoff_ns", handoff);
    fmt::print("{}\n", info.dump(2));
    return 0;
  }
  for (const auto& [key, value] : info.as_object())
    fmt::print("{:<16} {}\n", key, value.is_string() ? value.as_string() : value.dump());
  for (const auto& [key, value] : peak.as_object())
    fmt::print("{:<16} {:.1f} {}\n", key, value.as_double(), unit_of(key));
  if (handoff > 0) fmt::print("{:<16} {:.0f} ns from thread to thread and back\n", "handoff", handoff);
  return 0;
}

int bench_kernels(Bench::Options options, bool json) {
  Bench bench(std::move(options));
  run_all_benches(bench);
  if (!json) {
    fmt::print("{}", bench.table());
    return 0;
  }
  Json out = Json::object();
  out.set("host", to_json(host_info()));
  out.set("rows", bench.json());
  fmt::print("{}\n", out.dump(2));
  return 0;
}

}  // namespace

int cmd_bench(Words args) {
  std::string what;
  bool json = false;
  int64_t reps = 15;
  Bench::Options options;
  MixerBenchOptions mixers;
  DecodeBenchOptions decode;
  bool decoding = false, crossing = false;
  std::vector<std::string> dictionary;
  ModelBenchOptions model;
  TrainBenchOptions train;
  TreeBenchOptions tree;
  std::optional<int64_t> prompt;
  std::string draft;
  std::string plan = "mrsa:8x4x2,beta=192,tau=64";
  Args a("bench", "measure this machine and the kernels on it");
  a.positional("host|kernels|mixers|model|batch|rows|prefix|think|draft|train|tree", what)
      .positional("DIR", model.dir, false)
      .flag("--only", options.only, "kernels: ROOM or ROOM/ROW, parts of names")
      .flag("--reps", reps, "repetitions; figures are medians")
      .flag("--tokens", mixers.tokens, "mixers: length of the sequence")
      .flag("--width", mixers.width, "mixers: width of the model")
      .flag("--dtype", mixers.dtype, "mixers (prefill; backward is f32), train: bf16 or f32")
      .flag("--skip-backward", mixers.skip_backward, "mixers: prefill only")
      .flag("--decode", decoding, "mixers: one token behind 1024 … --deepest others")
      .flag("--deepest", decode.deepest, "mixers --decode: longest context")
      .flag("--dictionary", dictionary,
            "mixers --decode, --crossing: rows of OVQ's dictionary (1024); --crossing: again and again")
      .flag("--write-every", decode.chunk, "mixers --decode, --crossing: tokens of OVQ's chunk")
      .flag("--crossing", crossing, "mixers: the context at which softmax costs what OVQ does")
      .flag("--shape", model.shape,
            "model: zaya1-8b, zamba2-2.7b, … with random weights, instead of DIR; train: zaya-60m, …")
      .flag("--scheme", model.scheme, "model: weights as f32, bf16, q8, q4 or q8a8; a packed DIR stays as it is")
      .flag("--kv", model.kv,
            "model, batch, rows, prefix, think, draft: the attention cache as bf16, q8 or f32; model, batch: given "
            "again, one beside the other")
      .flag("--prompt", prompt, "model, prefix: tokens of the prompt (2048; 4096)")
      .flag("--chunk", model.chunk, "prefix: prompt rows of one step")
      .flag("--depth", model.depths, "model: context of decoding, may be given again (512 and 8192)")
      .flag("--batch", model.batches,
            "model: sequences decoding at once; rows: rows of one sequence; may be given again (1; 2 3 5 9)")
      .flag("--draft", draft, "draft: a folder, or q8 or q4: the same model packed so")
      .flag("--plan", plan, "think: as quern run --think takes it")
      .flag("--skip-prefill", model.skip_prefill, "model: decoding only")
      .flag("--rows", train.rows, "train: rows of a micro-batch")
      .flag("--length", train.length, "train: tokens of a row")
      .flag("--ranks", tree.ranks, "tree: threads of this process; under mpirun its processes instead")
      .flag("--keys", tree.tokens, "tree: keys of all ranks")
      .flag("--heads", tree.heads, "tree: query heads")
      .flag("--kv-heads", tree.kv_heads, "tree: key heads")
      .flag("--head-dim", tree.head_dim, "tree: size of a head")
      .flag("--network", tree.network, "tree: modelled networks instead of this machine")
      .flag("--json", json, "one JSON object");
  if (!a.parse(args)) return 0;
  if (reps < 1) throw UsageError(fmt::format("--reps {}: expected at least 1", reps));
  if (what == "host") return bench_host(reps, json);
  if (what == "kernels") {
    options.reps = static_cast<int>(reps);
    return bench_kernels(std::move(options), json);
  }
  if (what == "mixers") {
    const std::vector<int64_t> dictionaries = whole_numbers(dictionary, "--dictionary", {1024});
    decode.rows = dictionaries.front();
    if (crossing) {
      decode.reps = reps;
      return bench_crossing(decode, dictionaries, json);
    }
    if (decoding) {
      if (dictionaries.size() > 1) throw UsageError("--decode: expected one --dictionary");
      decode.reps = std::min<int64_t>(reps, 5);
      return bench_decode(decode, json);
    }
    mixers.reps = reps;
    return bench_mixers(mixers, json);
  }
  if (what == "train") {
    train.shape = model.shape, train.dtype = mixers.dtype, train.reps = std::min<int64_t>(reps, 9);
    return bench_train(train, json);
  }
  if (what == "tree") {
    tree.reps = reps;
    return bench_tree(tree, json);
  }
  model.reps = what == "prefix" ? std::min<int64_t>(reps, 5) : reps;
  model.prompt = prompt.value_or(what == "prefix" ? 4096 : 2048);
  if (model.prompt < 10 || model.chunk < 1) throw UsageError("--prompt: expected at least 10; --chunk: at least 1");
  if (what == "model") return bench_model(model, json);
  if (what == "batch") return bench_batch(model, json);
  if (what == "rows") return bench_rows(model, json);
  if (what == "draft") return bench_draft(model, draft, json);
  if (what == "think") return bench_think(model, plan, json);
  if (what == "prefix") return bench_prefix(model, json);
  throw UsageError(fmt::format(
      "quern bench: '{}', expected host, kernels, mixers, model, batch, rows, prefix, think, draft, train or tree",
      what));
}

}  // namespace quern
