// Logs of evaluations, JSON lines with one problem each, and the comparison of two on the same problems: an answer is
// identified by environment, difficulty, seed and sample, by a task's id and sample, or by kind, level and question.
#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "quern/base/json.h"
#include "quern/reason/eval_statistics.h"
#include "quern/reason/evaluation.h"

namespace quern::reason {

std::string question_hash(std::string_view question);  // 16 hexadecimal digits

// One line of a gym's log: environment, difficulty, seed, sample, question_hash, reward, reason, response.
Json gym_log_line(const EvalProblem& asked, const gym::Verdict& verdict, std::string_view response);

class AnswerLog {
 public:
  static AnswerLog read(const std::filesystem::path& file);  // throws Error naming the line and what is wrong with it
  void add(const Json& line, std::string_view where = "evaluation log");
  AnswerLog first_samples() const;  // without further samples of a problem
  size_t size() const { return answers_.size(); }

 private:
  friend PairedCounts compare(const AnswerLog& first, const AnswerLog& second);
  struct Answer {
    bool right = false;
    int64_t sample = 0;
  };
  std::map<std::string, Answer> answers_;  // by what was asked
  std::map<std::string, int64_t> seen_;    // of a question: how often
};

// Throws Error naming a problem that only one of the two has.
PairedCounts compare(const AnswerLog& first, const AnswerLog& second);

}  // namespace quern::reason
