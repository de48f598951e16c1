// Scores of replies to tasks, against values worked by hand, and the questions that an evaluation asks.
#include "quern/reason/task_eval.h"

#include <gtest/gtest.h>

#include <set>

#include "quern/base/test_message.h"
#include "quern/reason/eval_log.h"

namespace quern::reason {
namespace {

std::vector<gym::Task> three_tasks() {
  std::vector<gym::Task> out;
  for (const char* line : {R"({"id": "a", "question": "1 + 1?", "verifier": "number", "answer": 2})",
                           R"({"id": "b", "question": "1/2?", "verifier": "math", "answer": "1/2"})",
                           R"({"id": "c", "question": "x + x?", "verifier": "math", "answer": "2x"})"})
    out.push_back(gym::parse_task(Json::parse(line)));
  return out;
}

TEST(TaskScores, AreMeansOverTasks) {
  const auto tasks = three_tasks();
  TaskScores s(tasks);
  for (const double reward : {1.0, 0.0, 0.5, 0.0}) s.add(0, {reward, "r"});
  for (const double reward : {1.0, 1.0}) s.add(1, {reward, "r"});
  EXPECT_EQ(s.unanswered(), 1);
  const TaskScore all = s.all();
  EXPECT_EQ(all.tasks, 2);
  EXPECT_EQ(all.samples, 6);
  EXPECT_EQ(all.fewest, 2);
  EXPECT_DOUBLE_EQ(all.success, (0.25 + 1) / 2);
  EXPECT_DOUBLE_EQ(all.reward, (1.5 / 4 + 1) / 2);
  ASSERT_EQ(all.pass_at.size(), 2u);
  EXPECT_DOUBLE_EQ(all.pass_at.at(1), 0.625);
  EXPECT_DOUBLE_EQ(all.pass_at.at(2), (0.5 + 1) / 2);  // of 4 with 1 right, 3 of 6 pairs hold it
  const auto by = s.by_verifier();
  ASSERT_EQ(by.size(), 2u);
  EXPECT_DOUBLE_EQ(by.at("number").pass_at.at(4), 1);
  EXPECT_DOUBLE_EQ(by.at("math").success, 1);
  const Json j = score_json(all);
  EXPECT_EQ(j.at("pass@2").as_double(), 0.75);
  EXPECT_FALSE(j.find("avg@2"));  // one task has more samples
  const Interval i = wilson_of_share(0.75, 2);
  EXPECT_EQ(j.at("intervals").at("pass@2").as_array()[0].as_double(), i.low);
  EXPECT_EQ(score_json(by.at("number")).at("avg@4").as_double(), 0.25);
  EXPECT_EQ(score_json(TaskScores(tasks).all()).at("tasks").as_int(), 0);
}

TEST(TaskProblems, AsksEachTaskSoOften) {
  const auto tasks = three_tasks();
  TaskProblems problems(tasks, 2);
  std::vector<std::string> asked;
  std::set<uint64_t> seeds;
  while (const auto p = problems.next()) {
    asked.push_back(fmt::format("{} {}", problems.task_of(*p).id, p->sample));
    seeds.insert(p->sampling_seed);
  }
  EXPECT_EQ(asked, (std::vector<std::string>{"a 0", "a 1", "b 0", "b 1", "c 0", "c 1"}));
  EXPECT_EQ(seeds.size(), 6u);
  EXPECT_EQ(problems.judge(tasks[2].problem, "Answer: x + x").reward, 1);
  EXPECT_EQ(problems.judge(tasks[1].problem, "Answer: x + x").reward, 0);
  EXPECT_NE(message_of([&] { TaskProblems(tasks, 0); }).find("expected 1 or more"), std::string::npos);
}

TEST(TaskLog, IsComparedByIdAndSample) {
  const auto tasks = three_tasks();
  AnswerLog first, second;
  for (size_t i = 0; i < 3; ++i) {
    first.add(task_log_line(tasks[i], 0, {i < 2 ? 1.0 : 0.0, "r"}, "x"));
    second.add(task_log_line(tasks[2 - i], 0, {i < 2 ? 1.0 : 0.0, "r"}, "y"));
  }
  const PairedCounts c = compare(first, second);
  EXPECT_EQ(c.both, 1);
  EXPECT_EQ(c.only_first, 1);
  EXPECT_EQ(c.only_second, 1);
}

}  // namespace
}  // namespace quern::reason
