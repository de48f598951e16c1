// quern gym solutions: rejection sampling. A model answers problems, and its right answers become training chats.
#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <tuple>

#include "apps/quern/cli/args.h"
#include "apps/quern/cli/line_file.h"
#include "apps/quern/cli/progress.h"
#include "apps/quern/cli/shared_flags.h"
#include "apps/quern/cli/wrong_usage.h"
#include "apps/quern/gym/gym_commands.h"
#include "apps/quern/gym/gym_flags.h"
#include "apps/quern/run/eval_model.h"
#include "quern/base/rng.h"
#include "quern/reason/draw.h"

namespace quern::cli {
namespace {

struct SolutionFlags {
  std::string dir, out;
  std::vector<std::string> names;
  int64_t keep = 1;
  double all_right = 1;
  GymProblemFlags which;
  reason::GymProblemOptions problems;
  reason::EvaluationOptions o;
  WeightFlags weights{.dtype_default = "auto"};
  LoraFlag adapter = {};
  GivenSettings<infer::GenerateOptions> given;

  SolutionFlags() {
    o.generate.max_tokens = 384, o.generate.sampling.temperature = 1;
    problems.samples = 8;
  }
  bool parse(Words args);  // false: it was a call for help
  void resolve();          // checks what was given and completes `o`
};

bool SolutionFlags::parse(Words args) {
  Args a("gym solutions", "build training chats of a model's own right answers (rejection sampling)");
  a.positional("MODEL", dir)
      .rest("NAME", names)
      .flag("--out FILE", out, "output file of right answers as chats, JSON lines; - is stdout")
      .settings(which)
      .flag("--count N", problems.count, "number of problems per environment and difficulty")
      .flag("--samples K", problems.samples, "answers sampled to each problem")
      .flag("--keep N", keep, "maximum number of different right answers kept of a problem, drawn at random")
      .flag("--keep-solved P", all_right, "probability of keeping a problem whose answers are all right")
      .settings(o)
      .settings(o.generate, given, {{"max_tokens"}, {"temperature", "1"}})
      .note(
          "MODEL is a folder or zaya-nano, NAME an environment of quern gym list; without one, all are asked. "
          "Problems without a right answer are left out. No training examples are made of the test split.");
  weights.add_to(a);
  a.settings(adapter);
  if (!a.parse(args)) return false;
  check_sampling("gym solutions", a, given);
  a.check(o);
  return true;
}

void SolutionFlags::resolve() {
  const auto refuse = [](const std::string& what) { throw UsageError("quern gym solutions: " + what); };
  if (out.empty()) refuse("--out is missing: expected a file, or - for stdout");
  if (keep < 1) refuse(fmt::format("--keep {}: expected 1 or more", keep));
  if (!(all_right >= 0 && all_right <= 1)) refuse(fmt::format("--keep-solved {}: expected 0 to 1", all_right));
  check_model_name(dir);
  const DifficultyRange range = read_difficulties("gym solutions", which.difficulty.value_or("0-4"));
  problems.choice = {parse_split_flag("gym solutions", which.split), static_cast<uint64_t>(which.seed)};
  if (problems.choice.split == gym::ProblemSplit::test)
    refuse("training examples are made here, and the test split is never trained on: take --split train");
  problems.asked =
      with_split(environments_to_judge("gym solutions", names), range, problems.choice, missing_of(names));
  given.overlay(o.generate);
  o.generate.sampling.seed = o.plan.seed = static_cast<uint64_t>(which.seed);
  checked_usage("gym solutions", [&] { reason::check(problems); });
}

// Answers of one problem until the last of them has come.
struct Answers {
  int64_t came = 0, right = 0;
  std::set<std::string> texts = {};  // of right ones
};

struct SolutionReport {
  int64_t problems = 0, answers = 0, right = 0;
  int64_t all_right = 0, mixed = 0, none_right = 0;  // problems
  int64_t examples = 0;
};

SolutionReport sample(SolutionFlags& f, LineFile& out) {
  const LoadedModel m = load_to_evaluate(f.dir, f.adapter.with(f.weights.load_options()), f.o.generate);
  const auto problems = reason::gym_problems(f.problems);
  std::map<std::tuple<std::string, int64_t, int64_t>, Answers> running;
  SolutionReport r;
  Progress progress;
  problems->on_answer([&](const reason::GradedAnswer& a) {
    const auto at = running.try_emplace({a.problem.kind, a.problem.difficulty, a.asked.index}).first;
    Answers& of = at->second;
    ++of.came, ++r.answers, of.right += a.right, r.right += a.right;
    if (a.right && a.result.best()) of.texts.insert(a.result.best()->text);
    progress("{} answers, {} right, {} examples", r.answers, r.right, r.examples);
    if (of.came < f.problems.samples) return;
    ++r.problems, ++(of.right == of.came ? r.all_right : of.right > 0 ? r.mixed : r.none_right);
    Rng draws(mix64(f.problems.choice.seed ^ 0x501u), a.asked.seed);
    if (of.right < of.came || draws.uniform() < f.all_right)
      for (const int64_t i : reason::draw(draws, std::ssize(of.texts), std::min(f.keep, std::ssize(of.texts))))
        out.write(gym::chat_line_of_reply(a.problem, *std::next(of.texts.begin(), i))), ++r.examples;
    running.erase(at);
  });
  reason::evaluate(m.evaluated(), f.o, *problems);
  tell_few("gym solutions", *problems);
  return r;
}

}  // namespace

int gym_solutions(Words args) {
  SolutionFlags f;
  if (!f.parse(args)) return 0;
  f.resolve();
  LineFile out(f.out);
  const SolutionReport r = sample(f, out);
  if (r.examples == 0)
    fail(
        "none of {} answers became an example: take easier problems (--difficulty), more --samples, or a larger "
        "--keep-solved",
        r.answers);
  out.commit();
  fmt::print(
      out.is_stdout() ? stderr : stdout,
      "{}: {} examples of {} problems; {:.1f} % of {} answers right; problems: {} all right, {} mixed, {} none "
      "right\n",
      f.out, r.examples, r.problems, 100.0 * static_cast<double>(r.right) / static_cast<double>(r.answers), r.answers,
      r.all_right, r.mixed, r.none_right);
  return 0;
}

}  // namespace quern::cli
