// quern gym from outside: environments of the build, the one of tests/sample/gym among them, and their problems.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "quern/base/json.h"
#include "tests/cli/shell.h"

namespace quern {
namespace {

TEST(CliGym, ListsEnvironmentsAndPlugins) {
  Ran r = shell("quern gym list --json");
  ASSERT_EQ(r.code, 0) << r.err;
  const std::set<std::string> saturating = {"combinations", "dice",        "flood_fill", "hanoi", "regex_match",
                                            "routes",       "string_edit", "sudoku",     "walks", "zebra"};
  std::vector<std::string> names;
  const Json all = Json::parse(r.out);
  for (const Json& e : all.as_array()) {
    names.push_back(e.at("name").as_string());
    EXPECT_FALSE(e.at("summary").as_string().empty());
    EXPECT_EQ(e.at("saturates_at").is_null(), !saturating.contains(names.back())) << names.back();
  }
  for (const char* name : {"arithmetic", "change", "dates", "lists", "logic", "routes", "stories", "units", "walks"})
    EXPECT_NE(std::ranges::find(names, name), names.end()) << name;
  r = shell("quern gym list");
  EXPECT_NE(r.out.find("\nchange "), std::string::npos) << r.out;
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

TEST(CliGym, MistakesAreNamed) {
  Ran r = shell("quern gym show arithmetik");
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("did you mean 'arithmetic'"), std::string::npos) << r.err;
  r = shell("quern gym show logic --difficulty=-1");
  EXPECT_EQ(r.code, 2);
  EXPECT_NE(r.err.find("--difficulty -1: expected 0 to"), std::string::npos) << r.err;
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

}  // namespace
}  // namespace quern
