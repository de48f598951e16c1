// Stop strings: never given out, found across tokens, and text held back for them is given out when they do not come.
#include "quern/infer/sampling/text_stream.h"

#include <gtest/gtest.h>

#include "quern/base/error.h"

namespace quern::infer {
namespace {

text::Tokenizer bytes() {  // a token a letter
  return text::Tokenizer::from_json(
      R"({"model":{"type":"BPE","vocab":{"a":0,"b":1,"c":2,"d":3,"e":4},"merges":[]},)"
      R"("pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false},"decoder":{"type":"ByteLevel"}})");
}

std::vector<std::string> pieces(std::vector<std::string> stops, const std::string& text) {
  text::Tokenizer t = bytes();
  TextStream s(t, std::move(stops));
  std::vector<std::string> out;
  for (int32_t id : t.encode(text)) {
    out.push_back(s.push(id));
    if (s.stopped()) return out;
  }
  out.push_back(s.finish());
  return out;
}

using Pieces = std::vector<std::string>;

TEST(TextStream, WithoutStopsEverythingAtOnce) { EXPECT_EQ(pieces({}, "abc"), (Pieces{"a", "b", "c", ""})); }

TEST(TextStream, StopAcrossTokens) {
  EXPECT_EQ(pieces({"bcd"}, "abcde"), (Pieces{"a", "", "", ""}));
  EXPECT_EQ(pieces({"zz", "c"}, "abcde"), (Pieces{"a", "b", ""}));
  EXPECT_EQ(pieces({"cd", "bc"}, "abcde"), (Pieces{"a", "", ""})) << "the one that comes first wins";
}

TEST(TextStream, HeldTextComesOutWhenTheStopDoesNot) {
  EXPECT_EQ(pieces({"bcd"}, "abce"), (Pieces{"a", "", "", "bce", ""}));
  EXPECT_EQ(pieces({"abab"}, "aabab"), (Pieces{"", "a", "", "", ""}));
  EXPECT_EQ(pieces({"cde"}, "abcd"), (Pieces{"a", "b", "", "", "cd"}));
}

TEST(TextStream, AnEmptyStopIsRefused) {
  text::Tokenizer t = bytes();
  EXPECT_THROW(TextStream(t, {""}), Error);
}

}  // namespace
}  // namespace quern::infer
