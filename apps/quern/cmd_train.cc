// quern train: carries out a recipe. Ctrl-C finishes the step, saves and stops; --resume goes on.
#include <unistd.h>

#include "apps/quern/args.h"
#include "apps/quern/context.h"
#include "apps/quern/interrupt.h"
#include "apps/quern/verbs.h"
#include "quern/comm/in_process.h"
#include "quern/comm/mpi.h"
#include "quern/train/trainer.h"

namespace quern {
namespace {

std::string duration(double seconds) {
  int64_t s = static_cast<int64_t>(seconds);
  if (s >= 3600) return fmt::format("{} h {:02} min", s / 3600, s / 60 % 60);
  return s >= 60 ? fmt::format("{} min {:02} s", s / 60, s % 60) : fmt::format("{} s", s);
}

// A live line on a terminal, else a line every ten seconds.
class ProgressLine {
 public:
  void show(const Trainer& t) {
    const StepMetrics& m = t.last();
    smooth_ = smooth_ == 0 ? m.loss : 0.9 * smooth_ + 0.1 * m.loss;
    pace_ = pace_ == 0 ? m.time_s : 0.9 * pace_ + 0.1 * m.time_s;
    since_ += m.time_s;
    if (!terminal_ && since_ < 10 && m.step < t.steps()) return;
    since_ = 0;
    fmt::print(stderr, "{}step {:>6}/{}  loss {:.4f}{}  lr {:.2e}  |g| {:.2f}  {:.0f} tokens/s{}  {} left{}",
               terminal_ ? "\r\033[K" : "", m.step, t.steps(), smooth_,
               m.bpb ? fmt::format("  {:.3f} bpb", *m.bpb) : "", m.lr, m.grad_norm, m.tokens_per_s.value_or(0),
               m.mfu ? fmt::format("  mfu {:.0f} %", 100 * *m.mfu) : "",
               duration(pace_ * static_cast<double>(t.steps() - m.step)), terminal_ ? "" : "\n");
    std::fflush(stderr);
    open_ = terminal_;
  }
  void end() {
    if (open_) fmt::print(stderr, "\n");
    open_ = false;
  }

 private:
  bool terminal_ = isatty(STDERR_FILENO) != 0, open_ = false;
  double smooth_ = 0, pace_ = 0, since_ = 1e9;
};

void train(const Recipe& recipe, Communicator& comm, TrainOptions options, int64_t stop_after) {
  bool root = comm.rank() == 0;
  ProgressLine line;
  options.say = [&](const std::string& s) {
    line.end();
    fmt::print(stderr, "{}\n", s);
  };
  std::filesystem::path out = options.out;
  Trainer t(recipe, registry(), comm, options);
  if (root) fmt::print(stderr, "{}", t.describe());
  Interrupt interrupt;
  while (t.step()) {
    if (root) {
      line.show(t);
      for (const EvalMetrics& e : t.evaluations())
        if (e.step == t.finished())
          options.say(fmt::format("step {}: {} loss {:.4f}{}", e.step, e.set, e.eval_loss,
                                  e.eval_bpb ? fmt::format(", {:.3f} bits per byte", *e.eval_bpb) : ""));
    }
    bool enough = stop_after > 0 && t.finished() >= stop_after;
    if (comm.all_reduce(int64_t{enough || interrupt.raised()}, ReduceOp::max) && t.finished() < t.steps()) {
      line.end();
      t.checkpoint();
      if (root) fmt::print(stderr, "stopped after step {}; go on with --resume\n", t.finished());
      return;
    }
  }
  line.end();
  t.export_model(out / "model", DType::bf16);
  if (root)
    fmt::print(stderr, "{}: the model, {}: how it went\n", (out / "model").string(),
               (out / "metrics.jsonl").string());
}

}  // namespace

int cmd_train(Words args) {
  std::string file, out;
  std::vector<std::string> set;
  int64_t steps = 0, ranks = 1;
  bool resume = false;
  Args a("train", "carry out a training recipe");
  a.positional("RECIPE", file)
      .flag("--out", out, "folder of the run [runs/NAME]")
      .flag("--steps", steps, "stop after step N and save; 0 = when the recipe is done")
      .flag("--set", set, "a.b=c: change a field of the recipe; may be given again")
      .flag("--resume", resume, "go on from the newest checkpoint in --out")
      .flag("--ranks", ranks, "ranks in this process, one thread each; for more machines start it with mpirun")
      .note("Ctrl-C finishes the step, saves a checkpoint and stops.");
  if (!a.parse(args)) return 0;
  Recipe recipe = read_recipe(file, set);
  if (steps < 0 || ranks < 1) throw UsageError("--steps must be 0 or more, --ranks 1 or more");
  TrainOptions o{.out = out.empty() ? std::filesystem::path("runs") / recipe.name : std::filesystem::path(out),
                 .resume = resume};
  auto run = [&](Communicator& c) { train(recipe, c, o, steps); };
  if (!under_mpi()) {
    run_ranks(static_cast<int>(ranks), run);
  } else {
    if (ranks > 1) throw UsageError("--ranks is for one process; mpirun says how many there are");
    run_mpi(run);
  }
  return 0;
}

}  // namespace quern
