// quern eval: evaluates a model on held-out synthetic problems, by level and kind, with or without test-time compute:
// those of the curriculum, or of environments of the gym; or on the questions of a task file (eval_tasks.h).
#include <unistd.h>

#include "apps/quern/cli/args.h"
#include "apps/quern/cli/shared_flags.h"
#include "apps/quern/cli/verbs.h"
#include "apps/quern/cli/wrong_usage.h"
#include "apps/quern/gym/gym_commands.h"
#include "apps/quern/gym/gym_flags.h"
#include "apps/quern/run/eval_model.h"
#include "apps/quern/run/eval_tasks.h"
#include "apps/quern/train/problem_flags.h"
#include "quern/reason/curriculum_eval.h"
#include "quern/reason/eval_log.h"
#include "quern/reason/gym_eval.h"
#include "quern/reason/interval.h"

namespace quern::cli {
namespace {

std::string share_text(int64_t right, int64_t all) {
  const reason::Interval i = reason::wilson(right, all);
  return fmt::format("{:5.1f} %  [{:4.1f}, {:5.1f}]", 100.0 * static_cast<double>(right) / static_cast<double>(all),
                     100 * i.low, 100 * i.high);
}

Json score_json(const reason::Score& s) {
  const reason::Interval i = reason::wilson(s.right, s.asked);
  Json j = Json::object();
  j.set("asked", s.asked), j.set("right", s.right);
  j.set("accuracy", static_cast<double>(s.right) / static_cast<double>(s.asked));
  j.set("low", i.low), j.set("high", i.high);
  j.set("candidates", s.candidates_right / static_cast<double>(s.asked));
  return j;
}

// What every candidate said, whom it read, and whether it was right.
Json candidates_json(const gym::Problem& p, const reason::ThinkResult& t, const reason::ProblemSource& source) {
  Json list = Json::array();
  for (const reason::Candidate& c : t.candidates) {
    Json j = Json::object(), sources = Json::array();
    for (int64_t s : c.sources) sources.push(s);
    j.set("round", c.round), j.set("index", c.index), j.set("sources", std::move(sources));
    j.set("answer", c.answer), j.set("right", source.judge(p, c.text).reward == 1), j.set("text", c.text);
    list.push(std::move(j));
  }
  return list;
}

struct EvalFlags {
  std::string dir, task = "curriculum", form = "chat", log, against;
  TaskFileFlag file;
  SamplesFlag size;  // of each task of it
  ThinkFlag think{"single"};
  ProblemFlags which;
  reason::CurriculumEvalOptions o;
  reason::GymProblemOptions gym;  // of --task gym
  WeightFlags weights{.dtype_default = "auto"};
  LoraFlag adapter = {};
  ContextFlags context = {};
  GivenSettings<infer::GenerateOptions> given;
  GivenSettings<ProblemFlags> given_which;
  GivenSettings<reason::CurriculumEvalOptions> given_size;
  bool json = false;

