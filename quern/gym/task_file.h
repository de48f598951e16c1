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

// Replies to tasks, JSON lines {"id": …, "reply": …}; a task may have several, or none. Instead of the id a line may give
// the "question", and "response" for the reply, as logs of evaluations do.
struct TaskReply {
  size_t task = 0;     // index
  int64_t sample = 0;  // how many replies to the task stand before
  std::string text = {};
};
std::vector<TaskReply> read_replies(const std::filesystem::path& f, const std::vector<Task>& tasks);  // as read_tasks

}  // namespace quern::gym
