// Recipe: the complete description of a training run, one TOML file. `extends` names a base file; `--set a.b=c`
// overrides; the resolved copy is written to the run's folder as recipe.json.
//
//   name = "nano"                       [optimizer]  matrices = { type = "muon" }
//   tokenizer = "tokenizer"             [checkpoint] every = 200
//   [model]                             [[phase]]
//   config = { model_type = "zaya", … } name = "pretrain", steps = 2000,
//                                       sequence_length = 512, batch_size = 32
//                                       schedule = { peak = 2e-3, warmup = 0.02, final = 2e-4 }
//                                       data = [{ path = "data/prose", weight = 2 }, { path = "data/sums" }]
//
// Training stages (phases) run one after the other: each has its own data, sequence length, batch size and schedule,
// and may change the model's configuration (the RoPE base, for example). Relative paths start from the recipe's
// folder.
#pragma once
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "quern/base/config.h"
#include "quern/data/samples.h"
#include "quern/models/lora_settings.h"
#include "quern/optim/groups.h"
#include "quern/optim/schedule.h"
#include "quern/train/recipe/distill_config.h"
#include "quern/train/recipe/preference_config.h"
#include "quern/train/recipe/rl_config.h"

namespace quern::train {

struct ModelSource {
  std::string from;  // a model folder: its weights, or with fresh = true its shape alone
  bool fresh = false;
  Json config;  // in the Hugging Face form; without `from` the whole, with it what differs
  template <class V>
  void visit(V& v) {
    v("from", from, "model folder to continue, or the name of a shipped model");
    v("fresh", fresh, "take only the shape of `from`, with new random weights");
    v("config", config, "`config.json` fields: all of them, or overrides of `from`");
  }
};

struct BatchRamp {
  int64_t step = 0, batch_size = 1;  // from this step of the phase on
  template <class V>
  void visit(V& v) {
    v("step", step, "step of the stage from which the batch size holds");
    v("batch_size", batch_size, "sequences per step from there on", aka("rows"));
  }
};

struct PhaseConfig {
  std::string name = "train";
  int64_t steps = 0, tokens = 0;  // one of them
  int64_t sequence_length = 512, batch_size = 8, micro_batch_size = 0;
  std::vector<BatchRamp> ramp;
  optim::ScheduleConfig schedule;
  std::vector<data::DataSetConfig> data;
  RlConfig rl;
  PreferenceConfig preference;
  DistillConfig distill;
  Json config;  // fields of the model's configuration that this phase changes
  template <class V>
  void visit(V& v) {
    v("name", name, "name in metrics and reports");
    v("steps", steps, "length of the stage in optimizer steps");
    v("tokens", tokens, "length of the stage in tokens, instead of steps");
    v("sequence_length", sequence_length, "sequence length in tokens", aka("length"));
    v("batch_size", batch_size, "batch size in sequences, over all ranks", aka("rows"));
    v("micro_batch_size", micro_batch_size,
      "micro-batch size of a rank (gradient accumulation); 0 is the rank's whole share", aka("micro_rows"));
    v("ramp", ramp, "batch size ramp: {step, batch_size}, in order");
    v("schedule", schedule, "learning rate; warmup and decay below 1 are shares of the phase");
    v("data", data, "data sets and their weights");
    v("rl", rl, "reinforcement learning: the phase samples its own data; `batch_size` counts problems per step");
    v("preference", preference,
      "learning from pairs of answers (DPO): `data` holds such pairs, `batch_size` and `micro_batch_size` count "
      "them");
    v("distill", distill, "learning from a larger model with the data");
    v("config", config, "`config.json` fields this stage changes");
  }
  int64_t batch_size_at(int64_t step) const;
};

struct CheckpointConfig {
  int64_t every = 500, keep = 2;
  bool bounded = true;
  template <class V>
  void visit(V& v) {
    v("every", every, "steps between checkpoints; 0 only at the end");
    v("bounded", bounded,
      "a kill never loses more than `every` steps: the step after a save waits until it is committed");
    v("keep", keep, "committed checkpoints to keep");
  }
};

struct EvalConfig {
  int64_t every = 0, sequences = 16, sequence_length = 0;
  std::vector<data::DataSetConfig> data;
  template <class V>
  void visit(V& v) {
    v("every", every, "steps between evaluations; 0 only at the end");
    v("sequences", sequences, "sequences per set, the same at every evaluation", aka("rows"));
    v("sequence_length", sequence_length, "sequence length in tokens; 0 is that of the last stage", aka("length"));
    v("data", data, "held-out sets");
  }
};

struct SpikePolicy {
  int64_t window = 64, patience = 3, max_rollbacks = 3;
  double mads = 12, min_increase = 0.5;
  template <class V>
  void visit(V& v) {
    v("window", window, "losses that form the median; 0 disables spike detection");
    v("mads", mads, "a spike is this many median absolute deviations above the median");
    v("min_increase", min_increase, "and at least this many nats above it", aka("least"));
    v("patience", patience, "spikes in a row before training rolls back to the last checkpoint");
    v("max_rollbacks", max_rollbacks, "rollbacks to one checkpoint before training stops", aka("most_rollbacks"));
  }
};

// How ranks share the work; docs/parallel.md.
struct ParallelConfig {
  int64_t zero = 0, bucket = int64_t{4} << 20, context = 1, experts = 1, two_level_from = 0;
  std::string context_form = "gather";
  template <class V>
  void visit(V& v) {
    v("zero", zero, "0: every rank keeps all optimizer state; 1: ZeRO stage 1");
    v("bucket", bucket,
      "with ZeRO: gradient elements per bucket, reduced together while the backward pass continues");
    v("context", context, "ranks that share the tokens of every sequence");
    v("experts", experts, "ranks that share the experts of every MoE layer");
    v("context_form", context_form, "attention under context parallelism: `gather` or `ring`");
    v("two_level_from", two_level_from,
      "without ZeRO, several ranks on several hosts: sums of gradients of this many bytes or more go within hosts, "
      "then "
      "between them; 0: never");
  }
};

// What `quern train --supervise` watches for; a run without it never looks here.
struct SupervisePolicy {
  std::string launcher;
  double setup_s = 600, step_s = 180, checkpoint_s = 420, evaluate_s = 600, heartbeat_s = 60, slow_share = 0.7;
  int64_t slow_steps = 20, min_ranks = 1, max_restarts = 5;
  template <class V>
  void visit(V& v) {
    v("launcher", launcher, "command that starts the ranks of a supervised run, e.g. 'mpirun -n {ranks}'",
      {.value = "COMMAND"});
    v("setup_s", setup_s, "time limit until the first step, in seconds");
    v("step_s", step_s, "time limit per part of a step");
    v("checkpoint_s", checkpoint_s, "time limit for handing over a checkpoint");
    v("evaluate_s", evaluate_s, "time limit for an evaluation");
    v("heartbeat_s", heartbeat_s, "a rank without a heartbeat for this long is hung", aka("pulse_s"));
    v("slow_share", slow_share, "a rank is slow when the others need less than this share of its time");
    v("slow_steps", slow_steps, "for this many steps in a row");
    v("min_ranks", min_ranks, "training continues without lost ranks while this many are left", aka("least_ranks"));
    v("max_restarts", max_restarts, "restarts without a new checkpoint before the supervisor gives up",
      aka("most_restarts"));
  }
};

// What a file that describes runs has besides its own fields: a name, a tokenizer, and the folder it lies in.
struct RunFile {
  std::string name, tokenizer;
  std::filesystem::path base;  // folder of relative paths; not a field of the file
  std::filesystem::path tokenizer_folder() const { return base / tokenizer; }
};

struct Recipe : RunFile {
  Recipe() { name = "run"; }
  std::string dtype = "bf16";
  int64_t seed = 0;
  double clip = 1;
  bool activation_checkpointing = false;
  ModelSource model;
  models::LoraSettings adapter;
  optim::OptimizerConfig optimizer;
  CheckpointConfig checkpoint;
  EvalConfig eval;
  SpikePolicy spikes;
  ParallelConfig parallel;
  SupervisePolicy supervise;
  std::vector<PhaseConfig> phase;
  template <class V>
  void visit(V& v) {
    v("name", name, "name of the run");
    v("seed", seed, "random seed of weights and sample order");
    v("dtype", dtype, "type of large matrix multiplications: `bf16` or `f32`; everything else is f32");
    v("activation_checkpointing", activation_checkpointing,
      "activation checkpointing: recompute the activations inside each layer in the backward pass", aka("recompute"));
    v("clip", clip, "maximum global gradient norm; 0 disables clipping");
    v("tokenizer", tokenizer,
      "folder whose tokenizer files are copied into the trained model; left out: those of `model.from`");
    v("model", model, "model to train");
    v("adapter", adapter, "train a LoRA adapter; the model itself is frozen");
    v("optimizer", optimizer, "optimizers of the kinds of parameters");
    v("checkpoint", checkpoint, "checkpoints");
    v("eval", eval, "evaluation on held-out data");
    v("spikes", spikes, "loss spike detection");
    v("parallel", parallel, "how ranks share the work");
    v("supervise", supervise, "fault-tolerant training");
    v("phase", phase, "training stages, one after the other");
  }

  int64_t steps() const;                 // of all phases
  int64_t eval_sequence_length() const;  // eval.sequence_length, or the last phase's
  struct Position {
    size_t phase;
    int64_t step;  // of the phase
  };
  Position at(int64_t step) const;  // the last phase's end when step == steps()
};

// Every setting also accepts its earlier key (aka). set: "a.b=c" each, c as TOML would have it, or else a string; phases are counted from 0 (phase.0.steps=10).
// Throws Error naming file and field; unknown fields are refused.
Recipe read_recipe(const std::filesystem::path& file, std::span<const std::string> set = {});
Recipe parse_recipe(const Json& j, const std::filesystem::path& base, const std::string& where);

// b's fields laid over a's: objects field by field, everything else replaced; null changes nothing.
Json merged(Json a, const Json& b);

}  // namespace quern::train
