// Task files: questions with their expectations as JSON lines, {"question": …, "verifier": …, …}, judged by quern/verify.
// Optional fields: "id", "split" ("train" or "held_out"; without it a tenth is held out, by a hash of the question) and
// "solution", a worked one. Every other field belongs to the verifier. docs/gym/verifiers.md describes them.
#pragma once
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "quern/data/curriculum.h"
#include "quern/gym/environment.h"
#include "quern/verify/verifier.h"

namespace quern::gym {

struct Task {
  Problem problem;  // kind: the verifier; key: a hash of the question; facts: the expectation
  std::string id;   // the key where none is given
  data::Split split = data::Split::train;
  std::shared_ptr<const verify::Verifier> verifier;

  Verdict verify(std::string_view reply) const { return verifier->judge(reply); }
};

Task parse_task(const Json& line);                             // throws Error naming the field
std::vector<Task> read_tasks(const std::filesystem::path& f);  // throws Error naming file, line and field

}  // namespace quern::gym
