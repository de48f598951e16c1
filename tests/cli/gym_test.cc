// quern gym from outside: environments of the build, the one of tests/sample/gym among them, and their problems.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "quern/base/json.h"
#include "tests/cli/shell.h"

namespace quern {
namespace {

TEST(CliGym, ListsEnvironmentsAndPlugins) {
  Ran r = shell("quern gym list --json");
  ASSERT_EQ(r.code, 0) << r.err;
  const std::set<std::string> saturating = {"combinations", "dice", "flood_fill", "hanoi", "regex_match", "routes",
                                            "string_edit", "sudoku", "walks", "zebra",
                                            // of generated programs
                                            "c_function", "invert_function", "predict_output", "python_falsify",
                                            "python_function", "python_input", "python_output", "repair_function",
                                            "write_function"};
  std::vector<std::string> names;
  const Json all = Json::parse(r.out);
  for (const Json& e : all.as_array()) {
    names.push_back(e.at("name").as_string());
    EXPECT_FALSE(e.at("summary").as_string().empty());
    EXPECT_FALSE(e.at("group").as_string().empty());
    EXPECT_EQ(e.at("saturates_at").is_null(), !saturating.contains(names.back())) << names.back();
  }
  for (const char* name : {"arithmetic", "change", "dates", "lists", "logic", "routes", "stories", "units", "walks"})
    EXPECT_NE(std::ranges::find(names, name), names.end()) << name;
  r = shell("quern gym list");
  EXPECT_NE(r.out.find("\ngames\n  change "), std::string::npos) << r.out;
  r = shell("quern gym list nim dates --markdown");
  EXPECT_NE(r.out.find("## Games\n\n| environment |"), std::string::npos) << r.out;
  EXPECT_NE(r.out.find("\n`dates`:\n\n```text\n"), std::string::npos) << r.out;
}

TEST(CliGym, ShowsAProblem) {
  const Ran a = shell("quern gym show change --difficulty 7 --seed 3"), b = shell("quern gym show change --seed 3");
  ASSERT_EQ(a.code, 0) << a.err;
  EXPECT_EQ(a.out, shell("quern gym show change --difficulty 7 --seed 3").out);
  EXPECT_NE(a.out, b.out);
  EXPECT_EQ(a.out.find("Question: Coins are worth"), 0u) << a.out;
  const Ran j = shell("quern gym show change --difficulty 7 --seed 3 --json");
  ASSERT_EQ(j.code, 0) << j.err;
  const Json p = Json::parse(j.out);
  EXPECT_NE(a.out.find("\nAnswer: " + p.at("answer").as_string() + "\n"), std::string::npos);
  EXPECT_EQ(p.at("difficulty").as_int(), 7);
  EXPECT_GT(p.at("facts").at("amount").as_int(), 70);
}

std::vector<Json> lines_of(const Ran& r) {
  EXPECT_EQ(r.code, 0) << r.err;
  std::vector<Json> out;
  std::istringstream lines(r.out);
  for (std::string line; std::getline(lines, line);) out.push_back(Json::parse(line));
  return out;
}

TEST(CliGym, SamplesProblemsThatShowRepeats) {
  const std::string command = "quern gym sample lists nim --difficulty 1-2 --count 8 --split dev --seed 5";
  const std::vector<Json> all = lines_of(shell(command));
  ASSERT_EQ(all.size(), 8u);
  std::map<std::string, int> counts;
  for (const Json& j : all) {
    const std::string at =
        fmt::format("{} --difficulty {}", j.at("environment").as_string(), j.at("difficulty").as_int());
    ++counts[at];
    EXPECT_EQ(j.at("split").as_string(), "dev");
    const Ran shown = shell(fmt::format("quern gym show {} --seed {} --json", at, j.at("seed").as_int()));
    EXPECT_EQ(Json::parse(shown.out).at("question"), j.at("question")) << at;
  }
  EXPECT_EQ(counts.size(), 4u);
  EXPECT_EQ(counts["nim --difficulty 2"], 2);
  EXPECT_EQ(shell(command).out, shell(command).out);
}

TEST(CliGym, SamplesTrainingExamplesThatDataBuildReads) {
  const ScratchFolder tmp;
  const Ran r =
      shell(fmt::format("quern gym sample all --count 120 --format chat > {0} && quern data build {0} --chat "
                        "--tokenizer {1}/models/zaya-nano --out {2}",
                        tmp / "chats.jsonl", QUERN_SOURCE_DIR, tmp / "shards"));
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_NE(r.out.find("120 documents"), std::string::npos) << r.out;
  const std::vector<Json> texts = lines_of(shell("quern gym sample dates --count 3 --format text"));
  ASSERT_EQ(texts.size(), 3u);
  EXPECT_TRUE(texts[0].at("text").as_string().starts_with("Question: "));
  const Ran test = shell("quern gym sample dates --split test --format chat");
  EXPECT_EQ(test.code, 2);
  EXPECT_NE(test.err.find("the test split is never trained on"), std::string::npos) << test.err;
  EXPECT_EQ(shell("quern gym sample dates --split test --count 2").code, 0);
}

// Each example asks a training problem and answers it rightly, as quern gym verify sees it.
TEST(CliGym, BuildsTrainingChatsOfAModelsRightAnswers) {
  const ScratchFolder tmp;
  const std::string command =
      "quern gym solutions zaya-nano lists units --difficulty 1-2 --count 3 --samples 4 --keep 2 --out ";
  const Ran r = shell(command + tmp / "own.jsonl");
  ASSERT_EQ(r.code, 0) << r.err;
  const std::vector<Json> chats = lines_of(shell("cat " + tmp / "own.jsonl"));
  ASSERT_GE(chats.size(), 6u);
  EXPECT_NE(r.out.find(fmt::format(": {} examples of 12 problems; ", chats.size())), std::string::npos) << r.out;
  std::map<std::string, std::set<std::string>> answers;
  for (const Json& j : chats) {
    const std::vector<Json>& m = j.at("messages").as_array();
    ASSERT_EQ(m.size(), 2u);
    EXPECT_EQ(m[0].at("role").as_string(), "user");
    const std::string reply = m[1].at("content").as_string();
    EXPECT_TRUE(reply.ends_with("Answer: " + j.at("answer").as_string())) << reply;
    EXPECT_TRUE(answers[m[0].at("content").as_string()].insert(reply).second) << "twice: " << reply;
  }
  for (const auto& [question, of] : answers) EXPECT_LE(of.size(), 2u) << question;
  EXPECT_EQ(shell(command + "-").out, shell("cat " + tmp / "own.jsonl").out);
  const Ran built = shell(fmt::format("quern data build {} --chat --tokenizer {}/models/zaya-nano --out {}",
                                      tmp / "own.jsonl", QUERN_SOURCE_DIR, tmp / "shards"));
  EXPECT_EQ(built.code, 0) << built.err;
}

TEST(CliGym, RefusesToMakeExamplesOfWhatItMustNot) {
  const ScratchFolder tmp;
  const std::string out = " --out " + tmp / "own.jsonl";
  Ran r = shell("quern gym solutions zaya-nano lists --split test" + out);
  EXPECT_EQ(r.code, 2);
  EXPECT_NE(r.err.find("the test split is never trained on"), std::string::npos) << r.err;
  EXPECT_EQ(shell("quern gym solutions zaya-nano lists").code, 2);
  for (const char* wrong : {"--keep 0", "--keep-solved 2", "--count 0", "--samples 0", "--max-seqs 0"})
    EXPECT_EQ(shell(fmt::format("quern gym solutions zaya-nano lists {}{}", wrong, out)).code, 2) << wrong;
  r = shell("quern gym solutions zaya-nano arithmetic --difficulty 90 --count 2 --samples 1 --max-tokens 8" + out);
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("none of 2 answers became an example"), std::string::npos) << r.err;
  EXPECT_FALSE(std::filesystem::exists(tmp / "own.jsonl"));
}

TEST(CliGym, ChecksEnvironmentsAndPlugins) {
  const Ran r = shell("quern gym check change lists --seeds 400 --json");
  ASSERT_EQ(r.code, 0) << r.err << r.out;
  const Json j = Json::parse(r.out);
  ASSERT_EQ(j.at("environments").as_array().size(), 2u);
  for (const Json& e : j.at("environments").as_array()) {
    EXPECT_EQ(e.at("problems").as_int(), 400);
    EXPECT_EQ(e.at("violations").as_int(), 0);
    EXPECT_GT(e.at("problems_per_second").as_double(), 0);
  }
  EXPECT_NE(shell("quern gym check change lists --seeds 80").out.find("\nmedian "), std::string::npos);
}

TEST(CliGym, MistakesAreNamed) {
  Ran r = shell("quern gym show arithmetik");
  EXPECT_EQ(r.code, 2);
  EXPECT_EQ(r.err,
            "quern gym show: no environment 'arithmetik'; did you mean 'arithmetic'? (quern gym list shows them)\n");
  r = shell("quern gym eval nosuchmodel nimm");
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("no model 'nosuchmodel': expected a folder, or the name of a model"), std::string::npos)
      << r.err;
  r = shell("quern gym eval lists");
  EXPECT_NE(r.err.find("'lists' is an environment: name the model before it"), std::string::npos) << r.err;
  r = shell("quern gym show logic --difficulty=-1");
  EXPECT_EQ(r.code, 2);
  EXPECT_NE(r.err.find("--difficulty -1: expected 0 to"), std::string::npos) << r.err;
  const std::pair<const char*, const char*> cases[] = {
      {"sample", "NAME is missing"},
      {"check", "NAME is missing"},
      {"sample nimm", "did you mean 'nim'"},
      {"sample nim --split tset", "did you mean 'test'"},
      {"sample nim --difficulty 4-1", "--difficulty '4-1': expected the lower one first"},
      {"sample nim --difficulty 10001", "--difficulty '10001': expected 0 to 10000"},
      {"sample nim --format csv", "--format 'csv': expected problems, chat or text"},
      {"sample nim --count 0", "--count 0: expected 1 or more"},
      {"check nim --seeds 0", "--seeds 0: expected 1 or more"},
      {"sample all lists", "all stands alone"},
      {"eval zaya-nano nim --temp -1", "--temp: -1 is below 0"},
      {"eval zaya-nano nim --temp nan", "--temp: nan is not a number"},
      {"eval zaya-nano nim -n 0", "--max-tokens 0: expected 1 or more"},
      {"eval zaya-nano nim -n -5", "--max-tokens -5: expected 1 or more"},
      {"eval zaya-nano nim --split tset", "did you mean 'test'"},
      {"eval zaya-nano nim --think vote", "plan 'vote'"},
      {"eval zaya-nano nimm", "did you mean 'nim'"},
      {"eval zaya-nano nim --count 0", "--count 0: expected 1 or more"},
      {"eval zaya-nano nim --calibrate --count 0", "--count 0: expected 1 or more"},
      {"eval zaya-nano nim --samples 0", "--samples 0: expected 1 or more"},
      {"eval zaya-nano nim --calibrate --difficulty 2", "only one of --calibrate and --difficulty"},
      {"eval zaya-nano nim --calibrate --samples 2", "leave out --samples"},
      {"eval zaya-nano nim --calibrate --against x", "--against needs the same problems"},
      {"eval zaya-nano nim --form csv", "--form 'csv': expected chat or text"}};
  for (const auto& [words, message] : cases) {
    const Ran bad = shell(fmt::format("quern gym {}", words));
    EXPECT_EQ(bad.code, 2) << words;
    EXPECT_NE(bad.err.find(message), std::string::npos) << words << ": " << bad.err;
  }
}

