// The source of a row, from the recipe of a build to a mixture of its output by weights.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <filesystem>
#include <map>

#include "quern/base/json.h"
#include "quern/base/mmap.h"
#include "quern/corpus/bytes/byte_stream.h"
#include "tests/cli/shell.h"

namespace quern {
namespace {

namespace fs = std::filesystem;

class CliCorpusSources : public ::testing::Test {
 protected:
  CliCorpusSources() : dir_(folder_ / "") {}
  Ran run(const std::string& words) const { return shell(fmt::format("cd {} && quern corpus {}", dir_, words)); }
  std::vector<Json> rows(const std::string& file) const {
    const auto in = corpus::open_bytes(dir_ + "/" + file);
    std::string all, piece(1 << 16, ' ');
    while (const size_t n = in->read(piece.data(), piece.size())) all.append(piece, 0, n);
    std::vector<Json> rows;
    for (size_t at = 0; at < all.size(); at = all.find('\n', at) + 1)
      rows.push_back(Json::parse(all.substr(at, all.find('\n', at) - at)));
    return rows;
  }
  static std::string page(const std::string& name, int n) {
    std::string t;
    for (int i = 0; i < 40; ++i) t += fmt::format("{}{} ", name, n * 100 + i);
    return t;
  }
  ScratchFolder folder_;
  const std::string dir_;
};

// Zyda-2's weights are applied to what cross-deduplication left of each source.
TEST_F(CliCorpusSources, ABuildIsMixedByWeights) {
  std::string a, b;
  for (int i = 0; i < 60; ++i) a += fmt::format("{{\"text\": \"{}\" }}\n", page("a", i));
  for (int i = 0; i < 60; ++i) b += fmt::format("{{\"text\":\"{}\"}}\n", i < 30 ? page("a", i) : page("b", i));
  write_file(dir_ + "/a.jsonl", a), write_file(dir_ + "/b.jsonl", b), write_file(dir_ + "/n.txt", page("n", 1));
  write_file(
      dir_ + "/r.toml",
      "[[source]]\nname=\"dclm\"\npaths=[\"a.jsonl\"]\n[[source]]\nname=\"b \\\"two\\\"\"\npaths=[\"b.jsonl\"]\n"
      "[[source]]\nname=\"notes\"\npaths=[\"n.txt\"]\n[dedup]\npreset=\"zyda2\"\n");
  Ran r = run("build r.toml --out o");
  ASSERT_EQ(r.code, 0) << r.err;
  std::map<std::string, int> kept;
  for (const Json& row : rows("o/part-00000.jsonl.zst")) {
    const std::string source = row.at("source").as_string(), text = row.at("text").as_string();
    EXPECT_EQ(source, text[0] == 'a' ? "dclm" : text[0] == 'b' ? "b \"two\"" : "notes");
    ++kept[source];
  }
  EXPECT_EQ(kept, (std::map<std::string, int>{{"dclm", 60}, {"b \"two\"", 30}, {"notes", 1}}));
  // Many ranks write the same.
  ASSERT_EQ(run("build r.toml --out o3 --ranks 3").code, 0);
  EXPECT_EQ(read_file(dir_ + "/o3/part-00000.jsonl.zst"), read_file(dir_ + "/o/part-00000.jsonl.zst"));
  r =
      run("mix o --source-field source --share dclm=1 --share 'b \"two\"=3' --share notes=0 --megabytes 0.02 --out m "
          "--json");
  ASSERT_EQ(r.code, 0) << r.err;
  std::map<std::string, double> bytes;
  for (const Json& row : rows("m/part-00000.jsonl.zst"))
    bytes[row.at("source").as_string()] += static_cast<double>(row.at("text").as_string().size());
  EXPECT_GT(bytes["b \"two\""], 2 * bytes["dclm"]);
  EXPECT_GT(bytes["dclm"], 0);
  const std::vector<Json> mixed = Json::parse(r.out).at("sources").as_array();
  EXPECT_EQ(mixed[0].at("documents_in").as_int(), 60);
  EXPECT_EQ(mixed[1].at("documents_in").as_int(), 30);
  EXPECT_EQ(mixed[2].at("documents_in").as_int(), 1);
  EXPECT_EQ(mixed[1].at("share").as_double(), 0.75);
  EXPECT_EQ(bytes.size(), 2u);
  r = run("mix o --source-field source --share dclm=1 --share notes=1 --out m2");
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("a row is of source 'b \"two\"': expected one of dclm, notes"), std::string::npos) << r.err;
  EXPECT_EQ(run("mix x=o --source-field source --share x=1 --out m3").code, 2);
  r = run("mix n.txt --source-field source --share x=1 --out m4");
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("n.txt: is not of JSON lines and has no field 'source'"), std::string::npos) << r.err;
}

