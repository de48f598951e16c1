// quern corpus on rows that know where they come from: columns are added and ride along to the end, nested ones too.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "quern/base/json.h"
#include "quern/base/mmap.h"
#include "quern/corpus/bytes/byte_stream.h"
#include "tests/cli/shell.h"

namespace quern {
namespace {

namespace fs = std::filesystem;

constexpr const char* kGerman =
    "Der Müller öffnete das Tor vor Sonnenaufgang, und am Mittag standen dreihundert Säcke Mehl im Hof.";
constexpr const char* kFrench =
    "Le meunier ouvrit la porte avant l'aube, et à midi trois cents sacs de farine attendaient dans la cour.";

class CliCorpusColumns : public ::testing::Test {
 protected:
  CliCorpusColumns() : dir_(folder_ / "") {
    write_file(
        dir_ + "/a.jsonl",
        fmt::format("{{\"id\":\"x/1\",\"meta\":{{\"tags\":[\"a\",null],\"n\":1.50}},\"text\":\"{}\",\"url\":\"http://"
                    "a.example/\"}}\n"
                    "{{\"text\":\"{}\"}}\n{{\"id\":7,\"text\":\"123\",\"language\":\"xx\"}}\n",
                    kGerman, kFrench));
  }
  Ran run(const std::string& words) const { return shell(fmt::format("cd {} && quern corpus {}", dir_, words)); }
  std::vector<Json> rows(const std::string& file) const {
    const auto in = corpus::open_bytes(dir_ + "/" + file);
    std::string all, piece(1 << 16, ' ');
    while (const size_t n = in->read(piece.data(), piece.size())) all.append(piece, 0, n);
    std::vector<Json> out;
    for (size_t at = 0; at < all.size();) {
      const size_t end = all.find('\n', at);
      out.push_back(Json::parse(all.substr(at, end - at)));
      at = end + 1;
    }
    return out;
  }
  ScratchFolder folder_;
  const std::string dir_;
};

TEST_F(CliCorpusColumns, AnnotateDropsNothing) {
  write_file(
      dir_ + "/side.jsonl",
      "{\"id\":\"x\\/1\",\"grade\":4,\"who\":{\"name\":\"me\"}}\n{\"id\":7,\"grade\":1}\n{\"id\":99,\"grade\":0}\n");
  Ran r = run("annotate web=a.jsonl --language --features --filter gopher-quality --labels side.jsonl --out out");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_NE(r.err.find("1 rows have a member of the name of an added column"), std::string::npos) << r.err;
  const std::vector<Json> all = rows("out/part-00000.jsonl.zst");
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].at("id").as_string(), "x/1");
  EXPECT_EQ(all[0].at("meta").dump(), Json::parse("{\"tags\":[\"a\",null],\"n\":1.50}").dump());
  EXPECT_EQ(all[0].at("language").as_string(), "de");
  EXPECT_GT(all[0].at("language_score").as_double(), 0.9);
  EXPECT_EQ(all[0].at("source").as_string(), "web");
  EXPECT_EQ(all[0].at("grade").as_int(), 4);
  EXPECT_EQ(all[0].at("who").at("name").as_string(), "me");
  EXPECT_EQ(all[0].at("features").at("words").as_int(), 16);
  EXPECT_EQ(all[0].at("failing").as_array().at(0).as_string(), "words<50");
  EXPECT_EQ(all[1].at("language").as_string(), "fr");
  EXPECT_EQ(all[1].at("id").as_int(), 1);  // its place: source, file and row
  EXPECT_FALSE(all[1].find("grade"));
  EXPECT_EQ(all[2].at("language").as_string(), "xx");  // its own
  EXPECT_EQ(all[2].at("grade").as_int(), 1);
  r = run("annotate a.jsonl --language --prefix q_ --out -");
  EXPECT_NE(r.out.find("\"language\":\"xx\",\"q_language\":\"und\",\"q_language_score\":0.0000}"), std::string::npos)
      << r.out;
  // Numbers stay as they are written, whatever their size.
  write_file(dir_ + "/big.jsonl", "{\"id\":17293822569102704641,\"text\":\"a\"}\n");
  write_file(dir_ + "/side2.jsonl", "{\"id\": 17293822569102704641, \"n\": [18446744073709551615, 1.50]}\n");
  r = run("annotate big.jsonl --labels side2.jsonl --out -");
  EXPECT_EQ(r.out, "{\"id\":17293822569102704641,\"text\":\"a\",\"n\":[18446744073709551615, 1.50]}\n");
  EXPECT_NE(r.err.find("1 documents, 1 of them with a row of the side files"), std::string::npos) << r.err;
  r = run("annotate big.jsonl --labels side2.jsonl --out big");
  EXPECT_NE(r.out.find("1 documents annotated, 1 of them with a row of the side files"), std::string::npos) << r.out;
  r = run("annotate a.jsonl --labels side2.jsonl --out none");
  EXPECT_NE(r.err.find("no document has an id of the side files"), std::string::npos) << r.err;
  r = run("annotate a.jsonl --labels - --out o3 < side2.jsonl");
  EXPECT_EQ(r.code, 2);
  fs::create_directories(dir_ + "/lists/url");
  write_file(dir_ + "/lists/url/domains.txt", "a.example\n");
  r = run("annotate a.jsonl --filter url --lists lists --out o3");
  EXPECT_NE(r.err.find("--filter url needs --url-field"), std::string::npos) << r.err;
  write_file(dir_ + "/bad.jsonl", "{\"grade\":4}\n");
  r = run("annotate a.jsonl --labels bad.jsonl --out o2");
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("bad.jsonl:1: expected a JSON object with an id"), std::string::npos) << r.err;
  EXPECT_FALSE(fs::exists(dir_ + "/o2/part-00000.jsonl.zst"));
}

