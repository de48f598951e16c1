// What quern corpus refuses before it writes anything, and what it says of records that it skips.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <filesystem>
#include <iterator>

#include "quern/base/json.h"
#include "quern/base/mmap.h"
#include "tests/cli/shell.h"

namespace quern {
namespace {

namespace fs = std::filesystem;

TEST(CliCorpusRefusals, AnInputFolderIsNoOutput) {
  ScratchFolder d;
  const std::string dir = d / "";
  fs::create_directories(dir + "/raw/txt");
  write_file(dir + "/raw/txt/part-00000.jsonl.zst", "{\"text\":\"one\"}\n");
  write_file(dir + "/r.toml", "[[source]]\nname=\"a\"\npaths=[\"raw/txt\"]\n");
  for (const char* words :
       {"dedup raw/txt --out raw/txt", "filter raw --filter c4 --out raw", "exact a=raw --out raw/txt/",
        "dedup a=raw/txt/part-00000.jsonl.zst --out ./raw/txt", "build r.toml --out raw/txt"}) {
    const Ran r = shell(fmt::format("cd {} && quern corpus {}", dir, words));
    EXPECT_EQ(r.code, 1) << words;
    EXPECT_NE(r.err.find("lies there; name another folder"), std::string::npos) << words << "\n" << r.err;
    EXPECT_EQ(read_file(dir + "/raw/txt/part-00000.jsonl.zst"), "{\"text\":\"one\"}\n") << words;
  }
  for (const std::string folder : {"/raw", "/raw/txt"})
    EXPECT_EQ(std::distance(fs::directory_iterator(dir + folder), {}), 1) << folder;
  const Ran r = shell(fmt::format("cd {} && quern corpus dedup raw --out raw/unique", dir));
  EXPECT_EQ(r.code, 0) << r.err;
}

TEST(CliCorpusRefusals, RecipesAreCheckedFirst) {
  ScratchFolder d;
  const std::string dir = d / "";
  write_file(dir + "/a.jsonl", "{\"text\":\"one\"}\n");
  const auto build = [&](const std::string& source, const std::string& words) {
    write_file(dir + "/r.toml", "[[source]]\nname=\"web\"\n" + source);
    return shell(fmt::format("cd {} && quern corpus build r.toml {}", dir, words));
  };
  Ran r = build("paths=[\"a.jsonl\"]\nshare=-1\n[mix]\n", "--out o");
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("share of 'web': -1, expected a number from 0 up"), std::string::npos) << r.err;
  EXPECT_FALSE(fs::exists(dir + "/o"));
  r = build("paths=[\"a.jsonl\"]\n", "--check");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_NE(r.err.find("source web: a.jsonl"), std::string::npos) << r.err;
  EXPECT_EQ(Json::parse(r.out).at("preset").as_string(), "zyda");
  r = build("paths=[\"a.jsonl\", \"b.jsonl\"]\n", "--check");
  EXPECT_EQ(r.code, 0);
  EXPECT_NE(r.err.find("source web: b.jsonl: no such file or folder"), std::string::npos) << r.err;
}

TEST(CliCorpusRefusals, SkippedRecordsAreCountedByReason) {
  ScratchFolder d;
  const std::string dir = d / "";
  std::string lines = "{\"text\":\"one\"}\n{\"text\":{\"en\":\"two\"}}\n";
  for (int i = 0; i < 10; ++i) lines += "not json\n";
  write_file(dir + "/a.jsonl", lines);
  Ran r = shell(fmt::format("cd {} && quern corpus stats a.jsonl", dir));
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_NE(r.err.find("skipped 11 invalid records (10 bad_json, 1 no_text)"), std::string::npos) << r.err;
  EXPECT_NE(r.err.find("a.jsonl:2: member 'text' is an object, expected a string; nested fields are not supported"),
            std::string::npos)
      << r.err;
  EXPECT_NE(r.err.find("\n  and 3 more\n"), std::string::npos) << r.err;
  write_file(dir + "/a.csv", "text\none\n");
  r = shell(fmt::format("cd {} && quern corpus stats a.csv", dir));
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("name the format"), std::string::npos) << r.err;
}

TEST(CliCorpusRefusals, TokenizersAreKnownByName) {
  ScratchFolder d;
  const std::string dir = d / "";
  write_file(dir + "/a.jsonl", "{\"text\":\"one two three\"}\n");
  const Ran r =
      shell(fmt::format(
          "cd {} && quern corpus tokenize a.jsonl --tokenizer zaya-nano --out named && quern corpus tokenize a.jsonl "
          "--tokenizer " QUERN_SOURCE_DIR "/models/zaya-nano --out folder && "
          "quern corpus stats a.jsonl --tokenizer zaya-nano --json",
          dir));
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(read_file(dir + "/named.bin"), read_file(dir + "/folder.bin"));
  EXPECT_FALSE(read_file(dir + "/named.bin").empty());
}

}  // namespace
}  // namespace quern
