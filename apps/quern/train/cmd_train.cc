// quern train: runs a recipe. Ctrl-C finishes the step, saves and stops; --resume continues; --supervise starts the
// same command as a child and restarts it after faults.

#include <unistd.h>

#include <filesystem>
#include <optional>

#include "apps/quern/cli/args.h"
#include "apps/quern/cli/interrupt.h"
#include "apps/quern/cli/shared_flags.h"
#include "apps/quern/cli/trace_file.h"
#include "apps/quern/cli/verbs.h"
#include "apps/quern/models/context.h"
#include "apps/quern/models/shipped_models.h"
#include "apps/quern/train/step_line.h"
#include "apps/quern/train/train_recipe.h"
#include "quern/base/threads.h"
#include "quern/comm/in_process.h"
#include "quern/comm/mpi.h"
#include "quern/rl/rollout_source.h"
#include "quern/train/distill/distill_source.h"
#include "quern/train/preference/preference_source.h"
#include "quern/train/recipe/run_settings.h"
#include "quern/train/supervise/supervise.h"
#include "quern/train/trainer/export.h"
#include "quern/train/trainer/heartbeat.h"
#include "quern/train/trainer/trainer.h"

namespace quern::cli {
namespace {

// Traces `steps` steps, after two that find caches cold. A process has one trace, whichever of its ranks asks for it.
class StepTrace {
 public:
  StepTrace(int64_t steps, std::filesystem::path file, int rank)
      : steps_(steps), file_(std::move(file)), rank_(rank) {}
  void after_step() {
    if (++seen_ == kCold + steps_) finish();
  }
  void before_step() {
    if (steps_ > 0 && seen_ == kCold) trace_.emplace(file_.string(), rank_);
  }
  void finish() {  // also where the run ends before so many steps
    if (!trace_) return;
    const std::string tables = trace_->finish();
    if (rank_ == 0) fmt::print(stderr, "{}", tables);
    trace_.reset();
  }
  void end() {
    finish();
    if (rank_ == 0 && steps_ > 0 && seen_ <= kCold)
      fmt::print(stderr, "note: nothing was traced: a trace begins after {} steps, and there were {}\n", kCold,
                 seen_);
  }