TEST(CliGym, TooFewProblemsAreTold) {
  Ran r = shell("quern gym sample change --difficulty 0 --split test");
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("'change' at difficulty 0: none of 1000 problems is on the test side"), std::string::npos)
      << r.err;
  r = shell("quern gym sample dates --difficulty 0 --split dev --count 40");
  EXPECT_EQ(lines_of(r).size(), 40u);
  EXPECT_EQ(r.err,
            "quern: 37 of 40 lines repeat the question of an earlier one: there are too few different problems\n");
  EXPECT_EQ(shell("quern gym sample arithmetic --difficulty 6 --count 40").err, "");
}

TEST(CliGym, VerifiesAReply) {
  Ran r = shell(R"(quern gym verify --expect '{"verifier": "math", "answer": "3/4"}' '\boxed{\frac{6}{8}}')");
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.out, "1 the answer is equal to the expected one\n");
  r = shell(R"(echo 'Answer: 3500 m' | quern gym verify --expect '{"verifier": "number", "answer": "3 km"}' --json)");
  ASSERT_EQ(r.code, 0) << r.err;
  const Json j = Json::parse(r.out);
  EXPECT_EQ(j.at("reward").as_double(), 0);
  EXPECT_FALSE(j.at("reason").as_string().empty());
  r = shell("quern gym verify 3");
  EXPECT_EQ(r.code, 2);
  EXPECT_NE(r.err.find("--expect"), std::string::npos) << r.err;
  r = shell(R"(quern gym verify --expect '{"verifier": "math", "answr": "3"}' 3)");
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("'answr'"), std::string::npos) << r.err;
  r = shell("quern gym verify --expect no-such-file.json 3");
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("no-such-file.json"), std::string::npos) << r.err;
}