// A side file as Python and editors write it, and one that names an id twice.
TEST_F(CliCorpusColumns, SideFilesAreFixedAndToldOf) {
  write_file(dir_ + "/side.jsonl",
             "\xEF\xBB\xBF{\"id\":\"x/1\",\"score\":NaN,\"half\":\"a\\ud800\"}\n{\"id\":7,\"n\":1}\n");
  Ran r = run("annotate a.jsonl --labels side.jsonl --out -");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_NE(r.out.find("\"score\":null,\"half\":\"a\\ufffd\"}"), std::string::npos) << r.out;
  EXPECT_NE(r.out.find("\"n\":1}"), std::string::npos) << r.out;
  EXPECT_NE(r.err.find("fixed 1 rows of side files that Python wrote, the first is side.jsonl:1:"), std::string::npos)
      << r.err;
  write_file(dir_ + "/twice.jsonl",
             "{\"id\":\"x/1\",\"n\":1}\n{\"id\":\"x/1\",\"n\":2,\"m\":3}\n{\"id\":7,\"n\":5}\n{\"id\":7,\"n\":5}\n");
  r = run("annotate a.jsonl --labels twice.jsonl --out -");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_NE(r.out.find("\"n\":1,\"m\":3}"), std::string::npos) << r.out;
  EXPECT_NE(r.err.find("1 rows of side files give an id that was there another value for a field; the first value "
                       "counts: twice.jsonl:2: id \"x/1\", field 'n'"),
            std::string::npos)
      << r.err;
  EXPECT_EQ(r.err.find("rows have a member of the name of an added column"), std::string::npos) << r.err;
}

TEST_F(CliCorpusColumns, LanguagesFilter) {
  Ran r = run("filter a.jsonl --language de,fr --rejects --reasons --out out");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(rows("out/part-00000.jsonl.zst").size(), 2u);
  const std::vector<Json> gone = rows("out/reject-00000.jsonl.zst"), why = rows("out/reasons.jsonl");
  ASSERT_EQ(gone.size(), 1u);
  EXPECT_EQ(gone[0].at("failing").dump(), "[\"language\"]");
  EXPECT_EQ(why.at(0).at("id").as_int(), 7);  // the row's own
  r = run("filter a.jsonl --filter language:fr:0.9+pii --out -");
  EXPECT_NE(r.out.find("meunier"), std::string::npos) << r.err;
  EXPECT_EQ(r.out.find("Müller"), std::string::npos);
  r = run("filter a.jsonl --language german --out o2");
  EXPECT_NE(r.code, 0);
  EXPECT_NE(r.err.find("'german' is not one of its labels: af an ar"), std::string::npos) << r.err;
  r = run("filter a.jsonl --filter none --out o2");
  EXPECT_EQ(r.code, 2);
}