// A mixture says which source a row is of, so that its shares can be counted.
TEST_F(CliCorpusSources, AMixtureNamesItsSources) {
  write_file(dir_ + "/a.jsonl", "{\"text\":\"one\"}\n");
  write_file(dir_ + "/b.jsonl", "{\"text\":\"two\",\"source\":\"crawl\"}\n");
  write_file(dir_ + "/c.txt", "three");
  constexpr const char* kShares = "--share a=1 --share b=1 --share c=1 --megabytes 0.00003";
  const auto sources = [&](const std::string& out) {
    std::map<std::string, std::string> by_text;
    for (const Json& row : rows(out + "/part-00000.jsonl.zst"))
      by_text[row.at("text").as_string()] = row.at("source").as_string();
    return by_text;
  };
  const std::map<std::string, std::string> expected = {{"one", "a"}, {"two", "crawl"}, {"three", "c"}};
  Ran r = run(fmt::format("mix a=a.jsonl b=b.jsonl c=c.txt {} --out m", kShares));
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(sources("m"), expected);
  EXPECT_NE(r.err.find("1 rows have a field `source` with another value"), std::string::npos) << r.err;
  ASSERT_EQ(run(fmt::format("mix a=a.jsonl b=b.jsonl c=c.txt {} --out t --tasks 2", kShares)).code, 0);
  r = run("run t.plan.json");
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(read_file(dir_ + "/t/part-00000.jsonl.zst"), read_file(dir_ + "/m/part-00000.jsonl.zst"));
  EXPECT_NE(r.err.find("1 rows have a field `source` with another value"), std::string::npos) << r.err;
  ASSERT_EQ(run("mix a.jsonl --share input=1 --out u").code, 0);  // without names
  EXPECT_FALSE(rows("u/part-00000.jsonl.zst").at(0).find("source"));
}

TEST_F(CliCorpusSources, ARowKeepsItsOwnMembers) {
  write_file(dir_ + "/a.jsonl", "{\"source\":\"a\",\"text\":\"one\"}\n{\"text\":\"the \\\"source\\\" two\"}\n");
  write_file(dir_ + "/b.jsonl", "{\"text\":\"three\",\"source\":{\"crawl\":7}}\n");
  Ran r = run("dedup a=a.jsonl b=b.jsonl --out o");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_NE(r.err.find("1 kept rows have a field of their own"), std::string::npos) << r.err;
  std::vector<Json> all = rows("o/part-00000.jsonl.zst");
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].dump(), "{\"source\":\"a\",\"text\":\"one\"}");
  EXPECT_EQ(all[1].dump(), "{\"text\":\"the \\\"source\\\" two\",\"source\":\"a\"}");
  EXPECT_EQ(all[2].dump(), "{\"text\":\"three\",\"source\":{\"crawl\":7}}");
  r = run("dedup a=a.jsonl b=b.jsonl --source-field from --out p");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.err.find("of their own"), std::string::npos) << r.err;
  all = rows("p/part-00000.jsonl.zst");
  EXPECT_EQ(all[2].dump(), "{\"text\":\"three\",\"source\":{\"crawl\":7},\"from\":\"b\"}");
  // A source without a name, and none asked for: the lines as they came.
  for (const char* words : {"dedup a.jsonl --out q", "dedup x=a.jsonl --source-field '' --out s"}) {
    ASSERT_EQ(run(words).code, 0) << words;
    const std::string out = std::string(words).substr(std::string(words).size() - 1);
    EXPECT_EQ(rows(out + "/part-00000.jsonl.zst")[1].dump(), "{\"text\":\"the \\\"source\\\" two\"}") << words;
  }
}

}  // namespace
}  // namespace quern
