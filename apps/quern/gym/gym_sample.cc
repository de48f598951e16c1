// quern gym sample: problems of a split, or supervised examples, as JSON lines.
#include <functional>
#include <unordered_set>

#include "apps/quern/cli/args.h"
#include "apps/quern/cli/line_file.h"
#include "apps/quern/gym/gym_commands.h"
#include "apps/quern/gym/gym_flags.h"
#include "quern/base/json.h"

namespace quern::cli {
namespace {

struct SampleFlags {
  std::vector<std::string> names;
  std::string format = "problems";
  GymProblemFlags which;
  int64_t count = 1000;

  bool parse(Words args);
  bool trains() const { return format != "problems"; }
};

bool SampleFlags::parse(Words args) {
  Args a("gym sample", "print problems of environments, or training examples, as JSON lines");
  a.rest("NAME", names)
      .settings(which)
      .flag("--count N", count, "number of problems, shared evenly by environments and difficulties")
      .flag("--format NAME", format,
            "line format: problems (question, solution and what the verifier knows), chat (messages, for quern data "
            "build --chat) or text")
      .note("NAME is an environment of quern gym list, or all. No training examples are made of the test split.");
  return a.parse(args);
}

std::string problem_line(const gym::SeededProblem& s, const std::string& split) {
  const gym::Problem& p = s.problem;
  Json j = Json::object();
  j.set("environment", p.kind), j.set("difficulty", p.difficulty), j.set("seed", static_cast<int64_t>(s.seed));
  j.set("split", split), j.set("question", p.question), j.set("steps", p.steps), j.set("answer", p.answer);
  j.set("facts", p.facts);
  return j.dump() + "\n";
}

std::string text_line(const gym::Problem& p) {
  Json j = Json::object();
  j.set("text", gym::plain_form(p)), j.set("kind", p.kind), j.set("level", p.level), j.set("answer", p.answer);
  return j.dump() + "\n";
}

// Those with a worked solution, for training examples.
std::vector<gym::EnvironmentAt> with_solution(const std::vector<gym::EnvironmentAt>& all, const SampleFlags& f) {
  std::vector<gym::EnvironmentAt> out;
  for (const gym::EnvironmentAt& at : all) {
    if (!at.environment->generate(0, at.difficulty).answer.empty()) {
      out.push_back(at);
      continue;
    }
    const std::string what =
        fmt::format("environment '{}' at difficulty {} has no worked solutions: --format problems",
                    at.environment->name, at.difficulty);
    if (!means_all(f.names)) fail("{}", what);
    fmt::print(stderr, "quern: left out: {}\n", what);
  }
  if (out.empty()) fail("no environment has worked solutions at these difficulties");
  return out;
}

}  // namespace

int gym_sample(Words args) {
  SampleFlags f;
  if (!f.parse(args)) return 0;
  if (f.names.empty()) throw UsageError("quern gym sample: NAME is missing: expected an environment, or all");
  if (f.count < 1) throw UsageError(fmt::format("quern gym sample: --count {}: expected 1 or more", f.count));
  if (f.format != "problems" && f.format != "chat" && f.format != "text")
    throw UsageError(fmt::format("quern gym sample: --format '{}': expected problems, chat or text", f.format));
  const DifficultyRange range = read_difficulties("gym sample", f.which.difficulty.value_or("0-4"));
  const gym::SplitChoice choice{parse_split_flag("gym sample", f.which.split), static_cast<uint64_t>(f.which.seed)};
  if (f.trains() && choice.split == gym::ProblemSplit::test)
    throw UsageError(fmt::format(
        "quern gym sample: --format {} makes training examples, and the test split is never trained on: take "
        "--split train, or --format problems",
        f.format));
  std::vector<gym::EnvironmentAt> all =
      with_split(environments_named("gym sample", f.names), range, choice, missing_of(f.names));
  if (f.trains()) all = with_solution(all, f);
  LineFile file("-");
  std::unordered_set<size_t> seen;  // questions
  int64_t repeats = 0;
  for (uint64_t i = 0; i < static_cast<uint64_t>(f.count); ++i) {
    const gym::SeededProblem s = gym::split_problem(all[i % all.size()], choice, i / all.size());
    repeats += !seen.insert(std::hash<std::string>()(s.problem.kind + ' ' + s.problem.question)).second;
    file.write(f.format == "problems" ? problem_line(s, f.which.split)
               : f.format == "chat"   ? gym::chat_line(s.problem)
                                      : text_line(s.problem));
  }
  file.commit();
  if (repeats > 0)
    fmt::print(stderr,
               "quern: {} of {} lines repeat the question of an earlier one: there are too few different problems\n",
               repeats, f.count);
  return 0;
}

}  // namespace quern::cli
