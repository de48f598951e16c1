// quern eval and quern gym eval from outside, with the model that ships: the problems that are asked, scores, samples,
// comparison with an earlier log, and the report.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "quern/base/json.h"
#include "quern/base/mmap.h"
#include "tests/cli/shell.h"

namespace quern {
namespace {

std::vector<Json> log_lines(const std::string& file) {
  std::vector<Json> out;
  std::istringstream lines(read_file(file));
  for (std::string line; std::getline(lines, line);) out.push_back(Json::parse(line));
  return out;
}

// curriculum_questions.jsonl: what was asked before the gym had splits. Reported figures are of these problems.
TEST(CliEval, AsksTheProblemsItAlwaysAsked) {
  const ScratchFolder tmp;
  const Ran r = shell("quern eval zaya-nano --level 3-5 --split heldout --seed 7 --count 12 --max-tokens 4 --log " +
                      (tmp / "log"));
  ASSERT_EQ(r.code, 0) << r.err;
  std::multiset<std::string> asked, golden;
  for (const Json& j : log_lines(tmp / "log")) {
    Json same = Json::object();
    for (const char* key : {"question", "answer", "level", "kind"}) same.set(key, j.at(key));
    asked.insert(same.dump());
  }
  std::istringstream lines(read_file(QUERN_SOURCE_DIR "/tests/cli/curriculum_questions.jsonl"));
  for (std::string line; std::getline(lines, line);) golden.insert(line);
  EXPECT_EQ(golden.size(), 36u);
  EXPECT_EQ(asked, golden);
}

TEST(CliEval, AsksEnvironmentsAndComparesLogs) {
  const ScratchFolder tmp;
  const std::string command = "quern eval zaya-nano --task gym:nim,lists --level 1-2 --count 6 --seed 3 --json";
  const Ran r = shell(command + " --log " + (tmp / "log"));
  ASSERT_EQ(r.code, 0) << r.err;
  const Json j = Json::parse(r.out);
  EXPECT_EQ(j.at("all").at("asked").as_int(), 12);
  EXPECT_EQ(j.at("kinds").at("nim").at("asked").as_int(), 6);
  EXPECT_EQ(j.at("levels").at("2").at("asked").as_int(), 6);
  const Ran again = shell(command + " --against " + (tmp / "log"));
  ASSERT_EQ(again.code, 0) << again.err;
  const Json pairs = Json::parse(again.out).at("against");
  EXPECT_EQ(pairs.at("both").as_int() + pairs.at("neither").as_int(), 12);
  EXPECT_EQ(pairs.at("mcnemar_p").as_double(), 1);
  const Ran other = shell("quern eval zaya-nano --level 1 --count 3 --against " + (tmp / "log"));
  EXPECT_EQ(other.code, 1);
  EXPECT_NE(other.err.find("the log is of other problems"), std::string::npos) << other.err;
  EXPECT_NE(shell("quern eval zaya-nano --task gym:nim --kind nim").err.find("--task gym:NAME"), std::string::npos);
  EXPECT_NE(shell("quern eval zaya-nano --task gym:nimm").err.find("did you mean 'nim'"), std::string::npos);
  EXPECT_NE(shell("quern eval zaya-nano --task gin").err.find("--task 'gin': expected curriculum, gym"),
            std::string::npos);
}

TEST(CliEval, AsksTheQuestionsOfATaskFile) {
  const ScratchFolder tmp;
  std::ofstream(tmp / "tasks")
      << R"({"id": "a", "question": "What is 9 * 44?", "verifier": "number", "answer": 396, "split": "train"}
{"id": "b", "question": "What is 17 + 25?", "verifier": "math", "answer": "84/2", "split": "train"}
{"id": "c", "question": "What is 5 + 8?", "verifier": "number", "answer": 14, "split": "held_out"}
)";
  const std::string command = "quern eval zaya-nano --tasks " + (tmp / "tasks");
  Ran r = shell(command + " --log " + (tmp / "log") + " --json");
  ASSERT_EQ(r.code, 0) << r.err;
  Json j = Json::parse(r.out);
  EXPECT_EQ(j.at("all").at("tasks").as_int(), 3);
  EXPECT_NEAR(j.at("all").at("pass@1").as_double(), 2.0 / 3, 1e-9);
  EXPECT_EQ(j.at("verifiers").at("math").at("success").as_double(), 1);
  EXPECT_EQ(log_lines(tmp / "log").size(), 3u);
  r = shell("quern gym verify --tasks " + (tmp / "tasks") + " --replies " + (tmp / "log") + " --json");
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(Json::parse(r.out).at("all"), j.at("all"));
  r = shell(command + " --against " + (tmp / "log"));
  EXPECT_NE(r.out.find("2 solved by both"), std::string::npos) << r.out << r.err;
  j = Json::parse(shell(command + " --samples 3 --count 2 --json").out);
  EXPECT_EQ(j.at("all").at("samples").as_int(), 6);
  EXPECT_GE(j.at("all").at("pass@3").as_double(), j.at("all").at("avg@3").as_double());
  EXPECT_EQ(j.at("all").at("intervals").at("pass@3").as_array().size(), 2u);
  j = Json::parse(shell(command + " --split heldout --json").out);
  EXPECT_EQ(j.at("split").as_string(), "heldout");
  EXPECT_EQ(j.at("all").at("success").as_double(), 0);
  for (const auto& [flags, code, what] : std::initializer_list<std::tuple<const char*, int, const char*>>{
           {" --level 2", 2, "--level does not go with --tasks"},
           {" --task gym", 2, "--task does not go with --tasks"},
           {" --samples 0", 2, "--samples 0: expected"},
           {" --split dev", 2, "--split 'dev'"}}) {
    r = shell(command + flags);
    EXPECT_EQ(r.code, code) << flags;
    EXPECT_NE(r.err.find(what), std::string::npos) << r.err;
  }
  EXPECT_NE(shell("quern eval zaya-nono --tasks " + (tmp / "tasks")).err.find("no model 'zaya-nono'"),
            std::string::npos);
  EXPECT_NE(shell("quern eval zaya-nano --samples 2").err.find("--samples goes with --tasks"), std::string::npos);
  std::ofstream(tmp / "tasks") << "{\"question\": \"a\"}\n";
  r = shell(command);
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("tasks line 1: field 'verifier' is missing"), std::string::npos) << r.err;
}

