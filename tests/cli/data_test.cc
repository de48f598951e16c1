// quern data from outside: a curriculum becomes masked shards, texts become plain ones, and mistakes are named.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "quern/base/json.h"
#include "quern/base/mmap.h"
#include "tests/cli/shell.h"

namespace quern {
namespace {

TEST(CliData, CurriculumBecomesShards) {
  ScratchFolder d;
  const std::string dir = d / "";
  ASSERT_EQ(shell(fmt::format("quern new {}/m --family llama --size tiny", dir)).code, 0);
  for (const char* split : {"train", "heldout"})
    ASSERT_EQ(
        shell(fmt::format("quern data curriculum --out {0}/{1}.jsonl --count 60 --level 1-3 --split {1} --seed 5",
                          dir, split))
            .code,
        0);
  EXPECT_NE(read_file(dir + "/train.jsonl"), read_file(dir + "/heldout.jsonl"));

  Ran r = shell(fmt::format(
      "quern data build {0}/train.jsonl --chat --tokenizer {0}/m --max-tokens 200 --out {0}/s --json", dir));
  ASSERT_EQ(r.code, 0) << r.err;
  const Json built = Json::parse(r.out);
  EXPECT_EQ(built.at("documents").as_int() + built.at("dropped").as_int(), 60);
  EXPECT_GT(built.at("learnt").as_int(), 0);
  EXPECT_LT(built.at("learnt").as_int(), built.at("tokens").as_int());

  r = shell(fmt::format("quern data info {}/s --pack 400 --json", dir));
  ASSERT_EQ(r.code, 0) << r.err;
  const Json info = Json::parse(r.out);
  EXPECT_EQ(info.at("tokens").as_int(), built.at("tokens").as_int());
  EXPECT_LE(info.at("longest").as_int(), 200);
  EXPECT_TRUE(info.at("masked").as_bool());
  EXPECT_GT(info.at("fill_ratio").as_double(), 0.8);

  r = shell(fmt::format("quern data show {0}/s 3 --tokenizer {0}/m", dir));
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_NE(r.out.find("⟧<think>"), std::string::npos) << r.out;
  EXPECT_NE(r.out.find("<|im_end|>⟦"), std::string::npos) << r.out;
}

TEST(CliData, AModelsAttemptsBecomeChats) {
  ScratchFolder d;
  const std::string run =
      fmt::format("quern data attempts {}/models/zaya-nano --level 1 --count 3 -n 90 --seed 4 ", QUERN_SOURCE_DIR);
  const Ran r = shell(run + "--out " + (d / "own.jsonl"));
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_NE(r.out.find("6 examples of 3 problems"), std::string::npos) << r.out;
  EXPECT_EQ(shell(run + "--out - 2> /dev/null").out, read_file(d / "own.jsonl"));
  const Ran built = shell(fmt::format("quern data build {} --chat --tokenizer {}/models/zaya-nano --out {} --json",
                                      d / "own.jsonl", QUERN_SOURCE_DIR, d / "own"));
  ASSERT_EQ(built.code, 0) << built.err;
  EXPECT_EQ(Json::parse(built.out).at("documents").as_int(), 6);
  const Ran judged =
      shell(run + fmt::format("--temp 3 --out {} --minority-right {} --max-minority-right 3 --verdicts",
                              d / "all.jsonl", d / "contested.jsonl"));
  ASSERT_EQ(judged.code, 0) << judged.err;
  EXPECT_NE(judged.out.find("minority-right examples"), std::string::npos) << judged.out;
  EXPECT_NE(read_file(d / "all.jsonl").find("<think>\\n1 "), std::string::npos) << "a verdict comes first";
  EXPECT_TRUE(std::filesystem::exists(d / "contested.jsonl"));
  EXPECT_EQ(shell(run + "--out x --max-minority-right 2").code, 2) << "they have no file";
  EXPECT_EQ(shell(run + "--out x --minority-right -").code, 2);
  EXPECT_EQ(shell(run + "--shown 9 --out x").code, 1);
  EXPECT_EQ(shell(run).code, 2);
}

TEST(CliData, TextsBecomeShards) {
  ScratchFolder d;
  const std::string dir = d / "";
  ASSERT_EQ(shell(fmt::format("quern new {}/m --family llama --size tiny", dir)).code, 0);
  write_file(dir + "/t.txt", "One.\n\nTwo.\n");
  ASSERT_EQ(shell(fmt::format("quern data build {0}/t.txt --split-by blank --tokenizer {0}/m --out {0}/s", dir)).code,
            0);
  Ran r = shell(fmt::format("quern data show {0}/s 1 --tokenizer {0}/m", dir));
  EXPECT_EQ(r.out, "<bos>Two.\n<|im_end|>\n");

  write_file(dir + "/bad.jsonl", "{\"text\": \"x\"}\n{\"tex\": 1}\n");
  r = shell(fmt::format("quern data build {0}/bad.jsonl --tokenizer {0}/m --out {0}/b", dir));
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("bad.jsonl:2"), std::string::npos) << r.err;
  r = shell(fmt::format("quern data build {0}/bad.jsonl --skip-bad --tokenizer {0}/m --out {0}/b", dir));
  EXPECT_EQ(r.code, 0);
  EXPECT_NE(r.err.find("1 documents"), std::string::npos) << r.err;
}

TEST(CliData, MistakesAreNamed) {
  EXPECT_EQ(shell("quern data").code, 2);
  EXPECT_EQ(shell("quern data biuld").code, 2);
  EXPECT_EQ(shell("quern data build x --out y").code, 2);
  EXPECT_EQ(shell("quern data show x y").code, 1);
  EXPECT_EQ(shell("quern data curriculum --out - --level 0").code, 1);
  Ran r = shell("quern data curriculum --out - --kind lojic");
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("did you mean 'logic'"), std::string::npos) << r.err;
  r = shell("quern data info /nonexistent/shard");
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("/nonexistent/shard.idx"), std::string::npos) << r.err;
}

}  // namespace
}  // namespace quern
