// quern gym list | show: the environments of this build, and one of their problems.
#include <cstdio>

#include "apps/quern/cli/args.h"
#include "apps/quern/cli/menu.h"
#include "apps/quern/gym/gym_commands.h"
#include "quern/base/json.h"
#include "quern/gym/environment_registry.h"

namespace quern::cli {
namespace {

using gym::NamedEnvironment;

int list(Words args) {
  bool json = false;
  Args a("gym list", "list the environments of this build");
  a.flag("--json", json, "print one JSON array")
      .note("docs/gym/adding-an-environment.md shows how to add an environment.");
  if (!a.parse(args)) return 0;
  Json all = Json::array();
  for (const NamedEnvironment& e : gym::plugin_environments().environments()) {
    const std::optional<int64_t> top = e.environment->saturates_at();
    if (!json) {
      fmt::print("{:<16} {}{}\n", e.name, e.summary,
                 top ? fmt::format(" (as hard from difficulty {} on)", *top) : "");
      continue;
    }
    Json j = Json::object();
    j.set("name", e.name), j.set("summary", e.summary);
    j.set("saturates_at", top ? Json(*top) : Json());
    all.push(std::move(j));
  }
  if (json) fmt::print("{}\n", all.dump());
  return 0;
}

int show(Words args) {
  std::string name;
  int64_t difficulty = 0, seed = 0;
  bool json = false;
  Args a("gym show", "print a problem of an environment, and its solution");
  a.positional("NAME", name)
      .flag("--difficulty D", difficulty, "difficulty of the problem, 0 or more")
      .flag("--seed N", seed, "random seed of the problem")
      .flag("--json", json, "print one JSON object, with what the verifier knows")
      .note("Names: quern gym list. The same name, difficulty and seed give the same problem.");
  if (!a.parse(args)) return 0;
  if (difficulty < 0 || difficulty > gym::kMaxDifficulty)
    throw UsageError(
        fmt::format("quern gym show: --difficulty {}: expected 0 to {}", difficulty, gym::kMaxDifficulty));
  const gym::Problem p = gym::plugin_environments().find(name).generate(static_cast<uint64_t>(seed), difficulty);
  if (json) {
    Json j = Json::object();
    j.set("environment", p.kind), j.set("difficulty", p.difficulty), j.set("seed", seed);
    j.set("question", p.question), j.set("steps", p.steps), j.set("answer", p.answer), j.set("facts", p.facts);
    fmt::print("{}\n", j.dump());
  } else if (p.answer.empty()) {
    fmt::print("Question: {}\n", p.question);
  } else {
    fmt::print("{}", gym::plain_form(p));
  }
  return 0;
}

constexpr MenuItem kItems[] = {
    {"list", "[--json]", "list the environments of this build", list},
    {"show", "NAME [--difficulty D] [--seed N]", "print a problem of an environment, and its solution", show},
    {"verify", "--expect JSON|FILE [REPLY]", "judge a reply by an expectation", gym_verify},
};

}  // namespace

int cmd_gym(Words args) { return choose("gym", "environments that pose problems and verify answers", kItems, args); }

}  // namespace quern::cli
