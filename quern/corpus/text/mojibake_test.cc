// Wrongly decoded lines against the right ones and against ftfy (testdata/mojibake.json, made by
// tools/oracles/corpus/mojibake.py); right lines stay as they are.
#include "quern/corpus/text/mojibake.h"

#include <gtest/gtest.h>

#include <map>

#include "quern/base/json.h"
#include "quern/base/test_message.h"

namespace quern::corpus {
namespace {

std::string repaired(const std::string& text) {
  std::string out;
  return repair_mojibake(text, out) ? out : text;
}

struct MojibakeCase {
  std::string how, line, ftfy, right;
};
std::vector<MojibakeCase> cases() {
  std::vector<MojibakeCase> all;
  const Json rows = Json::read(QUERN_SOURCE_DIR "/quern/corpus/text/testdata/mojibake.json");
  for (const Json& row : rows.as_array()) {
    const auto& a = row.as_array();
    all.push_back({a[0].as_string(), a[1].as_string(), a[2].as_string(), a[3].as_string()});
  }
  return all;
}

TEST(Mojibake, RightLinesStay) {
  int seen = 0;
  for (const MojibakeCase& c : cases()) {
    if (c.how != "right") continue;
    EXPECT_EQ(repaired(c.line), c.line);
    ++seen;
  }
  EXPECT_GT(seen, 70);
}

TEST(Mojibake, MisreadLinesComeBack) {
  std::map<std::string, std::array<int, 4>> kinds;  // lines, right, right by ftfy, right by both
  std::array<int, 4> all{};
  for (const MojibakeCase& c : cases()) {
    if (c.how == "right") continue;
    const bool ours = repaired(c.line) == c.right, ftfys = c.ftfy == c.right;
    const std::array<int, 4> one = {1, ours, ftfys, ours && ftfys};
    for (size_t k = 0; k < 4; ++k) kinds[c.how][k] += one[k], all[k] += one[k];
  }
  for (const auto& [how, n] : kinds)
    fmt::print("{}: {} lines, right {}, by ftfy {}, by both {}\n", how, n[0], n[1], n[2], n[3]);
  EXPECT_GT(all[0], 200);
  EXPECT_GE(all[1], all[0] * 95 / 100);
  EXPECT_GE(all[3], all[2] * 97 / 100);
}

TEST(Mojibake, LinesAreJudgedForThemselves) {
  EXPECT_EQ(repaired("sch\u00c3\u00b6n\n\u00c9\u2026 talvez\n"), "sch\u00f6n\n\u00c9\u2026 talvez\n");
  EXPECT_EQ(repaired("a\n\nb\u00c3\u00a9c"), "a\n\nb\u00e9c");
  EXPECT_EQ(repaired("voil\u00c3 le travail"), "voil\u00e0 le travail");
  EXPECT_EQ(repaired("one.\u00c2 Two"), "one. Two");
}

TEST(Mojibake, WhatIsFoundIsLookedAt) {
  EXPECT_EQ(find_mojibake("plain"), std::string_view::npos);
  EXPECT_EQ(find_mojibake("gr\u00fcn und \u0440\u0443\u0441\u0441\u043a\u0438\u0439"), std::string_view::npos);
  EXPECT_NE(find_mojibake("x \u00c3\u00b6"), std::string_view::npos);
}

}  // namespace
}  // namespace quern::corpus
