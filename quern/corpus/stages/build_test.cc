// A recipe from raw text to token shards: sources with different text fields, mixture and tokens, cut off anywhere.
#include <gtest/gtest.h>
#include <unistd.h>

#include "quern/base/error.h"
#include "quern/base/mmap.h"
#include "quern/base/test_message.h"
#include "quern/corpus/stages/build.h"
#include "quern/data/indexed.h"

namespace quern::corpus {
namespace {

namespace fs = std::filesystem;

class BuildTest : public ::testing::Test {
 protected:
  BuildTest() : root_(fs::temp_directory_path() / fmt::format("quern-build-{}", ::getpid())) {
    fs::remove_all(root_);
    fs::create_directories(root_ / "notes");
    std::string code, web;
    for (int i = 0; i < 60; ++i) code += fmt::format("{{\"content\":\"{}\",\"text\":\"wrong\"}}\n", words("code", i));
    for (int i = 0; i < 80; ++i) web += fmt::format("{{\"text\":\"{}\"}}\n", words("web", i % 40));  // 40 copies
    write_file(root_ / "code.jsonl", code), write_file(root_ / "web.jsonl", web);
    for (int i = 0; i < 30; ++i) write_file(root_ / "notes" / fmt::format("{:02}.txt", i), words("note", i));
  }
  ~BuildTest() override { fs::remove_all(root_); }

