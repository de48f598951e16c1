// What quern corpus owns of its output folder: it removes no file that is not its own, and reads none of its
// by-products as rows.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "quern/base/json.h"
#include "quern/base/mmap.h"
#include "tests/cli/shell.h"

namespace quern {
namespace {

namespace fs = std::filesystem;

class CliCorpusOutputs : public ::testing::Test {
 protected:
  CliCorpusOutputs() : dir_(folder_ / "") {
    std::string lines;
    for (int i = 0; i < 20; ++i) lines += fmt::format("{{\"text\":\"{}\"}}\n", text(i));
    write_file(dir_ + "/a.jsonl", lines + "{\"text\":\"lorem ipsum\"}\n");
  }
  // Long enough for the filters.
  static std::string text(int n) {
    std::string t;
    for (int i = 0; i < 60; ++i) t += fmt::format("word{} the{}", n * 100 + i, i % 6 == 5 ? ".\\n" : " ");
    return t;
  }
  Ran corpus(const std::string& words) const { return shell(fmt::format("cd {} && quern corpus {}", dir_, words)); }
  std::vector<std::string> names(const std::string& out) const {
    std::vector<std::string> all;
    for (const auto& e : fs::recursive_directory_iterator(dir_ + "/" + out))
      if (!e.is_directory()) all.push_back(e.path().lexically_relative(dir_ + "/" + out).string());
    std::ranges::sort(all);
    return all;
  }
  ScratchFolder folder_;
  const std::string dir_;
};

TEST_F(CliCorpusOutputs, FilesOfOthersStay) {
  const char* const stages[] = {"filter a.jsonl --filter c4",
                                "dedup a.jsonl",
                                "exact a.jsonl",
                                "sketch a.jsonl",
                                "mix a.jsonl --share input=1",
                                "repeats a.jsonl",
                                "repeats a.jsonl --unit span",
                                "parquet a.jsonl",
                                "decontaminate a.jsonl --against a.jsonl"};
  for (const char* stage : stages)
    for (const char* name : {"part-00000.jsonl.zst", "part-00007.parquet", "reasons.jsonl", "notes"}) {
      fs::remove_all(dir_ + "/out");
      fs::create_directories(dir_ + "/out");
      write_file(dir_ + "/out/" + name, "another's");
      const Ran r = corpus(fmt::format("{} --out out", stage));
      EXPECT_EQ(r.code, 1) << stage << " " << name << r.err;
      EXPECT_NE(r.err.find(fmt::format("out holds {}, which no corpus run", name)), std::string::npos) << r.err;
      EXPECT_EQ(names("out"), std::vector<std::string>{name}) << stage;
    }
}

TEST_F(CliCorpusOutputs, OverwritingRemovesWhatTheManifestNames) {
  const char* const stages[] = {"filter a.jsonl --filter c4 --rejects --reasons",
                                "dedup a.jsonl",
                                "sketch a.jsonl",
                                "mix a.jsonl --share input=1",
                                "repeats a.jsonl",
                                "parquet a.jsonl"};
  for (const char* stage : stages) {
    fs::remove_all(dir_ + "/out");
    const std::string words = fmt::format("{} --out out", stage);
    ASSERT_EQ(corpus(words).code, 0) << stage;
    const std::vector<std::string> all = names("out");
    std::vector<std::string> listed = {"manifest.json"};
    const Json manifest = Json::read(dir_ + "/out/manifest.json");
    for (const auto& [name, role] : manifest.at("files").as_object()) listed.push_back(name);
    std::ranges::sort(listed);
    EXPECT_EQ(listed, all) << stage;
    Ran r = corpus(words);
    EXPECT_EQ(r.code, 1) << stage;
    EXPECT_NE(r.err.find("already contains a manifest.json"), std::string::npos) << r.err;
    // Nothing goes while there is a file that the manifest does not name.
    write_file(dir_ + "/out/part-99999.jsonl.zst", "mine");
    r = corpus(words + " --overwrite");
    EXPECT_EQ(r.code, 1) << stage;
    EXPECT_NE(r.err.find("holds part-99999.jsonl.zst, which its manifest does not name"), std::string::npos) << r.err;
    EXPECT_EQ(names("out").size(), all.size() + 1) << stage;
    fs::remove(dir_ + "/out/part-99999.jsonl.zst");
    r = corpus(words + " --overwrite");
    EXPECT_EQ(r.code, 0) << stage << r.err;
    EXPECT_EQ(names("out"), all) << stage;
  }
  // Another program's manifest, and a run whose rows are the inputs.
  fs::create_directories(dir_ + "/other");
  write_file(dir_ + "/other/manifest.json", "{\"files\":[\"a\"]}");
  Ran r = corpus("dedup a.jsonl --out other --overwrite");
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("is not the manifest of a corpus run"), std::string::npos) << r.err;
  EXPECT_EQ(names("other").size(), 1u);
}

TEST_F(CliCorpusOutputs, ABuildIsOverwrittenWithItsLaterStages) {
  write_file(dir_ + "/r.toml",
             "[[source]]\nname=\"a\"\npaths=[\"a.jsonl\"]\nshare=1\n[mix]\n[tokenize]\ntokenizer=\"" QUERN_SOURCE_DIR
             "/models/zaya-nano\"\n");
  ASSERT_EQ(corpus("build r.toml --out out").code, 0);
  const std::vector<std::string> all = names("out");
  EXPECT_NE(std::ranges::find(all, "mixed/manifest.json"), all.end());
  EXPECT_NE(std::ranges::find(all, "tokens.bin"), all.end());
  Ran r = corpus("dedup out/mixed --out out --overwrite");
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("belongs to the run that is to be overwritten"), std::string::npos) << r.err;
  EXPECT_EQ(names("out"), all);
  r = corpus("build r.toml --out out --overwrite");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(names("out"), all);
  // As an input, the folder is its kept documents: not the mixture of them as well.
  r = corpus("stats out --json");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(Json::parse(r.out).at("all").at("documents").as_int(), 21);
}

