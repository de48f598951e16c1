// Token shards and overwritten runs: no file of another is replaced, and a run that is cut off while it takes the place of an
// earlier one loses nothing of that.
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

class CliCorpusTokens : public ::testing::Test {
 protected:
  CliCorpusTokens() : dir_(folder_ / "") {
    write_file(dir_ + "/a.jsonl", "{\"text\":\"the mill turns\"}\n");
    write_file(dir_ + "/b.jsonl", "{\"text\":\"the river is high, and the mill turns\"}\n");
  }
  Ran run(const std::string& words) const { return shell(fmt::format("cd {} && quern corpus {}", dir_, words)); }
  Ran tokenize(const std::string& words) const { return run("tokenize --tokenizer zaya-nano --out t/x " + words); }
  std::string bytes(const std::string& file) const { return read_file(dir_ + "/" + file); }
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

TEST_F(CliCorpusTokens, ShardsOfOthersStay) {
  fs::create_directories(dir_ + "/t");
  for (const char* name : {"t/x.bin", "t/x.idx", "t/x.json"}) {
    write_file(dir_ + "/" + name, "another's");
    for (const char* overwrite : {"", " --overwrite"}) {
      const Ran r = tokenize(std::string("a.jsonl") + overwrite);
      EXPECT_EQ(r.code, 1) << name << overwrite;
      EXPECT_NE(r.err.find(name), std::string::npos) << r.err;
      EXPECT_EQ(bytes(name), "another's");
    }
    fs::remove(dir_ + "/" + name);
  }
  write_file(dir_ + "/t/notes", "mine");
  ASSERT_EQ(tokenize("a.jsonl --rows").code, 0);
  const std::string first = bytes("t/x.bin");
  Ran r = tokenize("b.jsonl");
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("t/x.json exists: name another PREFIX"), std::string::npos) << r.err;
  EXPECT_EQ(bytes("t/x.bin"), first);
  r = tokenize("b.jsonl --overwrite");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_NE(bytes("t/x.bin"), first);
  EXPECT_EQ(names("t"),
            (std::vector<std::string>{"notes", "x.bin", "x.idx", "x.json"}));  // the rows went, the notes stay
}

// The states in which a kill may leave a folder, made by hand.
TEST_F(CliCorpusTokens, ACutOffReplacementLosesNothing) {
  const std::string words = "extract b.jsonl --out out --overwrite";
  ASSERT_EQ(run("extract a.jsonl --out out").code, 0);
  const std::string old = bytes("out/part-00000.jsonl.zst");
  const std::string aside = dir_ + "/out/unfinished/replaced";
  // Killed while the earlier run was set aside: it is put back, and refused or replaced as ever.
  fs::create_directories(aside);
  fs::rename(dir_ + "/out/part-00000.jsonl.zst", aside + "/part-00000.jsonl.zst");
  Ran r = run("extract b.jsonl --out out");
  EXPECT_EQ(r.code, 1);
  EXPECT_EQ(bytes("out/part-00000.jsonl.zst"), old);
  EXPECT_EQ(names("out"), (std::vector<std::string>{"manifest.json", "part-00000.jsonl.zst"}));
  // Killed behind that, before the new run was done: the earlier one lies aside until it is, whatever comes between.
  fs::create_directories(aside);
  fs::rename(dir_ + "/out/part-00000.jsonl.zst", aside + "/part-00000.jsonl.zst");
  fs::rename(dir_ + "/out/manifest.json", aside + "/manifest.json");
  r = run("stats out");
  EXPECT_NE(r.err.find("an unfinished corpus run wrote there"), std::string::npos) << r.err;
  r = run("extract missing.jsonl --out out --overwrite");
  EXPECT_NE(r.code, 0);
  write_file(dir_ + "/none.jsonl", "{\"no\":1}\n");
  r = run("extract none.jsonl --out out");
  EXPECT_NE(r.code, 0);
  EXPECT_EQ(bytes("out/unfinished/replaced/part-00000.jsonl.zst"), old);
  r = run(words);
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(names("out"), (std::vector<std::string>{"manifest.json", "part-00000.jsonl.zst"}));
  EXPECT_NE(bytes("out/part-00000.jsonl.zst"), old);
  // A new run that fails leaves the earlier one aside.
  const std::string second = bytes("out/part-00000.jsonl.zst");
  r = run("extract none.jsonl --out out --overwrite");
  EXPECT_EQ(r.code, 1);
  EXPECT_EQ(bytes("out/unfinished/replaced/part-00000.jsonl.zst"), second);
}

}  // namespace
}  // namespace quern
