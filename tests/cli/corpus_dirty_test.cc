// quern corpus on files as other programs write them: what is kept is JSON that everybody reads, pages keep their URL,
// and what is not read is said.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <filesystem>

#include "quern/base/json.h"
#include "quern/base/mmap.h"
#include "quern/corpus/bytes/byte_stream.h"
#include "tests/cli/shell.h"

namespace quern {
namespace {

namespace fs = std::filesystem;

class CliCorpusDirty : public ::testing::Test {
 protected:
  CliCorpusDirty() : dir_(folder_ / "") {}
  Ran run(const std::string& words) const { return shell(fmt::format("cd {} && quern corpus {}", dir_, words)); }
  std::string unpacked(const std::string& file) const {
    const auto in = corpus::open_bytes(dir_ + "/" + file);
    std::string all, piece(1 << 16, ' ');
    while (const size_t n = in->read(piece.data(), piece.size())) all.append(piece, 0, n);
    return all;
  }
  ScratchFolder folder_;
  const std::string dir_;
};

std::string record(const std::string& type, const std::string& url, const std::string& body) {
  return fmt::format(
      "WARC/1.0\r\nWARC-Type: {}\r\nWARC-Target-URI: {}\r\nWARC-Date: 2024-05-18T01:58:10Z\r\nContent-Length: "
      "{}\r\n\r\n{}\r\n\r\n",
      type, url, body.size(), body);
}

// Every stage that copies lines: the general reader, which knows no NaN and no half surrogates, reads them.
TEST_F(CliCorpusDirty, JsonOfPythonIsKeptAsJson) {
  write_file(dir_ + "/a.jsonl",
             "\xEF\xBB\xBF{\"text\": \"one\", \"score\": NaN}\n{\"text\": \"a\\ud800b\", \"x\": -Infinity}\n"
             "{\"text\": \"three\"}\n");
  const std::string expected =
      "{\"text\": \"one\", \"score\": null}\n{\"text\": \"a\\ufffdb\", \"x\": null}\n{\"text\": \"three\"}\n";
  for (const char* stage : {"dedup a.jsonl", "exact a.jsonl", "filter a.jsonl --filter pii", "repeats a.jsonl",
                            "repeats a.jsonl --unit span", "dedup a.jsonl --ranks 2"}) {
    fs::remove_all(dir_ + "/o");
    const Ran r = run(fmt::format("{} --out o", stage));
    EXPECT_EQ(r.code, 0) << r.err;
    EXPECT_NE(r.err.find("fixed 2 JSON records that Python wrote"), std::string::npos) << r.err;
    EXPECT_EQ(unpacked("o/part-00000.jsonl.zst"), expected) << stage;
    EXPECT_EQ(Json::read(dir_ + "/o/manifest.json").at("read").at("json_fixed").as_int(), 2) << stage;
  }
}

TEST_F(CliCorpusDirty, PagesKeepTheirUrl) {
  write_file(dir_ + "/a.wet", record("conversion", "http://good.org/1", "a page") +
                                  record("conversion", "http://bad.org/2", "another page"));
  const std::string good =
      "{\"id\":0,\"url\":\"http://good.org/1\",\"date\":\"2024-05-18T01:58:10Z\",\"text\":\"a page\"}\n";
  const std::string bad =
      "{\"id\":1,\"url\":\"http://bad.org/2\",\"date\":\"2024-05-18T01:58:10Z\",\"text\":\"another page\"}\n";
  fs::create_directories(dir_ + "/lists/url");
  write_file(dir_ + "/lists/url/domains.txt", "bad.org\n");
  Ran r = run("filter a.wet --filter url --lists lists --rejects --out f");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(unpacked("f/part-00000.jsonl.zst"), good);
  EXPECT_EQ(unpacked("f/reject-00000.jsonl.zst"), bad.substr(0, bad.size() - 2) + ",\"failing\":[\"url_domain\"]}\n");
  EXPECT_NE(r.err.find("these rules remove nothing without their word lists: url_listed, url_word"),
            std::string::npos)
      << r.err;
  write_file(dir_ + "/r.toml", "lists=\"lists\"\n[[source]]\nname=\"web\"\npaths=[\"a.wet\"]\nfilter=\"url\"\n");
  r = run("build r.toml --out b");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_NE(unpacked("b/part-00000.jsonl.zst").find("\"url\":\"http://good.org/1\""), std::string::npos);
  EXPECT_EQ(Json::read(dir_ + "/b/manifest.json").at("filtered").as_int(), 1);
  EXPECT_EQ(Json::read(dir_ + "/b/manifest.json").at("idle_rules").as_array().size(), 2u);
  for (const char* stage : {"dedup a.wet", "repeats a.wet", "repeats a.wet --unit span", "dedup a.wet --ranks 2"}) {
    fs::remove_all(dir_ + "/o");
    r = run(fmt::format("{} --out o", stage));
    EXPECT_EQ(r.code, 0) << r.err;
    EXPECT_EQ(unpacked("o/part-00000.jsonl.zst"), good + bad) << stage;
  }
  r = run("parquet a.wet --out p && quern corpus filter p --filter url --lists lists --out pf");
  EXPECT_EQ(r.code, 2);  // there the URL is in `members`
  // JSON lines need the field.
  write_file(dir_ + "/a.jsonl", "{\"text\":\"one\",\"u\":\"http://bad.org/\"}\n");
  write_file(dir_ + "/r.toml", "lists=\"lists\"\n[[source]]\nname=\"web\"\npaths=[\"a.jsonl\"]\nfilter=\"url\"\n");
  r = run("build r.toml --out c");
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("source 'web': filter url needs a url_field"), std::string::npos) << r.err;
}

std::string response(const std::string& type, const std::string& body) {
  return record("response", "http://a.org/",
                fmt::format("HTTP/1.1 200 OK\r\nContent-Type: {}\r\n\r\n{}", type, body));
}

TEST_F(CliCorpusDirty, PagesOfAWarcFileAreRowsAndTheRestIsTold) {
  write_file(dir_ + "/a.warc", record("request", "http://a.org/", "GET /") +
                                   response("text/html", "<title>T</title><p>text</p>") + response("image/png", "x") +
                                   response("text/html", "<script>1</script>"));
  Ran r = run("extract a.warc --out o");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(
      unpacked("o/part-00000.jsonl.zst"),
      "{\"id\":1,\"url\":\"http://a.org/\",\"date\":\"2024-05-18T01:58:10Z\",\"mime\":\"text/html\",\"title\":\"T\","
      "\"text\":\"text\"}\n");
  EXPECT_NE(r.err.find("left out 1 records that are no web pages: 1 image/png"), std::string::npos) << r.err;
  EXPECT_NE(r.err.find("left out 1 web pages without main text"), std::string::npos) << r.err;
  const Json read = Json::read(dir_ + "/o/manifest.json").at("read");
  EXPECT_EQ(read.at("rows").as_int(), 4);
  EXPECT_EQ(read.at("other_types").at("image/png").as_int(), 1);
  EXPECT_EQ(read.at("empty_page").as_int(), 1);
  write_file(dir_ + "/b.warc", response("image/png", "x"));
  r = run("stats a.warc b.warc");
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("error: no document could be read from b.warc"), std::string::npos) << r.err;
}

