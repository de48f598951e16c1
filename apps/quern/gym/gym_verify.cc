// quern gym verify: judges a reply to a problem of an environment, a reply by an expectation, or the replies to a file of
// tasks.
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <iterator>

#include "apps/quern/cli/args.h"
#include "apps/quern/gym/gym_commands.h"
#include "apps/quern/gym/gym_flags.h"
#include "apps/quern/gym/task_results.h"
#include "quern/base/json.h"
#include "quern/verify/verifier.h"

namespace quern::cli {
namespace {

struct VerifyFlags {
  std::string first = "-", second = "-";  // NAME and REPLY; with --expect the first is the reply
  std::string expect, replies;
  TaskFileFlag file;
  std::optional<int64_t> difficulty, seed;
  bool json = false;

  bool parse(Words args);
  void check() const;
};

[[noreturn]] void refuse(const std::string& what) { throw UsageError("quern gym verify: " + what); }

bool VerifyFlags::parse(Words args) {
  Args a("gym verify", "judge a reply to a problem or by an expectation, or replies to a task file");
  a.optional_positional("NAME", first)
      .optional_positional("REPLY", second)
      .flag("--difficulty D", difficulty, "difficulty of the problem of environment NAME [0]")
      .flag("--seed N", seed, "random seed of the problem of environment NAME [0]")
      .flag("--expect JSON|FILE", expect, "the expectation: a JSON object, or a file that holds one")
      .settings(file)
      .flag("--replies FILE", replies,
            "replies to the tasks: JSON lines of id and reply, or a log of quern eval --tasks")
      .json(json, "rewards and reasons as one JSON object")
      .note(
          "NAME is an environment of quern gym list, REPLY a reply to its problem of that difficulty and seed. With "
          "--expect, give REPLY alone. Without REPLY, or with -, the reply is read from stdin. After -- a reply may "
          "begin with a dash. Verifiers, their fields and task files: docs/gym/verifiers.md.");
  if (!a.parse(args)) return false;
  check();
  return true;
}

void VerifyFlags::check() const {
  if (!expect.empty() && !file.tasks.empty()) refuse("give only one of --expect and --tasks");
  if (file.tasks.empty() != replies.empty()) refuse("--tasks FILE and --replies FILE go together");
  const bool by_name = expect.empty() && file.tasks.empty();
  if (by_name && first == "-")
    refuse("give NAME REPLY, an environment and a reply to its problem, or --expect JSON|FILE, or --tasks FILE");
  if (!by_name && (difficulty || seed)) refuse("--difficulty and --seed are of the problem of an environment");
  const std::string& surplus = expect.empty() ? first : second;
  if (!by_name && surplus != "-")
    refuse(fmt::format(
        "unexpected '{}': {}", surplus,
        expect.empty() ? "replies are in the file of --replies" : "put a reply of several words in quotes"));
  if (difficulty && (*difficulty < 0 || *difficulty > gym::kMaxDifficulty))
    refuse(fmt::format("--difficulty {}: expected 0 to {}", *difficulty, gym::kMaxDifficulty));
}

// JSON as it is given, or of a file. Fields that only a task file has are left out.
Json expectation_of(const std::string& given) {
  const size_t begin = given.find_first_not_of(" \t\n");
  const bool is_json = begin != given.npos && given[begin] == '{';
  Json e = is_json ? Json::parse(given, "--expect") : Json::read(std::filesystem::path(given));
  for (const char* field : {"question", "solution", "id", "split"}) e.erase(field);
  return e;
}

std::string reply_of(const std::string& word) {
  if (word != "-") return word;
  return {std::istreambuf_iterator<char>(std::cin), {}};
}

void print_verdict(const verify::Verdict& v, bool json, Json about = Json::object()) {
  if (!json) {
    fmt::print("{:g} {}\n", v.reward, v.reason);
    return;
  }
  about.set("reward", v.reward), about.set("reason", v.reason);
  fmt::print("{}\n", about.dump());
}

void judge_by_expectation(const VerifyFlags& f) {
  const auto verifier = verify::make_verifier(expectation_of(f.expect));
  print_verdict(verifier->judge(reply_of(f.first)), f.json);
}

const gym::NamedEnvironment& judging_environment(const VerifyFlags& f) {
  try {
    environment_named("gym verify", f.first);  // not "all"
    return *environments_to_judge("gym verify", {f.first}).at(0);
  } catch (const UsageError& e) {
    if (f.second != "-") throw;
    throw UsageError(fmt::format("{}; a reply alone needs --expect JSON|FILE", e.what()));
  }
}

void judge_by_environment(const VerifyFlags& f) {
  const gym::NamedEnvironment& e = judging_environment(f);
  const gym::Problem p = e.generate(static_cast<uint64_t>(f.seed.value_or(0)), f.difficulty.value_or(0));
  Json about = Json::object();
  about.set("environment", e.name), about.set("difficulty", p.difficulty), about.set("seed", f.seed.value_or(0));
  about.set("question", p.question);
  print_verdict(e.verify(p, reply_of(f.second)), f.json, std::move(about));
}

Json reply_json(const gym::Task& task, const gym::TaskReply& r, const verify::Verdict& v) {
  Json j = Json::object();
  j.set("id", task.id), j.set("sample", r.sample), j.set("reward", v.reward), j.set("reason", v.reason);
  return j;
}

void judge_tasks(const VerifyFlags& f) {
  const std::vector<gym::Task> tasks = gym::read_tasks(f.file.tasks);
  reason::TaskScores scores(tasks);
  Json results = Json::array();
  size_t width = 4;
  for (const gym::Task& t : tasks) width = std::max(width, t.id.size());
  const std::vector<gym::TaskReply> replies = gym::read_replies(f.replies, tasks);
  if (!f.json) fmt::print("{:<{}} {:>6} {:>6}  reason\n", "task", width, "sample", "reward");
  for (const gym::TaskReply& r : replies) {
    const gym::Task& task = tasks[r.task];
    const verify::Verdict v = task.verify(r.text);
    scores.add(r.task, v);
    if (f.json)
      results.push(reply_json(task, r, v));
    else
      fmt::print("{:<{}} {:>6} {:>6.3g}  {}\n", task.id, width, r.sample, v.reward, v.reason);
  }
  if (!f.json) {
    fmt::print("\n");
    return print_task_scores(scores);
  }
  Json j = task_scores_json(scores);
  j.set("results", std::move(results));
  fmt::print("{}\n", j.dump(2));
}

}  // namespace

int gym_verify(Words args) {
  VerifyFlags f;
  if (!f.parse(args)) return 0;
  if (!f.file.tasks.empty())
    judge_tasks(f);
  else if (!f.expect.empty())
    judge_by_expectation(f);
  else
    judge_by_environment(f);
  return 0;
}

}  // namespace quern::cli
