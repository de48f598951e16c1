// The stage of the guide, run by its name, also after it was cut off.
#include <gtest/gtest.h>
#include <unistd.h>

#include "quern/base/error.h"
#include "quern/base/mmap.h"
#include "quern/base/test_message.h"
#include "quern/corpus/stages/stage_registry.h"
#include "tests/sample/guide_blocks.h"

namespace quern::corpus {
namespace {

class Shorten : public ::testing::Test {
 protected:
  Shorten() : root_(std::filesystem::temp_directory_path() / fmt::format("quern-shorten-{}", ::getpid())) {
    std::filesystem::remove_all(root_);
    std::filesystem::create_directories(root_);
    std::string lines;
    for (int i = 0; i < 2000; ++i) lines += fmt::format("{{\"text\":\"a{}  b{} c{}\",\"n\":{}}}\n", i, i, i, i);
    write_file(root_ / "in.jsonl", lines);
    inputs_ = find_inputs(std::vector<std::string>{(root_ / "in.jsonl").string()});
  }
  ~Shorten() override { std::filesystem::remove_all(root_); }
  StageJob job(const std::string& out) const {
    StageJob j{.inputs = inputs_, .scan = {}, .to = {.folder = root_ / out, .checkpoint_bytes = 1}};
    j.scan.block_bytes = 4096;
    j.settings.set("words", 2);
    return j;
  }
  std::vector<std::string> texts(const std::string& out) const {
    struct Nothing {};
    std::vector<std::string> all;
    scan_documents<Nothing, std::vector<std::string>>(
        find_inputs(std::vector<std::string>{(root_ / out).string()}), {}, [] { return Nothing(); },
        [](Nothing&, const DocumentView& d, std::vector<std::string>& some) { some.emplace_back(d.text); },
        [&](std::vector<std::string>&& some) { all.insert(all.end(), some.begin(), some.end()); });
    return all;
  }
  std::filesystem::path root_;
  Inputs inputs_;
};

TEST_F(Shorten, KeepsTheFirstWords) {
  Json told;
  StageJob j = job("out");
  j.finish = [&](const Json& result) { told = result; };
  plugin_stages().find("shorten").run(j);
  const std::vector<std::string> all = texts("out");
  ASSERT_EQ(all.size(), 2000u);
  EXPECT_EQ(all[7], "a7  b7");
  EXPECT_EQ(all[1999], "a1999  b1999");
  EXPECT_EQ(told.at("words").as_int("words"), 2);
  EXPECT_FALSE(std::filesystem::exists(root_ / "out/unfinished"));
}

TEST_F(Shorten, GoesOnWhereItWasCutOff) {
  plugin_stages().find("shorten").run(job("whole"));
  StageJob cut = job("out");
  int left = 5;
  cut.progress = [&](uint64_t, uint64_t) {
    if (--left == 0) throw std::runtime_error("cut off");
  };
  EXPECT_THROW(plugin_stages().find("shorten").run(cut), std::runtime_error);
  EXPECT_EQ(plugin_stages().find("shorten").run(job("out")).went_on.resumed, 1u);
  EXPECT_EQ(read_file(root_ / "out/part-00000.jsonl.zst"), read_file(root_ / "whole/part-00000.jsonl.zst"));
}

TEST_F(Shorten, RefusesWhatItDoesNotKnow) {
  StageJob j = job("out");
  j.settings.set("wrods", 3);
  EXPECT_NE(message_of([&] { plugin_stages().find("shorten").run(j); }).find("did you mean 'words'"),
            std::string::npos);
  EXPECT_NE(message_of([] { plugin_stages().find("shorter"); }).find("did you mean 'shorten'"), std::string::npos);
}

TEST(ShortenGuide, ShowsThisCode) { expect_shown("docs/corpus/adding-a-filter.md", "corpus/stages/shorten", 3); }

}  // namespace
}  // namespace quern::corpus
