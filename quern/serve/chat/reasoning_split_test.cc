// Thinking and answer, however the text is cut.
#include <vector>

#include "quern/serve/chat/reasoning_split.h"

#include <gtest/gtest.h>

namespace quern::serve {
namespace {

struct Case {
  const char* text;
  infer::ThinkStart start;
  const char *reasoning, *content;
};

TEST(ReasoningSplit, IsTheSameHoweverTheTextIsCut) {
  using enum infer::ThinkStart;
  const std::vector<Case> cases = {
      {"<think>\na b\n</think>\n\nAnswer: 4", may_open, "a b", "Answer: 4"},
      {"a b </think> c ", opened, "a b", "c "},
      {"  <think>x</think>y", may_open, "x", "y"},
      {"  plain <think>no</think>", may_open, "", "  plain <think>no</think>"},
      {"<thin", may_open, "", ""},
      {"<", may_open, "", "<"},
      {"<think>never closed </thin", may_open, "never closed </thin", ""},
      {"a < b </ c </think>d</think>", opened, "a < b </ c", "d</think>"},
      {"\n\n</think>\n\nx\n", opened, "", "x\n"},
      {"", may_open, "", ""},
      {"<think></think>", may_open, "", ""},
  };
  for (const Case& c : cases) {
    const std::string text = c.text;
    for (size_t step = 1; step <= text.size() + 1; ++step) {
      ReasoningSplit split(c.start);
      ReasoningSplit::SplitText all;
      auto add = [&](const ReasoningSplit::SplitText& p) { all.reasoning += p.reasoning, all.content += p.content; };
      for (size_t at = 0; at < text.size(); at += step) add(split.push(std::string_view(text).substr(at, step)));
      add(split.finish());
      EXPECT_EQ(all.reasoning, c.reasoning) << text << " by " << step;
      EXPECT_EQ(all.content, c.content) << text << " by " << step;
    }
  }
}

TEST(ReasoningSplit, LeavesOutTheEndOfAThinkingThatWasCutShort) {
  const std::string text = "<think>\n\n</think>\n\n3 + 4 = 7.\n</think>\n\nAnswer: </think> 7";
  for (size_t step = 1; step <= text.size(); ++step) {
    ReasoningSplit split(infer::ThinkStart::may_open, ReasoningSplit::Cut::yes);
    std::string content;
    for (size_t at = 0; at < text.size(); at += step)
      content += split.push(std::string_view(text).substr(at, step)).content;
    content += split.finish().content;
    EXPECT_EQ(content, "3 + 4 = 7.\n\nAnswer: </think> 7") << "by " << step;
  }
}

TEST(ReasoningSplit, GivesTextAsSoonAsItIsCertain) {
  ReasoningSplit split(infer::ThinkStart::may_open);
  EXPECT_EQ(split.push("Hel").content, "Hel");
  EXPECT_EQ(split.push("lo <think>").content, "lo <think>");
  ReasoningSplit thinking(infer::ThinkStart::opened);
  EXPECT_EQ(thinking.push("one two ").reasoning, "one two");
  EXPECT_EQ(thinking.push("three <").reasoning, " three");
  EXPECT_EQ(thinking.push("/b").reasoning, " </b");
}

}  // namespace
}  // namespace quern::serve
