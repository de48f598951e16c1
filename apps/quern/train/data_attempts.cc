// quern data attempts: training chats that compare solutions which a model sampled itself.
#include <optional>

#include "apps/quern/cli/args.h"
#include "apps/quern/cli/line_file.h"
#include "apps/quern/cli/progress.h"
#include "apps/quern/cli/shared_flags.h"
#include "apps/quern/models/context.h"
#include "apps/quern/models/shipped_models.h"
#include "apps/quern/train/cmd_data.h"
#include "apps/quern/train/problem_flags.h"
#include "quern/reason/sampled_solutions.h"

namespace quern::cli {
namespace {

struct AttemptFlags {
  std::string dir, out, contested_out;
  ThinkFlag think{"vote:8,tau=64"};
  reason::OwnAttemptOptions o;
  ProblemFlags which{.level = "2-5"};
  WeightFlags weights{.dtype_default = "auto"};

  AttemptFlags() {
    o.eval.problems.split = data::Split::train;
    o.eval.count = 1000;
    o.eval.generate.max_tokens = 192;
  }
  bool parse(Words args);  // false: it was a call for help
  void resolve();          // checks what was given and completes `o`
};

bool AttemptFlags::parse(Words args) {
  Args a("data attempts", "build training chats from solutions sampled from a model");
  a.positional("DIR", dir)
      .flag("--out FILE", out, "output file of chats, JSON lines; - is stdout")
      .settings(which, {{"level"}, {"kind"}, {"seed"}})
      .settings(o.eval)
      .settings(think)
      .flag("--shown N", o.shown, "number of sampled solutions per chat")
      .flag("--keep-all-right P", o.unanimous, "probability of keeping a chat whose solutions are all right")
      .alias("--unanimous")
      .flag("--keep-all-wrong P", o.hopeless, "probability of keeping a chat whose solutions are all wrong")
      .alias("--hopeless")
      .flag("--minority-right FILE", contested_out,
            "also write chats in which the right answer has no majority, so that voting fails, to FILE")
      .alias("--contested")
      .flag("--max-minority-right N", o.contested,
            "maximum number of minority-right chats per problem; 0 is 2 with --minority-right")
      .alias("--contests")
      .flag("--cut-short P", o.cut_short,
            "probability that the target of a search problem stops early, before a solution that no attempt shows")
      .flag("--verdicts", o.verdicts, "begin the target with a verdict per solution: right or wrong")
      .settings(o.eval.generate, {{"max_tokens"}, {"temperature", "1"}})
      .note("The plan of --think samples the solutions; chats show the ends of its last round.");
  weights.add_to(a);
  return a.parse(args);
}

void AttemptFlags::resolve() {
  if (out.empty()) throw UsageError("quern data attempts: --out is missing: expected a file, or - for stdout");
  if (o.eval.sessions < 1)
    throw UsageError(fmt::format("quern data attempts: --max-seqs {}: expected 1 or more", o.eval.sessions));
  if (contested_out.empty() && o.contested > 0)
    throw UsageError("quern data attempts: --max-minority-right needs --minority-right FILE, the file to write");
  if (contested_out == "-")
    throw UsageError("quern data attempts: --minority-right -: expected a file: only --out can be stdout");
  if (!contested_out.empty() && contested_out == out)
    throw UsageError("quern data attempts: --minority-right and --out name the same file: give two files");
  if (!contested_out.empty() && o.contested == 0) o.contested = 2;
  gym::read_levels(which.level, o.eval.problems);
  o.eval.problems.kinds = which.kinds, o.eval.problems.seed = static_cast<uint64_t>(which.seed);
  o.eval.plan = reason::parse_plan(*think.plan);
  o.eval.plan.seed = o.eval.generate.sampling.seed = static_cast<uint64_t>(which.seed);
  reason::check(o);
}

reason::OwnAttemptReport sample(AttemptFlags& f, LineFile& out, std::optional<LineFile>& contested) {
  const std::string dir = model_folder(f.dir);
  const text::Tokenizer tokenizer = models::load_tokenizer(dir);
  auto model = load_for_inference(dir, f.weights.load_options());
  f.o.eval.generate.stop_ids = models::load_generation_config(dir).eos_token_id;
  const int64_t all = f.o.eval.count * (f.o.eval.problems.max_level - f.o.eval.problems.min_level + 1);
  Progress progress;
  return reason::own_attempts(*model, tokenizer, models::load_chat_template(dir, model->family()), f.o,
                              [&](const reason::OwnExample& e, const reason::OwnAttemptReport& now) {
                                (e.contested ? *contested : out).write(e.line);
                                progress("{} of {} problems, {} examples", now.problems, all,
                                         now.examples + now.contested);
                              });
}

void print_report(const AttemptFlags& f, const reason::OwnAttemptReport& r) {
  fmt::print(
      "{}: {} examples of {} problems; {:.1f} % of {} sampled solutions right; groups: {} all right, {} mixed, "
      "{} all wrong\n",
      f.out, r.examples, r.problems, 100.0 * static_cast<double>(r.right) / static_cast<double>(r.attempts),
      r.attempts, r.all_right, r.mixed, r.none_right);
  if (!f.contested_out.empty()) fmt::print("{}: {} minority-right examples\n", f.contested_out, r.contested);
}

}  // namespace

int data_attempts(Words args) {
  AttemptFlags flags;
  if (!flags.parse(args)) return 0;
  flags.resolve();
  LineFile out(flags.out);
  std::optional<LineFile> contested;
  if (!flags.contested_out.empty()) contested.emplace(flags.contested_out);
  const reason::OwnAttemptReport r = sample(flags, out, contested);
  out.commit();
  if (contested) contested->commit();
  if (!out.is_stdout()) print_report(flags, r);
  return 0;
}

}  // namespace quern::cli
