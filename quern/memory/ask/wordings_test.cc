// Questions as people put them (chat spellings, slips, follow-ups, exceptions, other languages): each selects the same
// turns as its plain wording, and its plan is SQL. What is garbled is answered as before, or the answer says what it did
// not understand.
#include <gtest/gtest.h>

#include <algorithm>

#include "quern/base/json.h"
#include "quern/base/mmap.h"
#include "quern/base/rng.h"
#include "quern/memory/ask/memory.h"
#include "quern/memory/ask/speaker_meant.h"
#include "quern/memory/store/import.h"
#include "quern/memory/wording/wording.h"

namespace quern::memory {
namespace {

struct AskedWording {
  std::string question, means, language;
  std::vector<ContextTurn> context;
};

std::vector<AskedWording> wordings() {
  const std::string lines = read_file(std::string(QUERN_SOURCE_DIR) + "/tests/memory/wordings.jsonl");
  std::vector<AskedWording> out;
  for (size_t begin = 0; begin < lines.size();) {
    const size_t end = std::min(lines.find('\n', begin), lines.size());
    const Json j = Json::parse(std::string_view(lines).substr(begin, end - begin));
    begin = end + 1;
    AskedWording w{j.at("question").as_string(), j.at("means").as_string(), "en", {}};
    if (const Json* l = j.find("language")) w.language = l->as_string();
    if (const Json* c = j.find("context"))
      for (const Json& t : c->as_array()) w.context.push_back({"", t.as_string()});
    out.push_back(std::move(w));
  }
  return out;
}

class Wordings : public testing::Test {
 protected:
  Wordings()
      : m_(":memory:", {.create = true, .durable = false, .conversation = "log", .zone = "UTC", .gap = kUsualGap}) {
    m_.add_all(read_conversations(std::string(QUERN_SOURCE_DIR) + "/tests/memory/log.jsonl", "UTC")[0].turns);
  }

  MemoryResult ask(const std::string& question, const std::vector<ContextTurn>& context = {}) {
    AskOptions o;
    o.now = parse_time_text("2024-03-14 15:20", "now").local;
    o.context = context, o.k = 1000;
    return m_.ask(question, o);
  }

  // Every turn of the time, whatever the topic ranked first.
  std::vector<int32_t> rows(const MemoryResult& a) {
    if (a.route == Route::topic || a.route == Route::neither) return {-1};
    std::vector<int32_t> out;
    for (const auto& [lo, hi] : a.within)
      for (int32_t r = lo; r <= hi; ++r) out.push_back(r);
    return out;
  }