TEST(CliGymEval, ScoresSamplesAndReports) {
  const ScratchFolder tmp;
  const Ran r =
      shell(fmt::format("quern gym eval zaya-nano lists arithmetic --difficulty 0-1 --count 3 --samples 2 "
                        "--log {} --html {} --json",
                        tmp / "log", tmp / "page.html"));
  ASSERT_EQ(r.code, 0) << r.err;
  const Json j = Json::parse(r.out);
  ASSERT_EQ(j.at("environments").as_array().size(), 2u);
  EXPECT_EQ(j.at("all").at("problems").as_int(), 12);
  EXPECT_EQ(j.at("all").at("samples").as_int(), 24);
  EXPECT_GT(j.at("all").at("pass@2").as_double(), 0.4);
  EXPECT_GE(j.at("all").at("pass@2").as_double(), j.at("all").at("avg@2").as_double());
  const std::vector<Json> log = log_lines(tmp / "log");
  ASSERT_EQ(log.size(), 24u);
  int64_t right = 0;
  for (const Json& line : log) {
    right += line.at("reward").as_double() == 1;
    EXPECT_FALSE(line.at("reason").as_string().empty());
    EXPECT_EQ(line.at("question_hash").as_string().size(), 16u);
    line.at("response").as_string();
    const Ran shown =
        shell(fmt::format("quern gym show {} --difficulty {} --seed {}", line.at("environment").as_string(),
                          line.at("difficulty").as_int(), line.at("seed").as_int()));
    EXPECT_EQ(shown.code, 0) << shown.err;
  }
  EXPECT_EQ(right, j.at("all").at("right").as_int());
  const std::string page = read_file(tmp / "page.html");
  EXPECT_TRUE(page.starts_with("<!doctype html>"));
  EXPECT_NE(page.find("</html>"), std::string::npos);
}

