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
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("error: source web: b.jsonl: no such file or folder"), std::string::npos) << r.err;
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
  write_file(dir + "/a.doc", "text");
  r = shell(fmt::format("cd {} && quern corpus stats a.doc", dir));
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("name the format"), std::string::npos) << r.err;
  write_file(dir + "/a.pdf", "%PDF-1.4");
  r = shell(fmt::format("cd {} && quern corpus stats a.pdf", dir));
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("PDF is not read: extract its text before"), std::string::npos) << r.err;
}

// A misspelt field: there are records and no document.
TEST(CliCorpusRefusals, AnInputWithoutDocumentsIsAFailure) {
  ScratchFolder d;
  const std::string dir = d / "";
  write_file(dir + "/a.jsonl", "{\"text\":\"one\",\"label\":\"en\"}\n{\"text\":\"two\",\"label\":\"de\"}\n");
  write_file(dir + "/b.jsonl", "{\"body\":\"three\"}\n\n");
  write_file(dir + "/c.jsonl", "\n");  // nothing to lose
  write_file(dir + "/r.toml",
             "[[source]]\nname=\"a\"\npaths=[\"a.jsonl\"]\nlabel_field=\"lable\"\nlabel_equals=\"en\"\n");
  Ran r = shell(fmt::format("cd {} && quern corpus build r.toml --out o", dir));
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("no document could be read from 1 input files; the first invalid record"), std::string::npos)
      << r.err;
  EXPECT_NE(r.err.find("a.jsonl:1: member 'lable'"), std::string::npos) << r.err;
  EXPECT_FALSE(fs::exists(dir + "/o/manifest.json"));
  for (const char* words :
       {"dedup a.jsonl b.jsonl c.jsonl --out d", "filter a.jsonl b.jsonl c.jsonl --filter pii --out f",
        "stats a.jsonl b.jsonl c.jsonl", "repeats a.jsonl b.jsonl c.jsonl --out p"}) {
    r = shell(fmt::format("cd {} && quern corpus {}", dir, words));
    EXPECT_EQ(r.code, 1) << words;
    EXPECT_NE(r.err.find("error: no document could be read from b.jsonl\n"), std::string::npos) << r.err;
    EXPECT_EQ(r.err.find("could be read from c.jsonl"), std::string::npos) << r.err;
  }
  const Json m = Json::read(dir + "/d/manifest.json");
  EXPECT_EQ(m.at("inputs").as_array()[0].at("documents").as_int(), 2);
  EXPECT_EQ(m.at("inputs").as_array()[1].at("documents").as_int(), 0);
  EXPECT_EQ(m.at("inputs").as_array()[1].at("invalid").as_int(), 1);
  // A file that cannot be read at all is lost too.
  write_file(dir + "/b.jsonl", std::string("\x28\xB5\x2F\xFD", 4) + "no frame");
  r = shell(fmt::format("cd {} && quern corpus stats a.jsonl b.jsonl", dir));
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("error: no document could be read from b.jsonl\n"), std::string::npos) << r.err;
  r = shell(fmt::format("cd {} && quern corpus stats c.jsonl", dir));
  EXPECT_EQ(r.code, 0) << r.err;
}