// A run that was killed has listed what it made: the next one, with other settings, removes that and no more.
TEST_F(CliCorpusOutputs, AKilledRunIsCleared) {
  ASSERT_EQ(corpus("filter a.jsonl --filter c4 --out out").code, 0);
  fs::remove(dir_ + "/out/manifest.json");
  fs::create_directories(dir_ + "/out/unfinished");
  write_file(dir_ + "/out/unfinished/files", "rows part-00000.jsonl.zst\nother reasons.jsonl\nrows ../a.jsonl\n");
  write_file(dir_ + "/out/reasons.jsonl.part123", "half");
  Ran r = corpus("stats out");
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("unfinished corpus run"), std::string::npos) << r.err;
  r = corpus("repeats a.jsonl --out out");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(names("out"), (std::vector<std::string>{"manifest.json", "part-00000.jsonl.zst"}));
  EXPECT_TRUE(fs::exists(dir_ + "/a.jsonl"));
}

TEST_F(CliCorpusOutputs, ByProductsAreNotRows) {
  ASSERT_EQ(corpus("filter a.jsonl --filter c4 --rejects --reasons --out f").code, 0);
  ASSERT_EQ(corpus("dedup a.jsonl --out d --save-index d-index").code, 0);
  const auto documents = [&](const std::string& words) {
    const Ran r = corpus("stats --json " + words);
    EXPECT_EQ(r.code, 0) << r.err;
    const Json read = Json::parse(r.out).at("read");
    EXPECT_EQ(read.at("rows").as_int(), read.at("documents").as_int()) << words;
    return read.at("documents").as_int();
  };
  EXPECT_EQ(documents("f"), 20);
  EXPECT_EQ(documents("f/reject-00000.jsonl.zst"), 1);  // named by itself
  EXPECT_EQ(documents("d"), 21);
  EXPECT_EQ(documents("."), 21 + 20 + 21);  // with a.jsonl
  // A file that somebody put there is read.
  fs::copy_file(dir_ + "/a.jsonl", dir_ + "/f/more.jsonl");
  EXPECT_EQ(documents("f"), 41);
}

}  // namespace
}  // namespace quern
