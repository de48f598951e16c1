// quern gym eval: a model on environments of the gym, by environment and difficulty.
#include "quern/reason/gym_eval.h"
#include "apps/quern/cli/args.h"
#include "apps/quern/cli/line_file.h"
#include "apps/quern/cli/progress.h"
#include "apps/quern/cli/shared_flags.h"
#include "apps/quern/cli/wrong_usage.h"
#include "apps/quern/gym/gym_commands.h"
#include "apps/quern/gym/gym_flags.h"
#include "apps/quern/run/eval_model.h"
#include "quern/base/mmap.h"
#include "quern/reason/eval_log.h"
#include "quern/reason/gym_eval_report.h"

namespace quern::cli {
namespace {

struct GymEvalFlags {
  std::string dir, form = "chat", log, against;
  std::vector<std::string> names;
  std::optional<int64_t> count;
  ThinkFlag think{"single"};
  GymProblemFlags which{.split = "dev"};
  reason::GymProblemOptions problems;
  SamplesFlag size;
  HtmlReportFlag report;
  reason::EvaluationOptions o;
  WeightFlags weights{.dtype_default = "auto"};
  LoraFlag adapter = {};
  ContextFlags context = {};
  GivenSettings<infer::GenerateOptions> given;
  std::optional<reason::AnswerLog> earlier;
  bool json = false;

