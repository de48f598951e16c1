// Words that tie a question to another or take something away, in five languages, and what only looks like them.
#include "quern/memory/wording/link_words.h"

#include <gtest/gtest.h>

namespace quern::memory {
namespace {

std::string link(std::string_view question, Language language, LinkKind kind) {
  for (const LinkWord& l : link_words(question, language))
    if (l.kind == kind) return l.words;
  return {};
}

TEST(LinkWords, OpenersStandInFrontOfTheirSentence) {
  const auto opener = [](std::string_view q, Language l) { return link(q, l, LinkKind::opener); };
  EXPECT_EQ(opener("And on Friday?", Language::english), "and");
  EXPECT_EQ(opener("Okay, so what about Friday?", Language::english), "what about");
  EXPECT_EQ(opener("Thanks! How about the mill?", Language::english), "how about");
  EXPECT_EQ(opener("What about it did Ada and Ben like?", Language::english), "what about");
  EXPECT_EQ(opener("What did Ada and Ben say about it?", Language::english), "");
  EXPECT_EQ(opener("Und am Freitag?", Language::german), "und");
  EXPECT_EQ(opener("Gut, wie sieht es mit Ada aus?", Language::german), "wie sieht es mit");
  EXPECT_EQ(opener("Was haben Ada und Ben gesagt?", Language::german), "");
  EXPECT_EQ(opener("Qu’en est-il de vendredi ?", Language::french), "qu'en est il");
  EXPECT_EQ(opener("Et vendredi ?", Language::french), "et");
  EXPECT_EQ(opener("¿Y el viernes?", Language::spanish), "y");
  EXPECT_EQ(opener("¿Qué dijeron Ada y Ben?", Language::spanish), "");
  EXPECT_EQ(opener("那星期五呢？", Language::chinese), "那");
  EXPECT_EQ(opener("星期五呢？", Language::chinese), "呢");
  EXPECT_EQ(opener("星期五我们聊了什么呢？", Language::chinese), "");
  EXPECT_EQ(opener("上周，但不包括星期五", Language::chinese), "");  // it begins no sentence
  EXPECT_EQ(opener("那天晚上聊了什么？", Language::chinese), "");
}

TEST(LinkWords, PointersAndSteps) {
  EXPECT_EQ(link("What did Ada say that evening?", Language::english, LinkKind::pointer), "that evening");
  EXPECT_EQ(link("Was sagte sie an jenem Abend?", Language::german, LinkKind::pointer), "jenem");
  EXPECT_EQ(link("Qu'a-t-elle dit ce soir-là ?", Language::french, LinkKind::pointer), "ce soir la");
  EXPECT_EQ(link("Qu'a-t-elle dit ce printemps-là ?", Language::french, LinkKind::pointer), "ce printemps la");
  EXPECT_EQ(link("Qu'a-t-elle dit de la meunière ce soir ?", Language::french, LinkKind::pointer), "");
  EXPECT_EQ(link("¿Qué dijo aquella noche?", Language::spanish, LinkKind::pointer), "aquella");
  EXPECT_EQ(link("那天晚上她说了什么？", Language::chinese, LinkKind::pointer), "那天");
  EXPECT_EQ(link("那家磨坊怎么样？", Language::chinese, LinkKind::pointer), "");
  EXPECT_EQ(link("und tags darauf?", Language::german, LinkKind::step), "tags darauf");
  EXPECT_EQ(link("et le lendemain ?", Language::french, LinkKind::step), "lendemain");
  EXPECT_EQ(link("再前一天呢？", Language::chinese, LinkKind::step), "再前");
}

TEST(LinkWords, ExceptionsAndWhatOnlyLooksLikeThem) {
  const auto exception = [](std::string_view q, Language l) { return link(q, l, LinkKind::exception); };
  EXPECT_EQ(exception("All of May to the exclusion of Sundays", Language::english), "exclusion");
  EXPECT_EQ(exception("Der ganze Mai, den 4. nicht eingerechnet", Language::german), "nicht eingerechnet");
  EXPECT_EQ(exception("Tout mai à l'exclusion du 4", Language::french), "a l'exclusion");
  EXPECT_EQ(exception("sans doute en mai", Language::french), "");
  EXPECT_EQ(exception("mayo menos el 4", Language::spanish), "menos");
  EXPECT_EQ(exception("más o menos a las ocho", Language::spanish), "");
  EXPECT_EQ(exception("五月撇开4号", Language::chinese), "撇开");
  EXPECT_EQ(exception("除夕我们聊了什么？", Language::chinese), "");
  EXPECT_EQ(link("our longest chat", Language::english, LinkKind::comparison), "longest");
  EXPECT_EQ(link("notre plus longue conversation", Language::french, LinkKind::comparison), "plus longue");
}

TEST(LinkWords, TakeAnyBytes) {
  for (const Language l :
       {Language::english, Language::german, Language::french, Language::spanish, Language::chinese})
    for (const char* odd : {"", ".", " ", "\xff\xfe", "\xE2\x80", "\xC2", "¿", "那", "呢", "ce ", " * ", "。，"})
      EXPECT_NO_THROW(link_words(odd, l)) << odd;
}

}  // namespace
}  // namespace quern::memory