TEST(CliCorpusRefusals, OneBadFileDoesNotHideTheOthers) {
  ScratchFolder d;
  const std::string dir = d / "";
  const std::string good = "{\"text\":\"one\"}\n";
  std::string bad = good;
  for (int i = 0; i < 50; ++i) bad += "not json\n";
  write_file(dir + "/a.jsonl", bad);
  for (char f = 'b'; f <= 'm'; ++f) write_file(dir + "/" + f + ".jsonl", good + "not json\n");
  Ran r = shell(fmt::format("cd {} && quern corpus stats *.jsonl", dir));
  EXPECT_EQ(r.code, 0) << r.err;
  for (char f = 'a'; f <= 'h'; ++f)
    EXPECT_NE(r.err.find(fmt::format("{}.jsonl:2: bad JSON", f)), std::string::npos) << f << "\n" << r.err;
  EXPECT_EQ(r.err.find("a.jsonl:3: bad JSON"), std::string::npos) << r.err;
  EXPECT_NE(r.err.find("and 54 more"), std::string::npos) << r.err;
  EXPECT_NE(r.err.find("13 files have invalid records:\n  a.jsonl: 50 of 51\n  b.jsonl: 1 of 2\n"), std::string::npos)
      << r.err;
  // No manifest counts them, so that all are named; of a folder with a manifest, a few.
  EXPECT_NE(r.err.find("  m.jsonl: 1 of 2\n"), std::string::npos) << r.err;
  EXPECT_EQ(r.err.find("manifest"), std::string::npos) << r.err;
  r = shell(fmt::format("cd {} && quern corpus extract *.jsonl --out -", dir));
  EXPECT_NE(r.err.find("  m.jsonl: 1 of 2\n"), std::string::npos) << r.err;
  EXPECT_EQ(r.err.find("manifest"), std::string::npos) << r.err;
  r = shell(fmt::format("cd {} && quern corpus extract *.jsonl --out o", dir));
  EXPECT_NE(r.err.find("and 5 more; the manifest counts them all"), std::string::npos) << r.err;
  fs::remove(dir + "/c.jsonl"), fs::remove(dir + "/d.jsonl");
  r = shell(fmt::format("cd {} && quern corpus stats a.jsonl b.jsonl", dir));
  EXPECT_NE(r.err.find("a.jsonl:8: bad JSON"), std::string::npos) << r.err;  // seven of one, one of the other
  EXPECT_NE(r.err.find("b.jsonl:2: bad JSON"), std::string::npos) << r.err;
}

TEST(CliCorpusRefusals, OneSourceHasNoDuplicatesAcrossSources) {
  ScratchFolder d;
  const std::string dir = d / "";
  write_file(dir + "/a.jsonl", "{\"text\":\"one\"}\n{\"text\":\"one\"}\n");
  write_file(dir + "/r.toml", "[[source]]\nname=\"a\"\npaths=[\"a.jsonl\"]\n[dedup]\npreset=\"zyda2\"\n");
  const auto run = [&](const char* words) { return shell(fmt::format("cd {} && quern corpus {}", dir, words)); };
  constexpr const char* kSaid = "scope across removes duplicates between sources, and there is one source";
  for (const char* words : {"dedup a.jsonl --preset zyda2 --out o1", "exact a.jsonl --scope across --out o2",
                            "build r.toml --out o3", "plan r.toml --out o4"}) {
    const Ran r = run(words);
    EXPECT_EQ(r.code, 0) << words << r.err;
    EXPECT_NE(r.err.find(kSaid), std::string::npos) << words << r.err;
  }
  for (const char* words : {"dedup a.jsonl --preset zyda2 --scope all --out o5", "exact a.jsonl --out o6"})
    EXPECT_EQ(run(words).err.find(kSaid), std::string::npos) << words;
  write_file(dir + "/b.jsonl", "{\"text\":\"two\"}\n");
  EXPECT_EQ(run("dedup a=a.jsonl b=b.jsonl --preset zyda2 --out o7").err.find(kSaid), std::string::npos);
}

TEST(CliCorpusRefusals, ANameOfASourceIsText) {
  ScratchFolder d;
  write_file(d / "a.jsonl", "{\"text\":\"one\"}\n");
  const Ran r = shell(fmt::format("cd {} && quern corpus extract \"$(printf 'caf\\351')=a.jsonl\" --out -", d / ""));
  EXPECT_EQ(r.code, 1);
  EXPECT_EQ(r.out, "");
  EXPECT_NE(r.err.find("source 'caf\xEF\xBF\xBD': its name is not valid UTF-8"), std::string::npos) << r.err;
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