// From annotated rows through deduplication, a mixture and tokens to Parquet.
TEST_F(CliCorpusColumns, RowsKeepTheirColumnsToTheEnd) {
  write_file(
      dir_ + "/b.jsonl",
      fmt::format("{{\"content\":\"{}\",\"text\":\"title\",\"deep\":{{\"a\":[1,{{\"b\":null}}]}}}}\n", kGerman));
  ASSERT_EQ(run("annotate a=a.jsonl --language --out one").code, 0);
  ASSERT_EQ(run("annotate b=b.jsonl --text-field content --language --out two").code, 0);
  write_file(dir_ + "/r.toml",
             "[[source]]\nname=\"a\"\npaths=[\"one\"]\nshare=1\nlanguage=\"de,fr\"\n"
             "[[source]]\nname=\"b\"\npaths=[\"two\"]\ntext_field=\"content\"\nshare=1\n"
             "[dedup]\npreset=\"exact\"\nscope=\"within\"\n[mix]\nmegabytes=0.0004\n[tokenize]\ntokenizer="
             "\"" QUERN_SOURCE_DIR "/models/zaya-nano\"\nrows=true\n");
  Ran r = run("build r.toml --out out");
  ASSERT_EQ(r.code, 0) << r.err;
  std::vector<Json> mixed = rows("out/mixed/part-00000.jsonl.zst");
  ASSERT_GE(mixed.size(), 2u);
  bool nested = false, renamed = false;
  for (const Json& row : mixed) {
    EXPECT_TRUE(row.find("language") && row.find("language_score") && row.find("id")) << row.dump();
    nested = nested || row.find("meta");
    if (row.at("source").as_string() != "b") continue;
    renamed = true;
    EXPECT_EQ(row.at("text").as_string(), kGerman);
    EXPECT_EQ(row.at("text.1").as_string(), "title");
    EXPECT_EQ(row.at("deep").dump(), "{\"a\":[1,{\"b\":null}]}");
  }
  EXPECT_TRUE(nested);
  EXPECT_TRUE(renamed);
  const std::vector<Json> tokens = rows("out/tokens.rows.jsonl.zst");
  ASSERT_EQ(tokens.size(), mixed.size());
  for (size_t i = 0; i < tokens.size(); ++i) {
    EXPECT_EQ(tokens[i].at("id"), mixed[i].at("id"));
    EXPECT_FALSE(tokens[i].find("text"));
    EXPECT_GT(tokens[i].at("tokens").as_int(), 10);
  }
  // One page and one manifest say what every source gave.
  const Json shards = Json::read(dir_ + "/out/tokens.json");
  int64_t all = 0;
  for (const Json& source : shards.at("sources").as_array()) all += source.at("tokens").as_int();
  EXPECT_EQ(all, shards.at("tokens").as_int());
  EXPECT_EQ(shards.at("sources").as_array().size(), 2u);
  const std::string page = read_file(dir_ + "/out/report.html");
  const size_t later = page.find("id=\"later\"");
  ASSERT_NE(later, page.npos);
  EXPECT_NE(page.find("<td>b</td>", later), page.npos);
  ASSERT_EQ(run("parquet out/mixed --out p").code, 0);
  r = run("extract p/part-00000.parquet --out -");
  EXPECT_NE(r.out.find("\"language\":\"de\""), std::string::npos) << r.out << r.err;
  EXPECT_NE(r.out.find("\\\"deep\\\":{\\\"a\\\":[1,"), std::string::npos) << r.out;
}

TEST_F(CliCorpusColumns, AClassifierOfLabelsIsTrainedAndUsed) {
  std::string lines;
  for (int i = 0; i < 150; ++i)
    lines += fmt::format("{{\"text\":\"{} {}\",\"kind\":\"{}\"}}\n", i, i % 2 ? kGerman : kFrench, i % 2 ? "d" : "f");
  write_file(dir_ + "/t.jsonl", lines);
  Ran r = run("train-classifier t.jsonl --label-field kind --min-texts 50 --passes 1 --test t.jsonl --out m --json");
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(Json::parse(r.out).at("macro_f1").as_double(), 1.0);
  r = run("filter a.jsonl --filter label:m:d:0.5 --out -");
  EXPECT_NE(r.out.find("Müller"), std::string::npos) << r.err;
  EXPECT_EQ(r.out.find("meunier"), std::string::npos);
  r = run("train-classifier t.jsonl --good t.jsonl --bad t.jsonl --label-field kind --out m");
  EXPECT_EQ(r.code, 2);
  r = run("train-classifier t.jsonl --out m");
  EXPECT_NE(r.err.find("--label-field or --grade-field is missing"), std::string::npos) << r.err;
}

TEST_F(CliCorpusColumns, PersonalDataAndLicenses) {
  write_file(dir_ + "/p.jsonl",
             "{\"id\":1,\"text\":\"me@x.org, you@x.org, +49 89 636-48018. License: GPL-2+ or MIT license\"}\n"
             "{\"id\":2,\"text\":\"2026-11-28, version 1.2.3.4.5\"}\n");
  Ran r = run("annotate p.jsonl --pii --license --prefix my_ --out -");
  EXPECT_NE(r.out.find(R"("my_pii":{"email":2,"phone":1},"my_licenses":["GPL-2.0-or-later","MIT"])"),
            std::string::npos)
      << r.out << r.err;
  EXPECT_NE(r.out.find(R"("my_pii":{},"my_licenses":[])"), std::string::npos) << r.out;
  r = run("filter p.jsonl --filter pii:phone+no-license:Apache --out -");
  EXPECT_NE(r.out.find("you@x.org, <PHONE>."), std::string::npos) << r.out << r.err;
  EXPECT_EQ(std::ranges::count(r.out, '\n'), 2);
  EXPECT_EQ(std::ranges::count(run("filter p.jsonl --filter no-pii:email --out -").out, '\n'), 1);
  EXPECT_EQ(std::ranges::count(run("filter p.jsonl --filter license:GPL,permissive --out -").out, '\n'), 1);
  r = run("filter p.jsonl --filter pii:e-mail --out -");
  EXPECT_NE(r.code, 0);
  EXPECT_NE(r.err.find("did you mean 'email'"), std::string::npos) << r.err;
  EXPECT_NE(run("filter p.jsonl --filter license:GNU --out -").code, 0);
}

