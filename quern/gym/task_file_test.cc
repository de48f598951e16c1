// Task files: what is read, how it is judged, what is refused and where.
#include "quern/gym/task_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "quern/base/error.h"

namespace quern::gym {
namespace {

class TaskFile : public testing::Test {
 protected:
  void write(const std::string& text) { std::ofstream(file_) << text; }
  std::string refusal(const std::string& text) {
    write(text);
    try {
      read_tasks(file_);
      return "accepted";
    } catch (const Error& e) {
      return e.what();
    }
  }
  void TearDown() override { std::filesystem::remove(file_); }
  std::filesystem::path file_ =
      std::filesystem::temp_directory_path() /
      fmt::format("quern_tasks_{}_{}.jsonl", getpid(), testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(TaskFile, IsReadAndJudged) {
  write(
      R"({"question": "What is 3/4 of 8?", "verifier": "math", "answer": 6, "solution": "8 / 4 = 2, 2 * 3 = 6", "id": "a", "split": "held_out"}

{"question": "How far?", "verifier": "number", "answer": "3.5 km", "relative": 0.1}
{"question": "In capitals.", "verifier": "instructions", "instructions": [{"kind": "upper_case"}, {"kind": "no_commas"}]})");
  const std::vector<Task> tasks = read_tasks(file_);
  ASSERT_EQ(tasks.size(), 3u);
  EXPECT_EQ(tasks[0].id, "a");
  EXPECT_EQ(tasks[0].split, data::Split::held_out);
  EXPECT_EQ(tasks[0].problem.kind, "math");
  EXPECT_EQ(tasks[0].problem.answer, "6");
  EXPECT_EQ(tasks[0].problem.steps, "8 / 4 = 2, 2 * 3 = 6");
  EXPECT_EQ(tasks[0].problem.facts, Json::parse(R"({"verifier": "math", "answer": 6})"));
  EXPECT_EQ(tasks[0].verify("Answer: 12/2").reward, 1);
  EXPECT_EQ(tasks[0].verify(plain_form(tasks[0].problem)).reward, 1);
  EXPECT_EQ(tasks[0].verify(tasks[0].problem.question).reward, 0);
  EXPECT_EQ(tasks[1].verify("3600 m").reward, 1);
  EXPECT_EQ(tasks[1].verify("4 km").reward, 0);
  EXPECT_EQ(tasks[1].id, tasks[1].problem.key);
  EXPECT_EQ(tasks[1].problem.key.size(), 16u);
  EXPECT_NE(tasks[1].problem.key, tasks[2].problem.key);
  EXPECT_EQ(tasks[2].verify("YES, NO").reward, 0.5);
}

TEST_F(TaskFile, HoldsOutATenthByTheQuestionAlone) {
  int held_out = 0;
  for (int i = 0; i < 2000; ++i) {
    Json line = Json::object();
    line.set("question", fmt::format("What is {} + 1?", i)), line.set("verifier", "math"), line.set("answer", i + 1);
    const Task t = parse_task(line);
    line.set("verifier", "exact"), line.set("answer", "other");
    EXPECT_EQ(parse_task(line).split, t.split);
    held_out += t.split == data::Split::held_out ? 1 : 0;
  }
  EXPECT_NEAR(held_out, 200, 60);
}

TEST_F(TaskFile, RepliesAreReadByIdOrQuestion) {
  write(R"({"id": "a", "question": "One?", "verifier": "number", "answer": 1}
{"id": "b", "question": "Two?", "verifier": "number", "answer": 2})");
  const std::vector<Task> tasks = read_tasks(file_);
  write(R"({"id": "b", "reply": "2"}

{"question": "One?", "response": "1", "reward": 0}
{"id": "b", "reply": ""})");
  const std::vector<TaskReply> replies = read_replies(file_, tasks);
  ASSERT_EQ(replies.size(), 3u);
  EXPECT_EQ(replies[0].task, 1u);
  EXPECT_EQ(replies[0].text, "2");
  EXPECT_EQ(replies[1].task, 0u);
  EXPECT_EQ(replies[1].text, "1");
  EXPECT_EQ(replies[2].task, 1u);
  EXPECT_EQ(replies[2].sample, 1);
  EXPECT_EQ(tasks[1].verify(replies[2].text).reward, 0);
  for (const auto& [line, what] : std::initializer_list<std::pair<const char*, const char*>>{
           {R"({"id": "c", "reply": "3"})", "field 'id': no task has 'c'"},
           {R"({"question": "Three?", "reply": "3"})", "field 'question': no task has 'Three?'"},
           {R"({"reply": "3"})", "field 'id' is missing"},
           {R"({"id": "a"})", "field 'reply' is missing"},
           {R"({"id": "a", "reply": 3})", "field 'reply': expected a string, found 3"},
           {R"({"id": 1, "reply": "3"})", "field 'id': expected a string"},
           {R"([1])", "expected an object"},
           {R"({"id")", "not valid JSON"}}) {
    write(R"({"id": "a", "reply": "1"})" + std::string("\n") + line + "\n");
    try {
      read_replies(file_, tasks);
      ADD_FAILURE() << line;
    } catch (const Error& e) {
      const std::string error = e.what();
      EXPECT_EQ(error.find(file_.string() + " line 2: "), 0u) << error;
      EXPECT_NE(error.find(what), std::string::npos) << error;
    }
  }
  write("\n");
  EXPECT_THROW(read_replies(file_, tasks), Error);
}

TEST_F(TaskFile, ErrorsNameFileLineAndField) {
  const std::string good = R"({"question": "a", "verifier": "exact", "answer": "b"})", name = file_.string();
  for (const auto& [line, what] :
       {std::pair<const char*, const char*>{R"({"verifier": "exact", "answer": "b"})", "field 'question' is missing"},
        {R"({"question": "", "verifier": "exact", "answer": "b"})", "field 'question': expected a string"},
        {R"({"question": "c", "answer": "b"})", "field 'verifier' is missing"},
        {R"({"question": "c", "verifier": "exakt", "answer": "b"})", "did you mean 'exact'"},
        {R"({"question": "c", "verifier": "exact"})", "field 'answer' is missing"},
        {R"({"question": "c", "verifier": "exact", "answer": "b", "answr": "b"})", "field 'answr' is not known"},
        {R"({"question": "c", "verifier": "exact", "answer": "b", "split": "test"})", "field 'split'"},
        {R"({"question": "c", "verifier": "exact", "answer": "b", "id": 3})", "field 'id'"},
        {R"({"question": "a", "verifier": "exact", "answer": "x"})", "field 'question': that of line 1 again"},
        {R"({"question": "c", "verifier": "math", "answer": "3 +"})", "field 'answer'"},
        {R"(["question"])", "expected an object"},
        {R"({"question": "c")", "not valid JSON"}}) {
    const std::string error = refusal(good + "\n" + line + "\n");
    EXPECT_EQ(error.find(name + " line 2: "), 0u) << error;
    EXPECT_NE(error.find(what), std::string::npos) << error;
  }
  EXPECT_EQ(refusal("\n \n"), name + ": no tasks");
  std::filesystem::remove(file_);
  EXPECT_THROW(read_tasks(file_), Error);
}

}  // namespace
}  // namespace quern::gym
