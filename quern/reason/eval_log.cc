#include "quern/reason/eval_log.h"

#include <sstream>

#include "quern/base/error.h"
#include "quern/base/mmap.h"
#include "quern/base/rng.h"

namespace quern::reason {
namespace {

std::string identity(const Json& line, std::string_view where) {
  if (line.find("environment"))
    return fmt::format(
        "{}, difficulty {}, seed {}, sample {}, question {}", line.at("environment", where).as_string("environment"),
        line.at("difficulty", where).as_int("difficulty"), line.at("seed", where).as_int("seed"),
        line.at("sample", where).as_int("sample"), line.at("question_hash", where).as_string("question_hash"));
  if (line.find("id"))
    return fmt::format("task {}, sample {}, '{}'", line.at("id", where).as_string("id"),
                       line.at("sample", where).as_int("sample"), line.at("question", where).as_string("question"));
  return fmt::format("{}, level {}, '{}'", line.at("kind", where).as_string("kind"),
                     line.at("level", where).as_int("level"), line.at("question", where).as_string("question"));
}

bool is_right(const Json& line, std::string_view where) {
  if (const Json* reward = line.find("reward")) return reward->as_double("reward") == 1;
  return line.at("right", where).as_bool("right");
}

}  // namespace

std::string question_hash(std::string_view question) {
  uint64_t h = 0x9b1a7;
  for (unsigned char c : question) h = mix64(h * 31 + c + 1);
  return fmt::format("{:016x}", h);
}

Json gym_log_line(const EvalProblem& asked, const gym::Verdict& verdict, std::string_view response) {
  Json j = Json::object();
  j.set("environment", asked.problem.kind), j.set("difficulty", asked.problem.difficulty);
  j.set("seed", static_cast<int64_t>(asked.seed)), j.set("sample", asked.sample);
  j.set("question_hash", question_hash(asked.problem.question));
  j.set("reward", verdict.reward), j.set("reason", verdict.reason), j.set("response", response);
  return j;
}

void AnswerLog::add(const Json& line, std::string_view where) {
  const std::string id = identity(line, where);
  const Json* sample = line.find("sample");
  // A problem that was asked twice is in the log twice, in any order.
  answers_.emplace(fmt::format("{}, {}", id, seen_[id]++),
                   Answer{is_right(line, where), sample ? sample->as_int("sample") : 0});
}

AnswerLog AnswerLog::first_samples() const {
  AnswerLog out;
  for (const auto& [id, answer] : answers_)
    if (answer.sample == 0) out.answers_.emplace(id, answer);
  return out;
}

AnswerLog AnswerLog::read(const std::filesystem::path& file) {
  AnswerLog log;
  std::istringstream lines(read_file(file));
  int64_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    const std::string where = fmt::format("{}:{}", file.string(), ++number);
    if (line.empty()) continue;
    try {
      log.add(Json::parse(line, where), where);
    } catch (const Error& e) {
      const std::string_view what = e.what();
      fail("{}{}: expected a line of an evaluation's log", what.starts_with(where) ? "" : where + ": ", what);
    }
  }
  if (log.answers_.empty()) fail("{}: no answers, expected a log of an evaluation", file.string());
  return log;
}

PairedCounts compare(const AnswerLog& first, const AnswerLog& second) {
  for (const auto& [a, b] : {std::pair(&first, &second), std::pair(&second, &first)})
    for (const auto& [id, answer] : a->answers_)
      if (!b->answers_.contains(id))
        fail("the log is of other problems: only {} has {}", a == &first ? "the log" : "this evaluation", id);
  PairedCounts counts;
  for (const auto& [id, answer] : first.answers_) {
    const bool again = second.answers_.at(id).right;
    ++(answer.right && again ? counts.both
       : answer.right        ? counts.only_first
       : again               ? counts.only_second
                             : counts.neither);
  }
  return counts;
}

}  // namespace quern::reason