TEST(CliGym, VerifiesAReplyToAProblem) {
  const Json shown = Json::parse(shell("quern gym show arithmetic --difficulty 2 --seed 7 --json").out);
  const std::string answer = shown.at("answer").as_string(),
                    at = "quern gym verify arithmetic --difficulty 2 --seed 7 ";
  Ran r = shell(at + "'Answer: " + answer + "'");
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.out.substr(0, 2), "1 ");
  r = shell(at + "--json -- -" + answer);
  ASSERT_EQ(r.code, 0) << r.err;
  const Json j = Json::parse(r.out);
  EXPECT_EQ(j.at("reward").as_double(), 0);
  EXPECT_EQ(j.at("question"), shown.at("question"));
  EXPECT_FALSE(j.at("reason").as_string().empty());
  EXPECT_EQ(shell("echo 'Answer: " + answer + "' | " + at + "-").out.substr(0, 2), "1 ");
  EXPECT_EQ(shell("echo 'Answer: " + answer + "' | " + at).out.substr(0, 2), "1 ");
  for (const auto& [words, what] : std::initializer_list<std::pair<const char*, const char*>>{
           {"", "give NAME REPLY"},
           {"arithmetics 3", "did you mean 'arithmetic'"},
           {"arithmetic 3 4", "'4'"},
           {"all 3", "all stands alone"},
           {"arithmetic 3 --difficulty -1", "--difficulty -1: expected 0 to"},
           {"arithmetic 3 --expect '{}'", "unexpected '3'"},
           {"3 --tasks f --replies g", "unexpected '3'"},
           {"3 --expect '{}' --seed 2", "--difficulty and --seed are of"},
           {"--tasks f", "go together"},
           {"--tasks f --replies g --expect '{}'", "only one of"}}) {
    r = shell(std::string("quern gym verify ") + words);
    EXPECT_EQ(r.code, 2) << words;
    EXPECT_NE(r.err.find(what), std::string::npos) << words << ": " << r.err;
  }
}