TEST_F(CliCorpusColumns, FilesAndLicensesThatRowsState) {
  fs::create_directories(dir_ + "/docs");
  write_file(dir_ + "/docs/a.txt", "a text");
  write_file(
      dir_ + "/docs/b.html",
      "<title>T</title><p>a page that has a text of its own</p>"
      "<footer><a rel=\"license\" href=\"https://creativecommons.org/licenses/by/4.0/\">some rights</a></footer>");
  Ran r = run("annotate docs --license --out -");
  EXPECT_NE(r.out.find(R"("file":"docs/a.txt","text":"a text","licenses":[]})"), std::string::npos) << r.out << r.err;
  EXPECT_NE(r.out.find(R"("file":"docs/b.html","mime":"text/html","title":"T",)"
                       R"("license":"https://creativecommons.org/licenses/by/4.0/",)"),
            std::string::npos)
      << r.out;
  EXPECT_NE(r.out.find(R"("licenses":["CC-BY-4.0"]})"), std::string::npos) << r.out;
  const std::string page = run("filter docs --filter license:CC-BY --out -").out;
  EXPECT_EQ(std::ranges::count(page, '\n'), 1);
  // The row that came of it still states it, and rows name theirs in other fields.
  write_file(dir_ + "/page.jsonl", page + R"({"text":"x","license":"gpl-2.0+","terms":["MIT",null]})" + "\n");
  EXPECT_EQ(std::ranges::count(run("filter page.jsonl --filter license:GPL-2.0+,CC-BY --out -").out, '\n'), 2);
  EXPECT_EQ(std::ranges::count(run("filter page.jsonl --filter license:GPL-2.0++pii --out -").out, '\n'), 1);
  r = run("annotate page.jsonl --license --license-field terms --out -");
  EXPECT_NE(r.out.find(R"("licenses":[]})"), std::string::npos) << r.out << r.err;
  EXPECT_NE(r.out.find(R"("licenses":["MIT"]})"), std::string::npos) << r.out;
  // A plan's tasks say the same of their files.
  ASSERT_EQ(run("annotate docs --license --out verb").code, 0);
  ASSERT_EQ(run("annotate docs --license --out tasks --tasks 2").code, 0);
  ASSERT_EQ(run("run tasks.plan.json").code, 0);
  EXPECT_EQ(shell(fmt::format("cd {} && cmp verb/part-00000.jsonl.zst tasks/part-00000.jsonl.zst", dir_)).code, 0);
}

TEST_F(CliCorpusColumns, AGraderIsTrainedAndUsed) {
  std::string lines;
  for (int i = 0; i < 60; ++i) {
    std::string text;
    for (int k = 0; k < 20; ++k)
      text += i % 2 ? "the mill turns because of the water. " : fmt::format("mill_{}() | {}\\n", k, i);
    lines += fmt::format("{{\"id\":{},\"text\":\"{}\",\"worth\":{}}}\n", i, text, i % 2 ? 4 : 0);
  }
  write_file(dir_ + "/g.jsonl", lines);
  Ran r = run("train-classifier g.jsonl --grade-field worth --test g.jsonl --out m.json --json");
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_GT(Json::parse(r.out).at("correlation").as_double(), 0.99);
  EXPECT_EQ(Json::parse(r.out).at("held_out").as_int(), 60);
  r = run("filter g.jsonl --filter grader:m.json:2 --out -");
  EXPECT_EQ(std::ranges::count(r.out, '\n'), 30) << r.err;
  EXPECT_EQ(r.out.find("mill_"), std::string::npos);
  r = run("annotate g.jsonl --grader m.json --grades --prefix my_ --out -");
  EXPECT_NE(r.out.find("\"my_worth\":"), std::string::npos) << r.err;
  EXPECT_NE(r.out.find("\"my_education\":"), std::string::npos);
  r = run("train-classifier g.jsonl --grade-field id2 --out m2.json");
  EXPECT_NE(r.err.find("'id2' is missing, expected a number"), std::string::npos) << r.err;
  EXPECT_EQ(run("train-classifier g.jsonl --grade-field worth --labels a --out m2.json").code, 2);
}

}  // namespace
}  // namespace quern