TEST_F(CliCorpusDirty, RulesWithoutTheirListsAreTold) {
  std::string text;
  for (int i = 0; i < 60; ++i) text += fmt::format("word{} and ", i);
  write_file(dir_ + "/a.jsonl", fmt::format("{{\"text\":\"{}\"}}\n", text));
  for (const char* stage : {"filter a.jsonl --filter zyda", "dedup a.jsonl --filter zyda"}) {
    fs::remove_all(dir_ + "/o");
    const Ran r = run(fmt::format("{} --out o", stage));
    EXPECT_EQ(r.code, 0) << r.err;
    EXPECT_NE(r.err.find("these rules remove nothing without their word lists: zh_list>1, sexual>10, sexual>0.001, "
                         "profanity>0.0025, cursed>0.01; name the folder of the lists (--lists"),
              std::string::npos)
        << r.err;
    EXPECT_EQ(Json::read(dir_ + "/o/manifest.json").at("idle_rules").as_array().size(), 5u);
  }
}

// A field with a typing error is said, and one that is there and null is not taken for one.
TEST_F(CliCorpusDirty, AFieldThatNoRowHasIsTold) {
  write_file(dir_ + "/a.jsonl", "{\"text\":\"one\",\"url\":\"http://bad.org/\"}\n{\"text\":\"two\",\"url\":null}\n");
  fs::create_directories(dir_ + "/lists/url");
  write_file(dir_ + "/lists/url/domains.txt", "bad.org\n");
  constexpr const char* kSaid = "has the field that --url-field (url_field in a recipe) names";
  for (const char* words : {"filter a.jsonl --filter url --lists lists --url-field ulr --out f",
                            "filter a.jsonl --filter url --lists lists --url-field ulr --out -",
                            "annotate a.jsonl --filter url --lists lists --url-field ulr --out n",
                            "dedup a.jsonl --filter url --lists lists --url-field ulr --out d"}) {
    const Ran r = run(words);
    EXPECT_EQ(r.code, 0) << words << r.err;
    EXPECT_NE(r.err.find(std::string("no row ") + kSaid), std::string::npos) << words << r.err;
  }
  Ran r = run("filter a.jsonl --filter url --lists lists --url-field url --out g");  // one row has it
  EXPECT_EQ(r.err.find(kSaid), std::string::npos) << r.err;
  write_file(dir_ + "/b.jsonl", "{\"text\":\"three\"}\n");
  write_file(dir_ + "/r.toml",
             "lists=\"lists\"\n[[source]]\nname=\"good\"\npaths=[\"a.jsonl\"]\nfilter=\"url\"\nurl_field=\"url\"\n"
             "[[source]]\nname=\"web\"\npaths=[\"b.jsonl\"]\nfilter=\"url\"\nurl_field=\"url\"\n");
  r = run("build r.toml --out b");
  EXPECT_NE(r.err.find(std::string("no row of the source web ") + kSaid), std::string::npos) << r.err;
  ASSERT_EQ(run("filter a.jsonl --filter url --lists lists --url-field ulr --out t --tasks 1").code, 0);
  r = run("run t.plan.json");
  EXPECT_NE(r.err.find(std::string("no row ") + kSaid), std::string::npos) << r.err;

  write_file(dir_ + "/n.jsonl", "{\"text\":\"one\"}\n{\"text\":null}\n");
  r = run("stats n.jsonl");
  EXPECT_NE(r.err.find("n.jsonl:2: member 'text' is null"), std::string::npos) << r.err;
  EXPECT_EQ(r.err.find("hint: --text-field"), std::string::npos) << r.err;
  write_file(dir_ + "/n.jsonl", "{\"text\":\"one\"}\n{\"body\":\"two\"}\n");
  EXPECT_NE(run("stats n.jsonl").err.find("hint: --text-field"), std::string::npos);
}

