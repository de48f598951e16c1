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
      {"[dedup]\nthreshold = 0.7\nbands = \"auto\"\nfalse_positive_weight = 0.3\n",
       "--threshold 0.7 --bands auto --false-positive-weight 0.3", "bands_chosen_for"},
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
      {"[dedup]\nbands = 0\n", "dedup, bands: 0 is outside 1 to 512", "--bands 0", "--bands: 0 is outside 1 to 512"},
      {"[dedup]\nbands = \"all\"\n", "dedup, bands: 'all' is not a whole number or auto", "--bands all",
       "--bands: 'all' is not a whole number or auto"},
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

// Thresholds whose bands are chosen are told by their configuration; others have the preset's, and a warning where those
// miss what the threshold asks for.
TEST(CorpusSettings, BandsForAThreshold) {
  ScratchFolder d;
  const std::string dir = d / "";
  write_file(dir + "/a.jsonl", "{\"text\":\"one two three\"}\n");
  const auto dedup = [&](const std::string& words) {
    std::filesystem::remove_all(dir + "/o");
    return shell(fmt::format("quern corpus dedup {0}/a.jsonl --out {0}/o --json {1}", dir, words));
  };
  const auto shape = [](const Ran& r) {
    const Json config = Json::parse(r.out).at("config");
    return fmt::format("{} x {}", config.at("bands").as_int(), config.at("rows_a_band").as_int());
  };
  Ran r = dedup("--threshold 0.7 --bands auto");
  EXPECT_EQ(shape(r), "14 x 9");
  EXPECT_EQ(r.err.find("warning"), std::string::npos) << r.err;
  EXPECT_NEAR(Json::parse(r.out).at("config").at("bands_chosen_for").at("false_negatives").as_double(), 0.0379, 5e-5);
  EXPECT_EQ(shape(dedup("--preset zyda2 --bands auto")), "8 x 16");
  EXPECT_EQ(shape(dedup("--bands auto")), "32 x 4");
  EXPECT_EQ(shape(dedup("--preset fineweb")), "14 x 8");

  r = dedup("--threshold 0.25");
  EXPECT_EQ(shape(r), "32 x 4");
  EXPECT_NE(
      r.err.find("warning: 32 LSH bands of 4 rows are made for another threshold than 0.25: they make a pair of "
                 "similarity 0.25 a candidate with probability 0.12"),
      std::string::npos)
      << r.err;
  EXPECT_NE(r.err.find("--bands auto chooses it"), std::string::npos) << r.err;
  // Candidates below the threshold are sorted out by verification, and are duplicates without.
  EXPECT_EQ(dedup("--threshold 0.8").err.find("warning"), std::string::npos);
  EXPECT_NE(dedup("--threshold 0.8 --verify none").err.find("made for another threshold"), std::string::npos);
  for (const char* words : {"", "--threshold 0.4", "--threshold 0.25 --bands 64 --rows-per-band 2"})
    EXPECT_EQ(dedup(words).err.find("warning"), std::string::npos) << words;

  const std::tuple<const char*, const char*> mistakes[] = {
      {"--bands auto --rows-per-band 4", "bands = auto chooses the rows too"},
      {"--false-positive-weight 0.3", "has no effect"},
      {"--preset fineweb --mode compat", "preset fineweb has mode fast alone"},
      {"--bands auto --preset exact", "preset exact has no LSH bands"},
      {"--bands auto --threshold 1", "threshold 1: expected a number between 0 and 1"}};
  for (const auto& [words, said] : mistakes) {
    r = dedup(words);
    EXPECT_NE(r.code, 0) << words;
    EXPECT_NE(r.err.find(said), std::string::npos) << r.err;
  }
}

TEST(CorpusSettings, TableOfBands) {
  Ran r = shell("quern corpus bands --threshold 0.4");
  EXPECT_NE(r.out.find("optimum     32 x 4     0.0533     0.0326  0.003 0.050 0.229 0.564 0.873 0.988"),
            std::string::npos)
      << r.out;
  EXPECT_NE(r.out.find("zyda2       8 x 16"), std::string::npos) << r.out;
  const Json j = Json::parse(shell("quern corpus bands --threshold 0.8 --signature-rows 112 --json").out);
  const Json& best = j.at("bands").as_array().at(0);
  EXPECT_EQ(best.at("bands").as_int() * best.at("rows_per_band").as_int() <= 112, true);
  EXPECT_NEAR(best.at("candidate").as_array().at(0).as_double(), 0, 1e-6);
  r = shell("quern corpus bands --threshold 0");
  EXPECT_NE(r.code, 0);
  EXPECT_NE(r.err.find("threshold 0: expected a number between 0 and 1"), std::string::npos) << r.err;
}

}  // namespace
}  // namespace quern
