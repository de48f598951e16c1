// The flags of quern corpus and the keys of a recipe are one declaration.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <filesystem>
#include <tuple>

#include "quern/base/json.h"
#include "quern/base/mmap.h"
#include "tests/cli/shell.h"

namespace quern {
namespace {

// What one of them refuses the other does, and both mean the same.
TEST(CorpusSettings, FlagsAndRecipeKeysAgree) {
  ScratchFolder d;
  const std::string dir = d / "";
  write_file(dir + "/a.jsonl", "{\"text\":\"one two three\"}\n{\"text\":\"four five six\"}\n");
  const auto recipe = [&](const std::string& tables) {
    write_file(dir + "/r.toml", "[[source]]\nname = \"a\"\npaths = [\"a.jsonl\"]\n" + tables);
    return shell(fmt::format("quern corpus build {}/r.toml --check", dir));
  };
  const auto flags = [&](const std::string& words) {
    std::filesystem::remove_all(dir + "/o");
    return shell(fmt::format("quern corpus dedup a={0}/a.jsonl --out {0}/o --json {1}", dir, words));
  };
  const std::tuple<const char*, const char*, const char*> settings[] = {
      {"", "", "threshold"},
      {"[dedup]\nthreshold = 0.6\nverify = \"signature\"\n", "--threshold 0.6 --verify signature", "verify"},
      {"[dedup]\npreset = \"zyda2\"\nmode = \"compat\"\nseed = 5\n", "--preset zyda2 --mode compat --seed 5",
       "scope"},
      {"[dedup]\nbands = 16\nrows_per_band = 8\nshingle = 5\n", "--bands 16 --rows-per-band 8 --shingle 5", "bands"},
      {"[dedup]\nclustering = \"closure\"\nscope = \"within\"\ncollide_empty = true\nmemory_mb = 3\n",
       "--clustering closure --scope within --collide-empty --memory-mb 3", "clustering"},
      {"[read]\non_bad = \"replace\"\nmax_record_mb = 2\n[write]\nlevel = 5\nshard_mb = 7\n",
       "--on-bad replace --max-record-mib 2 --level 5 --shard-mib 7", "zstd_level"}};
  std::string before;
  for (const auto& [tables, words, key] : settings) {
    const Ran a = recipe(tables), b = flags(words);
    ASSERT_EQ(a.code, 0) << tables << a.err;
    ASSERT_EQ(b.code, 0) << words << b.err;
    const Json config = Json::parse(b.out).at("config");
    EXPECT_EQ(Json::parse(a.out).dump(), config.dump()) << words;
    EXPECT_TRUE(config.find(key)) << key;
    EXPECT_NE(config.dump(), before) << words;
    before = config.dump();
  }
  const std::tuple<const char*, const char*, const char*, const char*> mistakes[] = {
      {"[dedup]\nverify = \"exakt\"\n",
       "dedup, verify: 'exakt' is not none, signature, exact or containment; did you mean", "--verify exakt",
       "--verify: 'exakt' is not none, signature, exact or containment; did you mean 'exact'?"},
      {"[dedup]\nthreshold = 1.5\n", "dedup, threshold: 1.5 is outside 0 to 1", "--threshold 1.5",
       "--threshold 1.5: expected 0 to 1"},
      {"[dedup]\nbands = 0\n", "dedup, bands: 0 is outside 1 to 512", "--bands 0", "--bands 0: expected 1 to 512"},
      {"[dedup]\nmemory_mb = 0\n", "dedup, memory_mb: 0 is below 1", "--memory-mib 0",
       "--memory-mib 0: expected 1 or more"},
      {"[read]\non_bad = \"stay\"\n", "read, on_bad: 'stay' is not skip, stop or replace", "--on-bad stay",
       "--on-bad: 'stay' is not skip, stop or replace"},
      {"[write]\nlevel = 20\n", "write, level: 20 is outside 1 to 19", "--level 20", "--level 20: expected 1 to 19"}};
  for (const auto& [tables, of_recipe, words, of_flags] : mistakes) {
    const Ran a = recipe(tables), b = flags(words);
    EXPECT_EQ(a.code, 1) << tables;
    EXPECT_NE(a.err.find(of_recipe), std::string::npos) << a.err;
    EXPECT_EQ(b.code, 2) << words;
    EXPECT_NE(b.err.find(of_flags), std::string::npos) << b.err;
  }
}

}  // namespace
}  // namespace quern
