// quern gym verify: judges one reply by an expectation, such as a line of a task file.
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <iterator>

#include "apps/quern/cli/args.h"
#include "apps/quern/gym/gym_commands.h"
#include "quern/base/json.h"
#include "quern/verify/verifier.h"

namespace quern::cli {
namespace {

// JSON as it is given, or of a file. Fields that only a task file has are left out.
Json expectation_of(const std::string& given) {
  const size_t begin = given.find_first_not_of(" \t\n");
  const bool is_json = begin != given.npos && given[begin] == '{';
  Json e = is_json ? Json::parse(given, "--expect") : Json::read(std::filesystem::path(given));
  for (const char* field : {"question", "solution", "id", "split"}) e.erase(field);
  return e;
}

}  // namespace

int gym_verify(Words args) {
  std::string expect, reply = "-";
  bool json = false;
  Args a("gym verify", "judge a reply by an expectation");
  a.flag("--expect JSON|FILE", expect, "the expectation: a JSON object, or a file that holds one")
      .optional_positional("REPLY", reply)
      .json(json, "reward and reason as one JSON object")
      .note(
          "Without REPLY, or with -, the reply is read from stdin. Verifiers and their fields: "
          "docs/gym/verifiers.md.");
  if (!a.parse(args)) return 0;
  if (expect.empty()) throw UsageError("quern gym verify: --expect JSON|FILE is missing");
  const auto verifier = verify::make_verifier(expectation_of(expect));
  if (reply == "-") reply.assign(std::istreambuf_iterator<char>(std::cin), {});
  const verify::Verdict v = verifier->judge(reply);
  if (json) {
    Json j = Json::object();
    j.set("reward", v.reward), j.set("reason", v.reason);
    fmt::print("{}\n", j.dump());
  } else {
    fmt::print("{:g} {}\n", v.reward, v.reason);
  }
  return 0;
}

}  // namespace quern::cli