  EvalFlags() { o.generate.max_tokens = 384; }
  bool parse(Words args);  // false: it was a call for help
  void resolve();          // checks what was given and completes `o` and `gym`
  void resolve_gym();
  TaskEval task_eval() const;  // of --tasks
  bool asks_gym() const { return task == "gym" || task.starts_with("gym:"); }
  std::unique_ptr<reason::ProblemSource> problems() const;
  int64_t all() const;                                        // how many problems
  bool many() const { return o.plan.n > 1 || o.plan.t > 0; }  // candidates of a problem
};

bool EvalFlags::parse(Words args) {
  Args a("eval", "accuracy on held-out synthetic problems, with or without test-time compute");
  a.positional("DIR", dir)
      .flag(
          "--task NAME", task,
          "problem set: curriculum, the synthetic problems of quern data curriculum; gym, all environments of quern "
          "gym list; or gym:NAME,NAME, some of them")
      .settings(file)
      .settings(size)
      .settings(which, given_which)
      .settings(o, given_size)
      .flag("--form NAME", form, "prompt form: chat, or text for base models, which continue the question")
      .settings(think)
      .settings(o.generate, given, {{"max_tokens"}, {"temperature", "0 for single, else 1"}})
      .flag("--log FILE", log,
            "write question, response and result of every problem to FILE as JSON lines; with a plan, every "
            "candidate too")
      .flag("--against FILE", against,
            "compare with an earlier --log of the same problems: counts of problems, and McNemar's exact test")
      .json(json)
      .note(
          "In the gym, level L is difficulty L - 1, --split heldout is its test split, and --count is shared by the "
          "environments. quern gym eval takes any difficulty and several samples of a problem. "
          "--tasks asks the questions of a file instead: all rows, unless --split picks some. There --count N "
          "takes the first N, and --samples K asks each K times.");
  weights.add_to(a);
  a.settings(adapter).settings(context);
  if (!a.parse(args)) return false;
  a.check(context);
  check_sampling("eval", a, given);
  given_which.overlay(which), given_size.overlay(o);
  return true;
}

void EvalFlags::resolve() {
  check_model_name(dir);
  if (!file.tasks.empty())
    for (const auto& [flag, given_too] : {std::pair("--level", given_which.has("level")),
                                          {"--kind", given_which.has("kind")},
                                          {"--task", task != "curriculum"}})
      if (given_too) throw UsageError(fmt::format("quern eval: {} does not go with --tasks", flag));
  if (size.samples != 1 && file.tasks.empty())
    throw UsageError("quern eval: --samples goes with --tasks; quern gym eval takes several samples too");
  if (size.samples < 1) throw UsageError(fmt::format("quern eval: --samples {}: expected 1 or more", size.samples));
  if (o.count < 1) throw UsageError(fmt::format("quern eval: --count {}: expected 1 or more", o.count));
  if (task != "curriculum" && !asks_gym())
    throw UsageError(fmt::format("quern eval: --task '{}': expected curriculum, gym or gym:NAME,NAME", task));
  if (form != "chat" && form != "text")
    throw UsageError(fmt::format("quern eval: --form '{}': expected chat or text", form));
  if (!asks_gym() && which.split != "train" && which.split != "heldout")
    throw UsageError(fmt::format("quern eval: --split '{}': expected heldout or train", which.split));
  if (o.sessions < 1) throw UsageError(fmt::format("quern eval: --max-seqs {}: expected 1 or more", o.sessions));
  o.problems.split = which.split == "train" ? data::Split::train : data::Split::held_out;
  o.problems.kinds = which.kinds, o.problems.seed = static_cast<uint64_t>(which.seed);
  checked_usage("eval", [&] { gym::read_levels(which.level, o.problems); });
  o.plain = form == "text";
  o.plan = checked_usage("eval", [&] { return reason::parse_plan(*think.plan); });
  o.generate.sampling.temperature = many() || size.samples > 1 ? 1 : 0;
  given.overlay(o.generate);
  o.generate.sampling.seed = o.plan.seed = static_cast<uint64_t>(which.seed);
  if (asks_gym()) resolve_gym();
}

void EvalFlags::resolve_gym() {
  if (!which.kinds.empty())
    throw UsageError("quern eval: --kind is of the curriculum: name environments by --task gym:NAME");
  std::vector<std::string> names;
  if (task != "gym") {
    names.emplace_back();
    for (char c : task.substr(4))
      if (c == ',')
        names.emplace_back();
      else if (c != ' ')
        names.back() += c;
  }
  const DifficultyRange range{o.problems.min_level - 1, o.problems.max_level - 1};
  gym.choice = {parse_split_flag("eval", which.split == "heldout" ? "test" : which.split), o.problems.seed};
  const Environments chosen = environments_to_judge("eval", names);
  gym.asked = with_split(chosen, range, gym.choice, missing_of(names));
  const auto environments = static_cast<int64_t>(chosen.size());
  gym.count = (o.count + environments - 1) / environments;
}

TaskEval EvalFlags::task_eval() const {
  return {.model = dir,
          .file = file.tasks,
          .split = given_which.has("split") ? which.split : "all",
          .log = log,
          .against = against,
          .count = given_size.has("count") ? o.count : 0,
          .samples = size.samples,
          .json = json,
          .options = o};
}

std::unique_ptr<reason::ProblemSource> EvalFlags::problems() const {
  if (asks_gym()) return reason::gym_problems(gym);
  return reason::curriculum_problems(o);
}

int64_t EvalFlags::all() const {
  if (asks_gym()) return gym.count * static_cast<int64_t>(gym.asked.size());
  return o.count * (o.problems.max_level - o.problems.min_level + 1);
}

Json problem_json(const gym::Problem& p, const reason::ThinkResult& t, bool right) {
  Json j = Json::object();
  j.set("question", p.question), j.set("answer", p.answer), j.set("level", p.difficulty + 1);
  j.set("kind", p.kind);
  j.set("response", t.best() ? t.best()->text : std::string()), j.set("right", right);
  j.set("agreement", t.agreement);
  return j;
}

struct EvalResult {
  reason::CurriculumScores scores;
  std::optional<reason::PairedCounts> pairs;
};

EvalResult evaluate(EvalFlags& f) {
  const LoadedModel m =
      load_to_evaluate(f.dir, f.context.with(f.adapter.with(f.weights.load_options())), f.o.generate);
  std::optional<reason::AnswerLog> earlier;
  if (!f.against.empty()) earlier = reason::AnswerLog::read(f.against);
  std::FILE* log = f.log.empty() ? nullptr : std::fopen(f.log.c_str(), "wb");
  if (!f.log.empty() && !log) fail("cannot write {}", f.log);
  const bool live = !f.json && isatty(STDERR_FILENO) != 0;
  int64_t asked = 0, rights = 0;
  reason::AnswerLog now;
  const std::unique_ptr<reason::ProblemSource> problems = f.problems();
  EvalResult r;
  const auto* of_gym = dynamic_cast<const reason::GymProblems*>(problems.get());
  r.scores = reason::evaluate_levels(m.evaluated(), f.o, *problems, [&](const reason::GradedAnswer& a) {
    ++asked, rights += a.right;
    if (live) fmt::print(stderr, "\r{} of {} problems, {} right ", asked, f.all(), rights);
    if (!log && !earlier) return;
    Json j = problem_json(a.problem, a.result, a.right);
    if (earlier) now.add(j);
    if (!log) return;
    if (f.many()) j.set("candidates", candidates_json(a.problem, a.result, *problems));
    fmt::print(log, "{}\n", j.dump());
  });
  if (live) fmt::print(stderr, "\n");
  if (of_gym) tell_few("eval", *of_gym);
  if (log && std::fclose(log) != 0) fail("cannot write {}", f.log);
  if (earlier) r.pairs = reason::compare(*earlier, now);
  return r;
}

Json scores_json(const EvalFlags& f, const EvalResult& r) {
  const reason::CurriculumScores& s = r.scores;
  Json j = Json::object(), levels = Json::object(), by_kind = Json::object();
  for (const auto& [l, score] : s.by_level) levels.set(std::to_string(l), score_json(score));
  for (const auto& [k, score] : s.by_kind) by_kind.set(k, score_json(score));
  j.set("task", f.task), j.set("think", f.o.plan.name()), j.set("all", score_json(s.all)), j.set("levels", levels);
  j.set("kinds", by_kind), j.set("new_tokens", s.new_tokens), j.set("prompt_tokens", s.prompt_tokens);
  j.set("unfinished", s.unfinished), j.set("seconds", s.seconds);
  if (r.pairs) j.set("against", r.pairs->json());
  return j;
}

void print_row(const std::string& name, size_t width, const reason::Score& s, bool many) {
  fmt::print("{:<{}} {:6} {}", name, width, s.asked, share_text(s.right, s.asked));
  if (many) fmt::print("  {:5.1f} %", 100 * s.candidates_right / static_cast<double>(s.asked));
  fmt::print("\n");
}

void print_scores(const EvalFlags& f, const EvalResult& r) {
  const reason::CurriculumScores& s = r.scores;
  size_t width = std::max<size_t>(12, f.o.plan.name().size());
  for (const auto& [k, score] : s.by_kind) width = std::max(width, k.size());
  fmt::print("{:<{}} {:>6} {:>7}  {:<14}{}\n", f.o.plan.name(), width, "asked", "right", "95 % interval",
             f.many() ? "  per candidate" : "");
  for (const auto& [l, score] : s.by_level) print_row(fmt::format("level {}", l), width, score, f.many());
  for (const auto& [k, score] : s.by_kind) print_row(k, width, score, f.many());
  print_row("all", width, s.all, f.many());
  fmt::print("{} tokens generated in {:.1f} s, {:.0f} per problem; {} problems without an answer\n", s.new_tokens,
             s.seconds, static_cast<double>(s.new_tokens) / static_cast<double>(s.all.asked), s.unfinished);
  if (r.pairs) fmt::print("against {}: {}\n", f.against, r.pairs->text());
}

}  // namespace

int cmd_eval(Words args) {
  EvalFlags flags;
  if (!flags.parse(args)) return 0;
  flags.resolve();
  if (!flags.file.tasks.empty())
    return eval_tasks(flags.task_eval(), flags.context.with(flags.adapter.with(flags.weights.load_options())));
  const EvalResult r = evaluate(flags);
  if (flags.json)
    fmt::print("{}\n", scores_json(flags, r).dump(2));
  else
    print_scores(flags, r);
  return 0;
}

}  // namespace quern::cli