  GymEvalFlags() { o.generate.max_tokens = 384; }
  bool parse(Words args);  // false: it was a call for help
  void resolve();          // checks what was given and completes `o`
  void read_earlier();     // the log of --against, which must be of the same problems
};

bool GymEvalFlags::parse(Words args) {
  Args a("gym eval", "success of a model on environments, by difficulty, with or without test-time compute");
  a.positional("MODEL", dir)
      .rest("NAME", names)
      .settings(which)
      .flag("--calibrate", problems.calibrate,
            "choose difficulties by the answers, and estimate each environment's level")
      .flag("--count N", count,
            "problems per environment and difficulty, or per group of --calibrate [20, or 8 with --calibrate]")
      .settings(size)
      .settings(o)
      .flag("--form NAME", form, "form of the prompt: chat, or text for base models")
      .settings(think)
      .settings(o.generate, given, {{"max_tokens"}, {"temperature", "0 for one sample without a plan, else 1"}})
      .flag("--log FILE", log,
            "write environment, difficulty, seed, reward, reason and response of every sample to FILE "
            "as JSON lines")
      .flag("--against FILE", against,
            "compare with an earlier --log of the same problems: McNemar's exact test of the first samples")
      .settings(report)
      .json(json)
      .note(
          "MODEL is a folder or zaya-nano, NAME an environment of quern gym list; without one, all are asked. "
          "Intervals are Wilson's, at 95 %.");
  weights.add_to(a);
  a.settings(adapter).settings(context);
  if (!a.parse(args)) return false;
  a.check(context);
  check_sampling("gym eval", a, given);
  return true;
}

void GymEvalFlags::resolve() {
  const auto refuse = [](const std::string& what) { throw UsageError("quern gym eval: " + what); };
  problems.samples = size.samples;
  check_model_name(dir);
  if (form != "chat" && form != "text") refuse(fmt::format("--form '{}': expected chat or text", form));
  if (o.sessions < 1) refuse(fmt::format("--max-seqs {}: expected 1 or more", o.sessions));
  if (problems.calibrate && which.difficulty) refuse("give only one of --calibrate and --difficulty");
  if (problems.calibrate && !against.empty())
    refuse("--against needs the same problems, and --calibrate chooses them");
  if (problems.calibrate && problems.samples != 1)
    refuse("--calibrate takes one sample of each problem: leave out --samples");
  problems.count = count.value_or(problems.calibrate ? 8 : 20);
  if (problems.count < 1) refuse(fmt::format("--count {}: expected 1 or more", problems.count));
  if (problems.samples < 1) refuse(fmt::format("--samples {}: expected 1 or more", problems.samples));
  const DifficultyRange range = read_difficulties("gym eval", which.difficulty.value_or("0-4"));
  problems.choice = {parse_split_flag("gym eval", which.split), static_cast<uint64_t>(which.seed)};
  if (problems.calibrate)
    for (const gym::NamedEnvironment* e : environments_to_judge("gym eval", names)) problems.asked.push_back({e, 0});
  else
    problems.asked = with_split(environments_to_judge("gym eval", names), range, problems.choice, missing_of(names));
  o.plain = form == "text";
  o.plan = checked_usage("gym eval", [&] { return reason::parse_plan(*think.plan); });
  o.generate.sampling.temperature = problems.samples > 1 || o.plan.n > 1 || o.plan.t > 0 ? 1 : 0;
  given.overlay(o.generate);
  o.generate.sampling.seed = o.plan.seed = static_cast<uint64_t>(which.seed);
  reason::check(problems);
}

void GymEvalFlags::read_earlier() {
  if (against.empty()) return;
  earlier = reason::AnswerLog::read(against).first_samples();
  reason::AnswerLog planned;
  const auto source = reason::gym_problems(problems);
  while (const auto p = source->next())
    if (p->sample == 0) planned.add(reason::gym_log_line(*p, {}, ""));
  reason::compare(*earlier, planned);  // before hours are spent
}

reason::GymRun evaluate(GymEvalFlags& f) {
  const LoadedModel m =
      load_to_evaluate(f.dir, f.context.with(f.adapter.with(f.weights.load_options())), f.o.generate);
  f.read_earlier();
  std::optional<LineFile> log;
  if (!f.log.empty()) log.emplace(f.log);
  reason::AnswerLog now;
  int64_t asked = 0, right = 0;
  Progress progress;
  const auto problems = reason::gym_problems(f.problems);
  problems->on_answer([&](const reason::GradedAnswer& a) {
    ++asked, right += a.right;
    progress("{} samples, {} right", asked, right);
    const Json line = reason::gym_log_line(a.asked, a.verdict, a.result.best() ? a.result.best()->text : "");
    if (log) log->write(line.dump() + "\n");
    if (f.earlier && a.asked.sample == 0) now.add(line);
  });
  reason::GymRun r{.model = f.dir,
                   .plan = f.o.plan.name(),
                   .split = f.which.split,
                   .seed = f.which.seed,
                   .samples = f.problems.samples,
                   .calibrated = f.problems.calibrate,
                   .cost = reason::evaluate(m.evaluated(), f.o, *problems),
                   .scores = problems->scores(),
                   .pairs = {}};
  tell_few("gym eval", *problems);
  if (log) log->commit();
  if (f.earlier) r.pairs = reason::compare(*f.earlier, now);
  return r;
}

void print_row(const std::string& name, const std::string& difficulty, const reason::DifficultyScore& s) {
  const reason::Interval i = s.interval();
  fmt::print("{:<20} {:>10} {:>9} {:>7.1f} %  [{:5.1f}, {:5.1f}] {:>8.3f}", name, difficulty, s.problems(),
             100 * s.success(), 100 * i.low, 100 * i.high, s.mean_reward());
  if (s.samples > 1) fmt::print(" {:>8.1f} %", 100 * s.pass_at(s.samples));
  fmt::print("\n");
}

void print_scores(const GymEvalFlags& f, const reason::GymRun& r) {
  fmt::print("{:<20} {:>10} {:>9} {:>9}  {:<14} {:>8}", f.o.plan.name(), "difficulty", "problems", "success",
             "95 % interval", "reward");
  if (f.problems.samples > 1) fmt::print(" {:>10}", fmt::format("pass@{}", f.problems.samples));
  fmt::print("\n");
  for (const auto& [name, e] : r.scores)
    for (const auto& [d, s] : e.by_difficulty) print_row(name, std::to_string(d), s);
}

void print_levels(const reason::GymRun& r) {
  fmt::print("{:<20} {:>16} {:>7} {:>7} {:>9}\n", "environment", "level", "slope", "groups", "problems");
  for (const auto& [name, e] : r.scores)
    fmt::print("{:<20} {:>16} {:>7.2f} {:>7} {:>9}\n", name, e.level_text(), e.level->curve().slope,
               e.level->groups(), e.all().problems());
  fmt::print("The level is the difficulty at which half of the problems are solved.\n");
}

}  // namespace

int gym_eval(Words args) {
  GymEvalFlags f;
  if (!f.parse(args)) return 0;
  f.resolve();
  const reason::GymRun r = evaluate(f);
  if (!f.report.file.empty()) write_file(f.report.file, reason::gym_eval_page(r));
  if (f.json) {
    fmt::print("{}\n", reason::gym_eval_json(r).dump(2));
    return 0;
  }
  f.problems.calibrate ? print_levels(r) : print_scores(f, r);
  fmt::print("{} samples in {:.1f} s, {} tokens generated; {} without an answer", r.cost.asked, r.cost.seconds,
             r.cost.new_tokens, r.cost.unfinished - r.cost.refused);
  fmt::print("{}\n", r.cost.refused > 0 ? fmt::format(", {} too long for the model", r.cost.refused) : "");
  if (r.pairs) fmt::print("against {}: {}\n", f.against, r.pairs->text());
  return 0;
}

}  // namespace quern::cli
