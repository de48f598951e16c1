// quern corpus on what other programs and hands leave behind: rows without a score, ids that some rows have, folders of
// partitions, files without an index.
#include <gtest/gtest.h>

#include <filesystem>

#include "quern/base/json.h"
#include "quern/base/mmap.h"
#include "tests/cli/shell.h"

namespace quern {
namespace {

namespace fs = std::filesystem;

class CliCorpusForeign : public ::testing::Test {
 protected:
  CliCorpusForeign() : dir_(folder_ / "") {}
  Ran run(const std::string& words) const { return shell(fmt::format("cd {} && quern corpus {}", dir_, words)); }
  void write(const std::string& name, const std::string& bytes) const {
    fs::create_directories(fs::path(dir_ + name).parent_path());
    write_file(dir_ + name, bytes);
  }
  ScratchFolder folder_;
  const std::string dir_;
};

TEST_F(CliCorpusForeign, ARowWithoutAScoreRanksLastAndStays) {
  write("s.jsonl",
        "{\"text\":\"alpha\",\"s\":1}\n{\"text\":\"gamma\"}\n{\"text\":\"delta\",\"s\":null}\n{\"text\":\"gamma\","
        "\"s\":-9}\n"
        "{\"text\":\"eps\",\"s\":\"x\"}\n");
  Ran r = run("dedup s.jsonl --score-field s --out s1 --json");
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(Json::parse(r.out).at("kept").as_int(), 3) << r.out;
  EXPECT_NE(r.err.find("1 bad_field"), std::string::npos) << r.err;
  EXPECT_NE(r.err.find("s.jsonl:5: member 's' is a string, expected a number"), std::string::npos) << r.err;
  EXPECT_NE(r.err.find("2 documents are without a score"), std::string::npos) << r.err;
  EXPECT_EQ(r.err.find("--text-field"), std::string::npos) << r.err;
  EXPECT_NE(shell("cd " + dir_ + " && zstd -dc s1/part-*").out.find("\"s\":-9"), std::string::npos)
      << "of two copies the one with a score";
  r = run("dedup s.jsonl --score-field ss --out s2");
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("has a number in the field of the score"), std::string::npos) << r.err;
}

TEST_F(CliCorpusForeign, IdsThatSomeRowsHaveAreToldOf) {
  write("id.jsonl", "{\"text\":\"a\",\"id\":2}\n{\"text\":\"b\"}\n");
  Ran r = run("annotate id.jsonl --out -");
  EXPECT_NE(r.err.find("1 of 2 documents have an id of their own"), std::string::npos) << r.err;
  write("all.jsonl", "{\"text\":\"a\",\"id\":2}\n{\"text\":\"b\",\"id\":3}\n");
  r = run("annotate all.jsonl --out -");
  EXPECT_EQ(r.err.find("an id of their own"), std::string::npos) << r.err;
}

TEST_F(CliCorpusForeign, FeaturesAreThoseOfWords) {
  write("f.jsonl",
        "{\"text\":\"The end...\"}\n{\"text\":\"Stop.  Go. Run.\"}\n{\"text\":\"a\\u00a0b\\u3000c "
        "d\"}\n{\"text\":\"\"}\n");
  const Ran r = run("annotate f.jsonl --features --out -");
  for (const char* part :
       {R"("words":2,"lines":1,"mean_word_length":4.5)", R"("words":3,"lines":1,"mean_word_length":4,)",
        R"("words":4,"lines":1,"mean_word_length":1,)", R"("words":0,"lines":0,"mean_word_length":0,)"})
    EXPECT_NE(r.out.find(part), std::string::npos) << part << "\n" << r.out;
}

TEST_F(CliCorpusForeign, AFolderOfAPartitionIsNoSource) {
  write("en/x.jsonl", "{\"text\":\"wrong\"}\n");
  write("lang=en/x.jsonl", "{\"text\":\"right\"}\n");
  for (const char* words : {"lang=en", "'lang=e*'"}) {
    const Ran r = run(fmt::format("extract {} --out -", words));
    EXPECT_EQ(r.out, "{\"text\":\"right\"}\n") << words << r.err;
  }
  EXPECT_NE(run("extract 'web=e*' --out -").out.find("wrong"), std::string::npos);
}

TEST_F(CliCorpusForeign, AParquetFileWithoutItsIndexIsOneInputLost) {
  write("f/a.jsonl", "{\"text\":\"x\"}\n");
  write("f/b.jsonl.zstd", shell("echo '{\"text\":\"z\"}' | zstd -q").out);
  write("f/c.parquet", "");
  write("f/notes", "?");
  const Ran r = run("extract f --out -");
  EXPECT_EQ(r.code, 1);
  EXPECT_EQ(r.out, "{\"text\":\"x\"}\n{\"text\":\"z\"}\n") << r.err;
  EXPECT_NE(r.err.find("no document could be read from f/c.parquet"), std::string::npos) << r.err;
  EXPECT_NE(r.err.find("skipped 1 files of unknown format in the input folders: f/notes"), std::string::npos)
      << r.err;
  EXPECT_EQ(run("extract f/c.parquet --out -").code, 1);
}

TEST_F(CliCorpusForeign, PagesThatSayNoEncodingAreCounted) {
  write("k.html",
        "<html><body><p>\xF0\xD2\xC9\xD7\xC5\xD4 \xCD\xC9\xD2, \xDC\xD4\xCF "
        "\xD3\xD4\xC1\xD4\xD8\xD1.</p></body></html>");
  Ran r = run("extract k.html --out -");
  EXPECT_NE(r.err.find("1 pages are not UTF-8 and say no encoding"), std::string::npos) << r.err;
  write("k.html", "<html><meta charset=koi8-r><body><p>\xF0\xD2\xC9\xD7\xC5\xD4 \xCD\xC9\xD2.</p></body></html>");
  r = run("extract k.html --out -");
  EXPECT_NE(r.out.find("Привет мир."), std::string::npos) << r.out;
  EXPECT_EQ(r.err.find("say no encoding"), std::string::npos) << r.err;
}

TEST_F(CliCorpusForeign, ACellOfATableIsANumberOfAColumn) {
  write("p.csv", "text,language_score\nhello,0.5\nbye,high\n");
  ASSERT_EQ(run("parquet p.csv --out pp").code, 0);
  const Ran r = run("extract pp --out -");
  EXPECT_NE(r.out.find("\"language_score\":0.5"), std::string::npos) << r.out;
  EXPECT_NE(r.out.find("\"language_score\":null"), std::string::npos) << r.out;
}

}  // namespace
}  // namespace quern
