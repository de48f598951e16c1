// Word lists against Python's re (testdata/word_lists.json, made by tools/oracles/corpus/word_lists.py), the
// automaton against plain search, and lists as they lie in a folder.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <random>

#include "quern/base/error.h"
#include "quern/base/json.h"
#include "quern/base/mmap.h"
#include "quern/corpus/filters/filters.h"
#include "quern/corpus/filters/zyda_filter.h"
#include "quern/corpus/text/word_lists.h"

namespace quern::corpus {
namespace {

TEST(WordLists, CountsArePythons) {
  const Json golden = Json::read(QUERN_SOURCE_DIR "/quern/corpus/filters/testdata/word_lists.json");
  std::vector<std::vector<std::string>> lists;
  for (const Json& l : golden.at("lists").as_array()) {
    lists.emplace_back();
    for (const Json& e : l.as_array()) lists.back().push_back(e.as_string());
  }
  WordCounter counter(std::make_shared<const WordLists>(lists));
  int64_t all = 0;
  for (const Json& c : golden.at("cases").as_array()) {
    const auto counts = counter.count(c.at("text").as_string());
    ASSERT_EQ(counts.size(), lists.size());
    for (size_t l = 0; l < lists.size(); ++l) {
      EXPECT_EQ(static_cast<int64_t>(counts[l]), c.at("counts").as_array()[l].as_int())
          << "list " << l << " in " << c.at("text").dump();
      all += static_cast<int64_t>(counts[l]);
    }
  }
  EXPECT_GT(all, 5000);
}

TEST(WordLists, AutomatonFindsWhatSearchFinds) {
  std::mt19937 random(3);
  for (int trial = 0; trial < 300; ++trial) {
    const auto draw = [&](size_t n) {
      std::string s;
      for (size_t i = 0; i < n; ++i) s += "abc"[random() % 3];
      return s;
    };
    std::map<std::string, int> distinct;
    for (int i = 0; i < 12; ++i) distinct[draw(1 + random() % 5)];
    std::vector<std::string> words;
    for (const auto& [w, n] : distinct) words.push_back(w);
    const std::string text = draw(200);
    std::map<std::pair<uint32_t, size_t>, int> found, expected;
    AhoCorasick(words).scan(text, [&](uint32_t w, size_t end) { ++found[{w, end}]; });
    for (uint32_t w = 0; w < words.size(); ++w)
      for (size_t at = 0; (at = text.find(words[w], at)) != std::string::npos; ++at)
        ++expected[{w, at + words[w].size()}];
    ASSERT_EQ(found, expected);
  }
}

std::string fresh_folder(const char* name) {
  const std::filesystem::path p = std::filesystem::path(testing::TempDir()) / name;
  std::filesystem::remove_all(p);
  std::filesystem::create_directories(p);
  return p.string();
}

TEST(WordLists, FolderMakesZydaReject) {
  const std::string folder = fresh_folder("quern_word_lists");
  write_file(folder + "/sexual.txt", " teapot \n kettle \r\n");
  write_file(folder + "/zh.json", R"({"words": ["spam", "spam"]})");
  std::string text;
  for (int i = 0; i < 300; ++i) text += "ordinary words of a text ";
  const auto plain = zyda_filter()(), strict = zyda_filter(folder)();
  EXPECT_TRUE(strict->apply(text).keep());
  EXPECT_EQ(strict->apply(text + "spam").failing, 1u << 13);  // a repeated entry counts twice
  EXPECT_TRUE(plain->apply(text + "spam").keep());
  std::string many = text;
  for (int i = 0; i < 11; ++i) many += i % 2 ? " a kettle boils" : " a teapot boils";
  EXPECT_EQ(strict->apply(many).failing, 1u << 14 | 1u << 15);
  EXPECT_TRUE(plain->apply(many).keep());
}

// A rule without its list says that it does nothing.
TEST(WordLists, RulesWithoutTheirListAreIdle) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::temp_directory_path() / fmt::format("quern-idle-{}", ::getpid());
  const auto idle = [&](const std::string& filter, const std::string& lists) {
    std::vector<std::string> names;
    for (const char* rule : find_filter(filter, lists)()->idle_rules()) names.emplace_back(rule);
    return fmt::format("{}", fmt::join(names, " "));
  };
  EXPECT_EQ(idle("zyda", ""), "zh_list>1 sexual>10 sexual>0.001 profanity>0.0025 cursed>0.01");
  EXPECT_EQ(idle("gopher-quality", ""), "");
  fs::create_directories(folder / "url");
  write_file(folder / "sexual.txt", "some\n");
  EXPECT_EQ(idle("zyda", folder.string()), "zh_list>1 profanity>0.0025 cursed>0.01");
  write_file(folder / "url/urls.txt", "a.org/page\n");
  EXPECT_EQ(idle("url", folder.string()), "url_domain url_word");
  EXPECT_EQ(idle("c4+zyda+url", folder.string()), "zh_list>1 profanity>0.0025 cursed>0.01 url_domain url_word");
  for (const char* list : {"zh", "profanity", "cursed"}) write_file(folder / fmt::format("{}.txt", list), "some\n");
  EXPECT_EQ(idle("zyda", folder.string()), "");
  fs::remove_all(folder);
}

TEST(WordLists, MistakesAreNamed) {
  const auto message = [](const std::string& folder) {
    try {
      zyda_filter(folder);
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string("no error");
  };
  EXPECT_NE(message("/nowhere/at/all").find("is not a folder"), std::string::npos);
  const std::string empty = fresh_folder("quern_word_lists_none");
  EXPECT_NE(message(empty).find("expected one of zh, sexual, profanity, cursed"), std::string::npos);
  write_file(empty + "/profanty.txt", "x\n");
  EXPECT_NE(message(empty).find("did you mean 'profanity'"), std::string::npos) << message(empty);
  const std::string bad = fresh_folder("quern_word_lists_bad");
  write_file(bad + "/zh.txt", "(open\n");
  EXPECT_NE(message(bad).find("(open"), std::string::npos) << message(bad);
  write_file(bad + "/zh.txt", "\n\n");
  EXPECT_NE(message(bad).find("no entries"), std::string::npos) << message(bad);
}

}  // namespace
}  // namespace quern::corpus