TEST(CliGymEval, AsksEachProblemOnce) {
  const Ran r = shell("quern gym eval zaya-nano dates --difficulty 0 --count 40 --max-tokens 4 --json");
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(Json::parse(r.out).at("all").at("problems").as_int(), 3);
  EXPECT_NE(r.err.find("dates: only 3 different problems at difficulty 0\n"), std::string::npos) << r.err;
}

TEST(CliEval, WrongUsageEndsBeforeAnythingIsAsked) {
  const std::pair<const char*, const char*> cases[] = {{"--temp -1", "--temp: -1 is below 0"},
                                                       {"-n 0", "--max-tokens 0: expected 1 or more"},
                                                       {"--level 9", "level '9'"},
                                                       {"--think vote", "plan 'vote'"},
                                                       {"--task gym:nimm", "did you mean 'nim'"},
                                                       {"--task gym --split tset", "did you mean 'test'"}};
  for (const auto& [words, message] : cases) {
    const Ran r = shell(fmt::format("quern eval zaya-nano {}", words));
    EXPECT_EQ(r.code, 2) << words;
    EXPECT_NE(r.err.find(message), std::string::npos) << words << ": " << r.err;
  }
}

TEST(CliEval, TakesBlanksBetweenNamesAndKeepsColumns) {
  const Ran r = shell("quern eval zaya-nano --task 'gym:calendar_between, nim' --level 1 --count 4 --max-tokens 4");
  ASSERT_EQ(r.code, 0) << r.err;
  std::set<size_t> columns;  // where the share of a row stands
  std::istringstream lines(r.out);
  for (std::string line; std::getline(lines, line);)
    if (const size_t at = line.find(" %  ["); at != line.npos) columns.insert(at);
  EXPECT_EQ(columns.size(), 1u) << r.out;
}

TEST(CliGymEval, ComparesWithAnEarlierLog) {
  const ScratchFolder tmp;
  const std::string command = "quern gym eval zaya-nano lists --difficulty 1-2 --count 5";
  ASSERT_EQ(shell(command + " --log " + (tmp / "log")).code, 0);
  const Ran same = shell(command + " --against " + (tmp / "log"));
  EXPECT_NE(same.out.find("0 only by the earlier, 0 only by this one"), std::string::npos) << same.out << same.err;
  const Ran other = shell(command + " --seed 1 --against " + (tmp / "log"));
  EXPECT_EQ(other.code, 1);
  EXPECT_NE(other.err.find("the log is of other problems"), std::string::npos) << other.err;
  EXPECT_NE(shell(command + " --against " + (tmp / "none")).code, 0);
}

TEST(CliGymEval, CalibratesInFewGroups) {
  const Ran r = shell("quern gym eval zaya-nano lists --calibrate --json");
  ASSERT_EQ(r.code, 0) << r.err;
  const Json lists = Json::parse(r.out).at("environments").as_array()[0];
  EXPECT_GE(lists.at("groups").as_int(), 8);
  EXPECT_LE(lists.at("groups").as_int(), 40);
  EXPECT_GT(lists.at("level").as_double(), 2);
  EXPECT_LT(lists.at("level").as_double(), 9);
  EXPECT_GT(lists.at("level_deviation").as_double(), 0);
}

TEST(CliGymEval, NamesAModelWithoutATokenizer) {
  const ScratchFolder tmp;
  const Ran r =
      shell(fmt::format("mkdir {0} && cp {1}/config.json {1}/model.safetensors {0} && quern gym eval {0} nim",
                        tmp / "bare", QUERN_SOURCE_DIR "/models/zaya-nano"));
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("tokenizer"), std::string::npos) << r.err;
}

}  // namespace
}  // namespace quern