  Memory m_;
};

TEST_F(Wordings, MeanWhatTheirPlainOnesDo) {
  std::map<std::string, int> asked;
  for (const AskedWording& w : wordings()) {
    const MemoryResult a = ask(w.question, w.context), plain = ask(w.means);
    EXPECT_EQ(rows(a), rows(plain)) << w.question << "\n  " << a.reading << "\n  " << a.plan.text() << "\n  "
                                    << w.means << " → " << plain.plan.text();
    ++asked[w.language];
  }
  EXPECT_GE(asked["en"], 250);
  for (const char* l : {"de", "fr", "es", "zh"}) EXPECT_GE(asked[l], 30) << l;
}

// A letter lost, doubled, or two that changed places, in a word that speaks of time or any other.
TEST_F(Wordings, GarbledWordsAreReadOrNamed) {
  const Rng rng(30);
  uint64_t n = 0;
  int garbled = 0, right = 0, silent = 0;
  for (const AskedWording& w : wordings()) {
    if (w.language != "en" || !w.context.empty()) continue;
    std::vector<size_t> letters;
    for (size_t i = 1; i + 2 < w.question.size(); ++i)
      if (std::isalpha(static_cast<unsigned char>(w.question[i - 1])) &&
          std::isalpha(static_cast<unsigned char>(w.question[i])) &&
          std::isalpha(static_cast<unsigned char>(w.question[i + 1])))
        letters.push_back(i);
    if (letters.empty()) continue;
    std::string q = w.question;
    const size_t at = letters[rng.bits(n++) % letters.size()];
    switch (rng.bits(n++) % 3) {
      case 0:
        q.erase(at, 1);
        break;
      case 1:
        q.insert(at, 1, q[at]);
        break;
      default:
        std::swap(q[at], q[at + 1]);
    }
    const MemoryResult a = ask(q);
    const bool same = rows(a) == rows(ask(w.means));
    ++garbled, right += same, silent += !same && a.notes.empty();
    if (!same && a.notes.empty()) fmt::print("misread in silence: {} → {}\n", q, a.plan.text());
  }
  EXPECT_GE(garbled, 200);
  EXPECT_GE(right, garbled * 3 / 4);
  EXPECT_LE(silent, garbled / 50);
}

TEST_F(Wordings, WhatWasNotUsedIsNamed) {
  for (const auto& [question, word] : {std::pair{"What did we say in May, every other Tuesday?", "other"},
                                       {"What did we discuss on the second half of Tuesday?", "half"},
                                       {"What came up in March, dawn to dusk?", "dawn"}}) {
    const MemoryResult a = ask(question);
    EXPECT_TRUE(std::any_of(a.notes.begin(), a.notes.end(), [&](const std::string& note) {
      return note.starts_with("not understood as a time") && note.find(word) != note.npos;
    })) << question;
  }
  const MemoryResult lost = ask("And the day before that?");
  ASSERT_FALSE(lost.notes.empty());
  EXPECT_NE(lost.notes[0].find("earlier question"), std::string::npos);
}

bool warned(const MemoryResult& a) {
  return std::any_of(a.notes.begin(), a.notes.end(), [](const std::string& n) {
    return n.find("are later than") == n.npos && n.find("that suit") == n.npos;
  });
}

TEST_F(Wordings, FollowUpsWithoutTheirQuestionSaySo) {
  for (const char* q : {"And the evening before?",
                        "What about the week after it?",
                        "how about that afternoon?",
                        "And on Monday?",
                        "But in April?",
                        "What did Ines say that same day?",
                        "The same for Tobias, please",
                        "And Tobias?",
                        "What did we say about the roof that week?",
                        "what came up since then?",
                        "Und am Abend zuvor?",
                        "Und am Montag?",
                        "Wie sieht es mit Tobias aus?",
                        "Was hat Ines an jenem Tag gesagt?",
                        "Und danach?",
                        "Et le surlendemain ?",
                        "Et lundi ?",
                        "Qu'en est-il de Tobias ?",
                        "Qu'a dit Ines ce jour-là ?",
                        "¿Y la víspera?",
                        "¿Y el lunes?",
                        "¿Qué hay de Tobias?",
                        "¿Qué dijo Ines aquel día?",
                        "那前一天呢？",
                        "那星期一呢？",
                        "那天Ines说了什么？",
                        "Tobias呢？"})
    EXPECT_TRUE(warned(ask(q))) << q;
}

TEST_F(Wordings, FollowUpsTakeSpeakerAndTopicOfTheirQuestion) {
  const std::vector<int32_t> ines = rows(ask("What did Ines say in June 2023?"));
  ASSERT_FALSE(ines.empty());
  ASSERT_NE(ines, rows(ask("June 2023")));
  for (const auto& [first, then] : {std::pair{"What did Ines say in May 2023?", "And in June 2023?"},
                                    {"What did Ines say on May 8, 2023?", "what about June 2023?"},
                                    {"What does Ines say of the roof?", "And in June 2023?"},
                                    {"Was hat Ines im Mai 2023 gesagt?", "Und im Juni 2023?"},
                                    {"Qu'a dit Ines en mai 2023 ?", "Et en juin 2023 ?"},
                                    {"¿Qué dijo Ines en mayo de 2023?", "¿Y en junio de 2023?"},
                                    {"Ines在2023年5月说了什么？", "2023年6月呢？"}}) {
    const MemoryResult a = ask(then, {{"", first}});
    EXPECT_EQ(rows(a), ines) << first << " " << then << " " << a.plan.text();
    if (a.topic.empty()) {  // else June may hold nothing about it
      EXPECT_FALSE(warned(a)) << then << " " << a.notes[0];
    }
  }
  // not where it has a verb of its own, or speaks of both
  EXPECT_NE(rows(ask("And what did we talk about in June 2023?", {{"", "What did Ines say in May 2023?"}})), ines);
  EXPECT_EQ(ask("And in June 2023?", {{"", "What did we say about the roof in May 2023?"}}).topic, "roof");
}

TEST_F(Wordings, WhatAFollowUpDoesNotUseIsNamed) {
  const std::vector<ContextTurn> may = {{"", "What did we talk about in May 2023?"}};
  for (const char* q :
       {"and then?", "And on Friday evening?", "And what did Ines say the month before, in our second chat?",
        "And the month after, in March?", "and the second?", "Und dann?", "et mercredi ?", "¿y el miércoles?",
        "星期三呢？"})
    EXPECT_TRUE(warned(ask(q, may))) << q;
  for (const char* q : {"and the month before?", "And in June?", "only the evenings", "Und im Monat danach?",
                        "Et en juin ?", "¿y el mes siguiente?", "and Ines?", "what did we say then about the roof?"})
    EXPECT_FALSE(warned(ask(q, may))) << q << " " << ask(q, may).notes[0];
}

TEST_F(Wordings, ExceptionsThatAreNotTakenOutSaySo) {
  for (const char* q : {"All of May 2023, to the exclusion of rainy days", "May 2023, on days that weren't a Monday",
                        "Everything from May 2023 but the bakery things", "May 2023 except 3 June 2023",
                        "Mai 2023, unter Weglassung der Montage, aber ohne den Bäcker",
                        "Was war im Mai 2023, den Bäcker ausgeklammert?", "Mai 2023, le boulanger mis à part",
                        "Mayo de 2023, dejando fuera la panadería", "2023年5月，面包店的事撇开不谈"})
    EXPECT_TRUE(warned(ask(q))) << q << " " << ask(q).plan.text();
  for (const auto& [q, means] : {std::pair{"all of May 2023 but Mondays", "May 2023 except every Monday"},
                                 {"May 2023 except Monday", "May 2023 except every Monday"},
                                 {"Everything in May 2023 except what Ines said", "What did Tobias say in May 2023?"},
                                 {"May 2023 apart from Ines's messages", "What did Tobias say in May 2023?"}}) {
    const MemoryResult a = ask(q);
    EXPECT_EQ(rows(a), rows(ask(means))) << q << " " << a.plan.text();
    EXPECT_FALSE(warned(a)) << q << " " << a.notes[0];
  }
}

TEST_F(Wordings, ComparisonsSaySo) {
  for (const char* q : {"our longest chat in May 2023", "unser längstes Gespräch im Mai 2023",
                        "notre plus longue conversation en mai 2023", "nuestra charla más larga de mayo de 2023",
                        "2023年5月最长的一次聊天", "What did we discuss more recently than May 8, 2023?"})
    EXPECT_TRUE(warned(ask(q))) << q;
}

// A question that is read rightly and completely carries no such note.
TEST_F(Wordings, CompleteQuestionsCarryNoNote) {
  int asked = 0, noted = 0;
  for (const AskedWording& w : wordings()) {
    const MemoryResult a = ask(w.question, w.context);
    if (rows(a) != rows(ask(w.means))) continue;
    ++asked;
    const bool new_note = std::any_of(a.notes.begin(), a.notes.end(), [](const std::string& n) {
      for (const char* of : {"continues an earlier", "refers to an earlier", "was not taken from", "nothing changes",
                             "understood as an exception", "nothing is compared", "is not left out", "no part of"})
        if (n.find(of) != n.npos) return true;
      return false;
    });
    noted += new_note;
    if (new_note) fmt::print("a note on what is read rightly: {} → {}\n", w.question, fmt::join(a.notes, " | "));
  }
  EXPECT_GT(asked, 1000);
  EXPECT_LE(noted, asked * 3 / 100);
}

TEST_F(Wordings, WordsThatNoTurnHasRankNothing) {
  const MemoryResult a = ask("Any zeppelinish gabfest yesterday?");
  EXPECT_EQ(a.route, Route::time);
  EXPECT_EQ(rows(a), rows(ask("yesterday")));
  EXPECT_TRUE(
      std::any_of(a.notes.begin(), a.notes.end(), [](const std::string& n) { return n.find("zeppelin") != n.npos; }));
  EXPECT_FALSE(a.unmatched);
  EXPECT_TRUE(ask("Anything worth rereading about the zeppelin yesterday?").unmatched);  // it is the subject
}

TEST_F(Wordings, SomeNameNoTime) {
  for (const char* q : {"What is Ines's favourite season?",
                        "When did Tobias first mention the roof?",
                        "When did we last speak about the chess tournament?",
                        "How long ago did the puppy have a vet appointment?",
                        "Who brought up quince jelly first?",
                        "Is the neighbour's drum kit still a problem?",
                        "How many night trains go to Vienna a day?",
                        "Does Tobias like marathons?",
                        "What time does the choir rehearse?",
                        "Which day of the week is the choir?",
                        "Has Ines ever been to Vienna?",
                        "When is the chess tournament?",
                        "What was the first thing Ines bought for the roof?",
                        "Did Ines and Tobias march through town?",
                        "What may happen with the roof?",
                        "Why does the second bicycle squeak?",
                        "Which of them said the roof leaks?",
                        "What does Tobias say about tax forms?",
                        "How old is the puppy?",
                        "What's the name of the film about glaciers?",
                        "Who won the chess tournament last?",
                        "Where did we meet for the first time?",
                        "What was the last straw?",
                        "Did the roof ever get fixed?",
                        "Tell me about sourdough starters",
                        "What colour is the 5th starter?",
                        "Since when does Ines bake?",
                        "Until when is the tournament?",
                        "How often does Tobias run?",
                        "Which month is the lighthouse walk planned for?",
                        "Is there a season for quince?",
                        "Will they fix the roof?",
                        "What would Ines do with a second puppy?",
                        "Are there any news about the drum kit?",
                        "the roof"})
    for (const PlanStep& s : ask(q).plan.steps) EXPECT_EQ(s.column, Column::speaker) << q;
}

TEST_F(Wordings, TheFutureHoldsNothing) {
  EXPECT_TRUE(ask("What will we talk about tomorrow?").responses.empty());
  EXPECT_FALSE(ask("What will we talk about tomorrow?").notes.empty());
  EXPECT_FALSE(ask("What did we plan for next week yesterday?").responses.empty());
}

TEST(SpeakerMeant, IsWhoSpeaks) {
  const std::vector<std::string> both = {"Ada", "Ben"};
  EXPECT_EQ(speaker_meant("What did Ada tell Ben?", both, ""), 0);
  EXPECT_EQ(speaker_meant("How did Ben answer Ada?", both, ""), 1);
  EXPECT_EQ(speaker_meant("What did Ada and Ben say?", both, ""), std::nullopt);
  EXPECT_EQ(speaker_meant("Adas Nachrichten", both, ""), 0);
  EXPECT_EQ(speaker_meant("Adapters and Benches", both, ""), std::nullopt);
  EXPECT_EQ(speaker_meant("What did I say?", both, "Ben"), 1);
}

TEST(PlainWording, ChatAndSlips) {
  EXPECT_EQ(plain_wording("wat did we tlk abt lst wk").text, "what did we talk about last week");
  EXPECT_EQ(plain_wording("2wks ago").text, "2 weeks ago");
  EXPECT_EQ(plain_wording("3ish").text, "around 3");
  EXPECT_EQ(plain_wording("lastweek n yesterdayyy").text, "last week and yesterday");
  EXPECT_EQ(plain_wording("thursdays conversation").text, "thursday conversation");
  EXPECT_EQ(plain_wording("elevn days ago").notes.size(), 1u);
  for (const char* own : {"mourning doves", "the conservation of moths", "Jude sent tunes", "a list of yarns"}) {
    EXPECT_EQ(plain_wording(own).text, own);
    EXPECT_TRUE(plain_wording(own).notes.empty()) << own;
  }
}

TEST(PlainWording, TellsLanguages) {
  EXPECT_EQ(plain_wording("Was war vor drei Tagen?").language, Language::german);
  EXPECT_EQ(plain_wording("De quoi a-t-on parlé hier ?").language, Language::french);
  EXPECT_EQ(plain_wording("¿De qué hablamos ayer?").language, Language::spanish);
  EXPECT_EQ(plain_wording("昨天我们聊了什么？").language, Language::chinese);
  EXPECT_EQ(plain_wording("What did we say on May 8?").language, Language::english);
  EXPECT_EQ(plain_wording("Was war vor drei Tagen?").text, "what did three days ago?");
  EXPECT_EQ(plain_wording("Und Mai?", {"mai"}).text, "and Mai?");
  const PlainWording slip = plain_wording("Was haben wir letzen Mittwcoh besprochen?");
  EXPECT_EQ(slip.text, plain_wording("Was haben wir letzten Mittwoch besprochen?").text);
  EXPECT_EQ(slip.notes.size(), 2u);
  for (const char* odd : {"", "\xff\xfe", "¿", "第", "vor", "l'", "年月日", "\xE4\xB8"})
    EXPECT_NO_THROW(plain_wording(odd));
}

}  // namespace
}  // namespace quern::memory
