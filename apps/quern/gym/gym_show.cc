// quern gym show: one problem of an environment, and its solution.
#include <cstdio>

#include "apps/quern/cli/args.h"
#include "apps/quern/gym/gym_commands.h"
#include "quern/base/json.h"

namespace quern::cli {

int gym_show(Words args) {
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
  const gym::Problem p = environment_named("gym show", name).generate(static_cast<uint64_t>(seed), difficulty);
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

}  // namespace quern::cli