 private:
  static constexpr int64_t kCold = 2;
  int64_t steps_, seen_ = 0;
  std::filesystem::path file_;
  int rank_;
  std::optional<TraceFile> trace_;
};

// What a person asked for that is not part of the recipe.
struct RunFlags {
  int64_t steps = 0, trace = 0;
  bool store_teacher = false;
};

int store_teacher(const train::Recipe& recipe) {
  const bool live = isatty(STDERR_FILENO) != 0;
  const train::TeacherStoreReport r =
      train::store_teacher(recipe, nn::builtin_registry(), [&](const train::TeacherStoreReport& so_far) {
        if (live) fmt::print(stderr, "\r{} documents, {} tokens ", so_far.documents, so_far.tokens);
      });
  if (live) fmt::print(stderr, "\n");
  fmt::print("stored the teacher's logits at {} tokens of {} documents; {} were there\n", r.tokens, r.documents,
             r.held);
  return 0;
}

void train(const train::Recipe& recipe, comm::Communicator& comm, train::TrainOptions options,
           const RunFlags& flags) {
  bool root = comm.rank() == 0;
  StepLine line;
  options.say = [&](const std::string& s) {
    line.end();
    fmt::print(stderr, "{}\n", s);
  };
  std::filesystem::path out = options.out;
  options = train::with_preferences(rl::with_rollouts(std::move(options), recipe, nn::builtin_registry()));
  options = train::with_distillation(std::move(options), nn::builtin_registry());
  train::Trainer t(recipe, nn::builtin_registry(), comm, options);
  if (root) fmt::print(stderr, "{}", t.describe());
  if (root && train::tokenizer_source(recipe).empty())
    fmt::print(
        stderr,
        "note: no tokenizer: the trained model will need one to run; add to the recipe: tokenizer = \"DIR\"\n");
  Interrupt interrupt;
  const bool traces = root || comm::under_mpi();
  StepTrace trace(traces ? flags.trace : 0,
                  out / (root ? "trace.json" : fmt::format("trace_rank{}.json", comm.rank())), comm.rank());
  while (t.finished() < t.steps() && (trace.before_step(), t.step())) {
    if (root) {
      line.show(t);
      for (const train::EvalMetrics& e : t.evaluations())
        if (e.step == t.finished())
          options.say(fmt::format("step {}: {} loss {:.4f}{}", e.step, e.set, e.eval_loss,
                                  e.eval_bpb ? fmt::format(", {:.3f} bits per byte", *e.eval_bpb) : ""));
    }
    if (root && flags.trace > 0) line.end();
    trace.after_step();
    bool enough = flags.steps > 0 && t.finished() >= flags.steps;
    if (comm.all_reduce(int64_t{enough || interrupt.raised()}, comm::ReduceOp::max) && t.finished() < t.steps()) {
      line.end();
      trace.end();
      t.checkpoint();
      if (root) fmt::print(stderr, "stopped after step {}; resume with --resume\n", t.finished());
      return;
    }
  }
  line.end();
  trace.end();
  t.export_model(out / "model", DType::bf16);
  if (root)
    fmt::print(stderr, "wrote the model to {} and the metrics to {}\n", (out / "model").string(),
               (out / "metrics.jsonl").string());
}

// What a rank leaves behind when it cannot go on, before the others are told.
void train_watched(const train::Recipe& recipe, comm::Communicator& comm, train::TrainOptions options,
                   const RunFlags& flags, const std::string& heartbeats) {
  train::Heartbeat beat(heartbeats, comm.rank(), comm.size());
  options.heartbeat = &beat;
  try {
    train(recipe, comm, options, flags);
  } catch (const std::exception& e) {
    beat.failed(e);
    throw;
  }
  beat.finished();
}

// The words that start this run again, but for what changes from attempt to attempt.
std::vector<std::string> attempt_words(const std::string& file, const std::filesystem::path& out, int64_t steps,
                                       const std::vector<std::string>& set) {
  std::vector<std::string> words = {std::filesystem::read_symlink("/proc/self/exe").string(),
                                    "--threads",
                                    std::to_string(thread_count()),
                                    "train",
                                    file,
                                    "--out",
                                    out.string(),
                                    "--steps",
                                    std::to_string(steps)};
  for (const std::string& s : set) words.insert(words.end(), {"--set", s});
  return words;
}

}  // namespace

int train_recipe(const std::string& verb, const std::string& purpose, Words args) {
  const std::string usage = "quern " + verb + ": ";
  std::string file, heartbeats;
  train::RunSettings given_run;
  const auto& [out, set, resume] = given_run;
  GivenSettings<train::SupervisePolicy> given;
  RunFlags flags;
  RanksFlag ranks;
  bool supervised = false;
  Args a(verb, purpose);
  a.positional("RECIPE", file)
      .settings(given_run, {{"out", "runs/NAME, with the recipe's name"}})
      .flag("--steps N", flags.steps, "save a checkpoint and stop after step N; 0 runs the whole recipe")
      .flag(
          "--trace N", flags.trace,
          "trace N steps after the first two: a table of where the time goes, RUN/trace.json for Chrome and a page, "
          "RUN/trace.html")
      .settings(given_run, {{"set"}, {"resume"}})
      .flag("--store-teacher", flags.store_teacher,
            "compute the teacher's logits of phases with distill.store, write them there, and stop")
      .settings(ranks)
      .flag("--supervise", supervised,
            "fault-tolerant training: run as a child process, watch it, and restart it from its last checkpoint")
      .settings(train::SupervisePolicy(), given, {{"launcher", "from the recipe"}})
      .flag("--heartbeats DIR", heartbeats, "folder where every rank writes its progress [set by --supervise]")
      .note(
          "The recipe (TOML) sets model, data, batch size and stages: pretraining, fine-tuning (SFT) on chats, "
          "reinforcement\n"
          "learning. A batch larger than micro_batch_size is split into micro-batches with gradient accumulation.\n"
          "Ctrl-C finishes the step, saves a checkpoint and stops.");
  if (!a.parse(args)) return 0;
  train::Recipe recipe = train::read_recipe(file, set);
  if (!recipe.model.from.empty() && !std::filesystem::exists(recipe.base / recipe.model.from))
    if (const auto shipped = shipped_model(recipe.model.from)) recipe.model.from = shipped->string();
  if (flags.steps < 0 || flags.trace < 0 || ranks.ranks < 1)
    throw UsageError(usage + "expected --steps and --trace of at least 0, and --ranks of at least 1");
  train::TrainOptions o{.out = out.empty() ? std::filesystem::path("runs") / recipe.name : std::filesystem::path(out),
                        .resume = resume};
  train::tokenizer_source(recipe);
  given.overlay(recipe.supervise);
  if (given.has("launcher") && !supervised) throw UsageError(usage + "--launcher needs --supervise");
  if (flags.store_teacher) return store_teacher(recipe);
  if (supervised && flags.trace > 0) throw UsageError(usage + "--trace cannot be used with --supervise");
  if (supervised) {
    if (comm::under_mpi())
      throw UsageError(usage +
                       "--supervise cannot run under mpirun: it starts the ranks itself, with --launcher 'mpirun -n "
                       "{ranks}'");
    Interrupt interrupt;
    train::supervise(recipe.supervise, {.out = o.out,
                                        .command = attempt_words(file, o.out, flags.steps, set),
                                        .ranks = ranks.ranks,
                                        .resume = resume,
                                        .say = [](const std::string& s) { fmt::print(stderr, "{}\n", s); },
                                        .interrupted = [&] { return interrupt.raised(); }});
    return 0;
  }
  auto run = [&](comm::Communicator& c) {
    if (heartbeats.empty()) return train(recipe, c, o, flags);
    train::note_termination();
    train_watched(recipe, c, o, flags, heartbeats);
  };
  if (!comm::under_mpi()) {
    comm::run_ranks(static_cast<int>(ranks.ranks), run);
  } else {
    if (ranks.ranks > 1)
      throw UsageError(usage +
                       "--ranks cannot be used under mpirun, which sets the number of ranks itself (mpirun -n N)");
    comm::run_mpi(run);
  }
  return 0;
}

int cmd_train(Words args) { return train_recipe("train", "pretrain or fine-tune a model from a recipe", args); }

}  // namespace quern::cli
