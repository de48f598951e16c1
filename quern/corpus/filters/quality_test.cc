// The quality filters against an independent transcription in Python (testdata/quality_filters.json, made by
// tools/oracles/corpus/quality_filters.py): every reason and every text that goes on. URL lists and chains by hand.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "quern/base/json.h"
#include "quern/base/mmap.h"
#include "quern/base/test_message.h"
#include "quern/corpus/filters/filters.h"
#include "quern/corpus/text/text_pieces.h"

namespace quern::corpus {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> failing(DocumentFilter& f, const FilterResult& j) {
  std::vector<std::string> names;
  for (size_t i = 0; i < f.rules().size(); ++i)
    if (j.failing >> i & 1) names.emplace_back(f.rules()[i]);
  return names;
}

TEST(QualityFilters, DecideAsTheTranscription) {
  const Json golden = Json::read(QUERN_SOURCE_DIR "/quern/corpus/filters/testdata/quality_filters.json");
  std::map<std::string, int> rejected, changed;
  const std::vector<std::string> filters = {"gopher-quality", "gopher-repetition", "c4",
                                            "c4-any-end",     "fineweb",           "pii"};
  for (const std::string& name : filters) {
    const std::unique_ptr<DocumentFilter> f = find_filter(name)();
    for (const Json& c : golden.as_array()) {
      const std::string& text = c.at("text").as_string();
      const Json& expected = c.at(name);
      const FilterResult j = f->apply(text);
      std::vector<std::string> rules;
      for (const Json& r : expected.at("failing").as_array()) rules.push_back(r.as_string());
      ASSERT_EQ(failing(*f, j), rules) << name << " of " << c.at("text").dump();
      const bool same = expected.at("text").is_null();
      ASSERT_EQ(j.text, same ? text : expected.at("text").as_string()) << name << " of " << c.at("text").dump();
      ASSERT_EQ(j.changed, !same) << name << " of " << c.at("text").dump();
      rejected[name] += !j.keep(), changed[name] += j.changed;
    }
  }
  const int n = static_cast<int>(golden.as_array().size());
  for (const std::string& name : filters) {
    if (name != "pii") {
      EXPECT_GT(rejected[name], 10) << name;
    }
    EXPECT_LT(rejected[name], n) << name;
  }
  EXPECT_GT(changed["pii"], 5);
  EXPECT_GT(changed["c4"], 40);
}

TEST(QualityFilters, AChainTellsEveryReasonAndPassesTextsOn) {
  const auto one = find_filter("pii")(), chain = find_filter("pii+gopher-quality+c4")();
  EXPECT_EQ(chain->rules().size(), 13u);
  const FilterResult j = chain->apply("Write to me@here.org now.\nTwo");
  EXPECT_EQ(j.text, "Write to <EMAIL> now.");
  EXPECT_TRUE(j.changed);
  const std::vector<std::string> names = failing(*chain, j);
  EXPECT_NE(std::find(names.begin(), names.end(), "words<50"), names.end());
  EXPECT_EQ(names.back(), "sentences<5");
  EXPECT_NE(message_of([] { find_filter("c4+gofer-quality"); }).find("did you mean 'gopher-quality'"),
            std::string::npos);
}

TEST(QualityFilters, UrlLists) {
  const fs::path folder = fs::temp_directory_path() / fmt::format("quern-url-{}", ::getpid());
  fs::create_directories(folder / "url");
  write_file(folder / "url/domains.txt", "bad.org\nSpam.example.com\n");
  write_file(folder / "url/urls.txt", "https://fine.org/one/page/\n");
  write_file(folder / "url/words.txt", "casino\n");
  const auto f = find_filter("url", folder.string())();
  const auto reasons = [&](std::string_view url) {
    return failing(*f, f->apply_page("text", {.url = url, .license = {}}));
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(reasons("http://bad.org/x"), Names{"url_domain"});
  EXPECT_EQ(reasons("https://www.BAD.org:8080/x?y"), Names{"url_domain"});
  EXPECT_EQ(reasons("https://user@a.bad.org"), Names{"url_domain"});
  EXPECT_EQ(reasons("https://notbad.org/"), Names{});
  EXPECT_EQ(reasons("https://example.com/"), Names{});
  EXPECT_EQ(reasons("http://spam.example.com"), Names{"url_domain"});
  EXPECT_EQ(reasons("http://fine.org/one/page"), Names{"url_listed"});
  EXPECT_EQ(reasons("http://fine.org/one/page/two"), Names{});
  EXPECT_EQ(reasons("http://x.org/best-CASINO-games"), Names{"url_word"});
  EXPECT_EQ(reasons("http://x.org/casinos"), Names{});
  EXPECT_EQ(reasons(""), Names{});
  fs::remove_all(folder / "url");
  EXPECT_NE(message_of([&] { find_filter("url", folder.string()); }).find("is not a folder"), std::string::npos);
  fs::remove_all(folder);
}

TEST(TextPieces, Sentences) {
  EXPECT_EQ(count_sentences(""), 0u);
  EXPECT_EQ(count_sentences("  \n"), 0u);
  EXPECT_EQ(count_sentences("One. Two! Three?"), 3u);
  EXPECT_EQ(count_sentences("One... and 2.5 of it"), 2u);
  EXPECT_EQ(count_sentences("\"Yes.\" He left."), 2u);
  EXPECT_EQ(count_sentences("水車。石"), 1u);  // no white space behind the mark
}

}  // namespace
}  // namespace quern::corpus