TEST(CliGym, VerifiesRepliesToTasks) {
  const ScratchFolder tmp;
  const auto write = [&](const char* name, const char* text) { std::ofstream(tmp / name) << text; };
  write("tasks", R"({"id": "sum", "question": "1 + 1?", "verifier": "number", "answer": 2}
{"id": "half", "question": "Half?", "verifier": "math", "answer": "1/2"}
{"id": "none", "question": "Nothing?", "verifier": "exact", "answer": "no"}
)");
  write("replies", R"({"id": "half", "reply": "Answer: {1 \\over 2}"}
{"id": "sum", "reply": "2"}
{"id": "half", "reply": "Answer: 0.49"}
)");
  const std::string command = "quern gym verify --tasks " + (tmp / "tasks") + " --replies " + (tmp / "replies");
  Ran r = shell(command);
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_NE(r.out.find("half      1      0  the answer is not equal to the expected one"), std::string::npos)
      << r.out;
  EXPECT_NE(r.out.find("all                 2        3   75.0 %"), std::string::npos) << r.out;
  EXPECT_NE(r.err.find("not counted: 1"), std::string::npos) << r.err;
  const Json j = Json::parse(shell(command + " --json").out);
  EXPECT_EQ(j.at("unanswered").as_int(), 1);
  EXPECT_EQ(j.at("all").at("pass@1").as_double(), 0.75);
  ASSERT_EQ(j.at("results").as_array().size(), 3u);
  EXPECT_EQ(j.at("results").as_array()[0].at("reward").as_double(), 1);
  write("replies", "{\"id\": \"sum\", \"reply\": \"2\"}\n{\"id\": \"sun\", \"reply\": \"2\"}\n");
  r = shell(command);
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("replies line 2: field 'id': no task has 'sun'"), std::string::npos) << r.err;
  write("tasks", "{\"question\": \"a\", \"verifier\": \"exact\", \"answer\": \"b\"}\n{\"question\": 3}\n");
  r = shell(command);
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("tasks line 2: field 'question'"), std::string::npos) << r.err;
}

}  // namespace
}  // namespace quern