TEST_F(CliCorpusDirty, JsonThatIsNotOneObjectPerLine) {
  write_file(dir_ + "/a.json", "[{\"text\":\"a\"},{\"text\":\"b\"}]\n");
  write_file(dir_ + "/b.json", "[\n  {\n    \"text\": \"a\"\n  }\n]\n");
  for (const char* words : {"stats a.json", "stats b.json", "stats - < a.json", "stats - --form jsonl < a.json"}) {
    const Ran r = run(words);
    EXPECT_EQ(r.code, 1) << words;
    EXPECT_NE(r.err.find("a JSON array: write one object per line, for example with jq -c '.[]'"), std::string::npos)
        << words << r.err;
  }
  write_file(dir_ + "/c.json", "{\n  \"text\": \"a\"\n}\n");
  write_file(dir_ + "/d.json", "{\"text\": \"a\",\n\"n\": 1}\n");
  for (const char* words : {"stats c.json", "stats d.json", "stats - < c.json"}) {
    const Ran r = run(words);
    EXPECT_EQ(r.code, 1) << words;
    EXPECT_NE(r.err.find("an object over several lines: write one per line, for example with jq -c ."),
              std::string::npos)
        << words << r.err;
  }
  write_file(dir_ + "/e.jsonl", "{\"text\":\"a\"\n");  // cut short, which no jq repairs
  EXPECT_EQ(run("stats e.jsonl").err.find("jq"), std::string::npos);
}

// The questions of a text file are its lines, or its paragraphs where blank lines stand between.
TEST_F(CliCorpusDirty, ItemsOfABenchmarkThatIsText) {
  const std::string one = "which of the two mills at the river stands still in winter",
                    two = "how many sacks of flour did the miller sell before noon today";
  write_file(dir_ + "/a.jsonl", "{\"text\":\"he asked " + one + " and left\"}\n{\"text\":\"they asked " + two +
                                    "\"}\n{\"text\":\"nothing of it\"}\n");
  write_file(dir_ + "/q.txt", one + "\r\n" + two + "\n\n");
  Ran r = run("decontaminate a.jsonl --against q.txt --out -");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.out, "{\"text\":\"nothing of it\"}\n") << r.err;
  EXPECT_NE(r.err.find("benchmarks: 2 items in 1 files, 2 n-grams of up to 13 words"), std::string::npos) << r.err;
  // The paragraph has 24 words, and the documents have no 13 of them in a row.
  write_file(dir_ + "/p.txt", one + "\n" + two + "\n  \nshort\n");
  r = run("decontaminate a.jsonl --against p.txt --out o");
  EXPECT_NE(r.err.find("benchmarks: 2 items in 1 files, 12 n-grams"), std::string::npos) << r.err;
  EXPECT_NE(r.err.find("skipped 1 of 2 items that are shorter than 8 words"), std::string::npos) << r.err;
  EXPECT_EQ(Json::read(dir_ + "/o/manifest.json").at("documents_out").as_int(), 3);
  // Several fields, which a text file does not have: its items count once.
  write_file(dir_ + "/j.jsonl",
             "{\"q\":\"" + one + "\",\"a\":\"it is the one that has no wheel to turn in winter\"}\n");
  r = run("decontaminate a.jsonl --against q.txt --against j.jsonl --against-field q --against-field a --out p");
  EXPECT_NE(r.err.find("benchmarks: 4 items in 2 files"), std::string::npos) << r.err;
}

}  // namespace
}  // namespace quern