  static std::string words(const std::string& name, int n) {
    std::string t = name;
    for (int i = 0; i < 30; ++i) t += fmt::format(" {}{}", name, n * 100 + i);
    return t;
  }
  CorpusRecipe recipe(const std::string& tables, const std::string& share = "share = 1") const {
    write_file(root_ / "r.toml", fmt::format(R"([[source]]
name = "code"
paths = ["code.jsonl"]
text_field = "content"
{0}
[[source]]
name = "notes"
paths = ["notes"]
text_field = "content"
{0}
[[source]]
name = "web"
paths = ["web.jsonl"]
{0}
{1})",
                                             share, tables));
    return CorpusRecipe::load(root_ / "r.toml");
  }
  static std::string tokenize() { return "[tokenize]\ntokenizer = \"" QUERN_SOURCE_DIR "/models/zaya-nano\"\n"; }
  // What `quern corpus build` does; false when deduplication was done before.
  bool build(const CorpusRecipe& r, const std::string& out, const BuildProgress& progress = {}) const {
    const Inputs in = r.inputs();
    BuildState state = plan_build(r, r.config(), in).value();
    const auto saved = saved_build(root_ / out, state.identity);
    if (saved) {
      state = *saved;
    } else {
      deduplicate(in, r.config(), root_ / out, {}, [&](const DedupReport& report) {
        for (const SourceFunnel& s : report.sources) state.kept.push_back(s.kept);
        save_build(root_ / out, state);
        write_file(root_ / out / "manifest.json", "{}");
      });
    }
    run_later_stages(r, state, root_ / out, progress);
    return !saved;
  }
  std::string text_of_tokens(const std::string& out) const {
    const data::IndexedTokens shard(root_ / out / "tokens");
    std::vector<int32_t> ids(static_cast<size_t>(shard.tokens()));
    shard.read(0, ids);
    return text::Tokenizer::load(QUERN_SOURCE_DIR "/models/zaya-nano").decode(ids);
  }
  static int count(const std::string& text, const std::string& word) {
    int n = 0;
    for (size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) ++n;
    return n;
  }
  fs::path root_;
};

TEST_F(BuildTest, TokensOfEverySourceWithoutAMixture) {
  EXPECT_TRUE(build(recipe(tokenize(), ""), "out"));
  const data::IndexedTokens shard(root_ / "out/tokens");
  EXPECT_EQ(shard.documents(), 60 + 30 + 40);
  const std::string text = text_of_tokens("out");
  EXPECT_EQ(count(text, "wrong"), 0);  // the other field of the first source
  // Sources in their order, whatever the field their text is in.
  EXPECT_LT(text.find(words("code", 59)), text.find(words("note", 0)));
  EXPECT_LT(text.find(words("note", 29)), text.find(words("web", 0)));
  EXPECT_EQ(count(text, words("web", 7)), 1);
  EXPECT_FALSE(fs::exists(root_ / "out/mixed"));
  EXPECT_FALSE(fs::exists(root_ / "out/build.json"));
}

TEST_F(BuildTest, MixesByShares) {
  const CorpusRecipe r = recipe("[mix]\nmegabytes = 0.1\nseed = 5\n" + tokenize());
  build(r, "out");
  const Json mixed = Json::read(root_ / "out/mixed/manifest.json");
  double bytes[3] = {}, sum = 0;
  for (size_t s = 0; s < 3; ++s) sum += bytes[s] = mixed.at("sources").as_array()[s].at("bytes_out").as_double();
  EXPECT_NEAR(sum, 1e5, 3e3);
  for (double b : bytes) EXPECT_NEAR(b / sum, 1.0 / 3, 0.02);
  const std::string text = text_of_tokens("out");
  EXPECT_EQ(count(text, "wrong"), 0);
  EXPECT_EQ(Json::read(root_ / "out/tokens.json").at("bytes").as_double(), sum);
  EXPECT_LT(text.find("web web"), text.rfind("code code"));  // shuffled
}

// Rows may have a member `source` that says something else.
TEST_F(BuildTest, CountsTokensByTheRecipesSources) {
  std::string web;
  for (int i = 0; i < 40; ++i) web += fmt::format("{{\"source\":\"reddit\",\"text\":\"{}\"}}\n", words("web", i));
  write_file(root_ / "web.jsonl", web);
  for (const bool mixed : {false, true}) {
    const std::string out = mixed ? "mixed" : "plain";
    build(mixed ? recipe("[mix]\n" + tokenize()) : recipe(tokenize(), ""), out);
    std::vector<std::string> names;
    const Json tokens = Json::read(root_ / out / "tokens.json");
    for (const Json& s : tokens.at("sources").as_array()) names.push_back(s.at("source").as_string());
    EXPECT_EQ(names, (std::vector<std::string>{"code", "notes", "web"})) << out;
  }
}

// A row may name anything, such as its address.
TEST_F(BuildTest, CountsAThousandSources) {
  std::string rows;
  for (int i = 0; i < 1200; ++i) rows += fmt::format("{{\"source\":\"{}\",\"text\":\"a\"}}\n", i);
  rows += fmt::format("{{\"source\":\"{}\",\"text\":\"a\"}}\n", std::string(5000, 'x'));
  write_file(root_ / "many.jsonl", rows);
  const std::vector<std::string> words = {(root_ / "many.jsonl").string()};
  TokenRun run;
  run.prefix = root_ / "many";
  const TokenShardReport r =
      write_token_shards(find_inputs(words), text::Tokenizer::load(QUERN_SOURCE_DIR "/models/zaya-nano"), run);
  EXPECT_EQ(r.documents, 1201u);
  ASSERT_EQ(r.sources.size(), 1001u);
  EXPECT_EQ(r.sources.back().name, "others");
  EXPECT_EQ(r.sources.back().documents, 201u);
}

// An exception out of the progress call leaves on disk what a kill would.
TEST_F(BuildTest, GoesOnInTheStageItWasIn) {
  const CorpusRecipe r = recipe("[mix]\n" + tokenize());
  int calls = 0, mixing = 0;
  build(r, "whole", [&](const char* stage, uint64_t, uint64_t) { ++calls, mixing += stage == std::string("mix"); });
  ASSERT_GT(mixing, 0);
  ASSERT_GT(calls, mixing);
  for (int cut = 1; cut <= calls; ++cut) {
    int left = cut;
    EXPECT_THROW(build(r, "cut",
                       [&](const char*, uint64_t, uint64_t) {
                         if (--left == 0) throw std::runtime_error("cut off");
                       }),
                 std::runtime_error);
    EXPECT_EQ(fs::exists(root_ / "cut/mixed/manifest.json"), cut > mixing);
    EXPECT_FALSE(build(r, "cut"));
    for (const char* file : {"tokens.bin", "tokens.idx", "mixed/part-00000.jsonl.zst"})
      EXPECT_EQ(read_file(root_ / "cut" / file), read_file(root_ / "whole" / file)) << file << ", cut " << cut;
    EXPECT_FALSE(fs::exists(root_ / "cut/build.json"));
    fs::remove_all(root_ / "cut");
  }
  EXPECT_NE(message_of([&] { build(r, "whole"); }).find("already contains a manifest.json"), std::string::npos);
}

TEST_F(BuildTest, RefusesWhatDoesNotFit) {
  EXPECT_NE(message_of([&] { recipe("[mix]\n", ""); }).find("has no share"), std::string::npos);
  EXPECT_NE(message_of([&] { recipe(""); }).find("there is no [mix]"), std::string::npos);
  for (const char* share : {"-1", "nan", "inf"})
    EXPECT_NE(message_of([&] {
                recipe("[mix]\n", fmt::format("share = {}", share));
              }).find(fmt::format("share of 'code': {}, expected a number from 0 up", share)),
              std::string::npos)
        << share;
  EXPECT_NE(message_of([&] { recipe("[mix]\n", "share = 0"); }).find("the shares are all 0"), std::string::npos);
  EXPECT_NE(message_of([&] { recipe("[mix]\n[tokenize]\n"); }).find("tokenizer is missing"), std::string::npos);
  const auto planned = [&](const CorpusRecipe& r) {
    return message_of([&] { plan_build(r, r.config(), r.inputs()); });
  };
  EXPECT_NE(planned(recipe("[mix]\n[tokenize]\ntokenizer = \"none\"\n")).find("tokenizer.json"), std::string::npos);
  write_file(root_ / "notes/more.jsonl", "{\"content\":\"a line\"}\n");
  EXPECT_NE(planned(recipe("[mix]\n")).find("make them two sources"), std::string::npos);
  // The output of a later stage without what was before it.
  fs::remove(root_ / "notes/more.jsonl");
  fs::create_directories(root_ / "out/mixed");
  EXPECT_NE(message_of([&] { build(recipe("[mix]\n"), "out"); }).find("of another build"), std::string::npos);
}

}  // namespace
}  // namespace quern::corpus
