// What is not there is said, and nothing else is given for it: a topic of another time, a speaker that is none, an asker
// that is none, a question that is not answered in its language.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "quern/base/error.h"
#include "quern/base/test_message.h"
#include "quern/memory/ask/memory.h"

namespace quern::memory {
namespace {

using Numbers = std::vector<int32_t>;

class Misses : public testing::Test {
 protected:
  Misses() : m_(":memory:", {.create = true, .conversation = "c"}) {
    std::vector<SpokenTurn> turns;
    for (const auto& [who, text, when] :
         std::initializer_list<std::array<const char*, 3>>{{"Ada", "The goose bit the postman.", "2023-05-01 10:00"},
                                                           {"Ben", "Poor postman.", "2023-05-01 10:01"},
                                                           {"Ada", "The mill stands still.", "2023-05-02 10:00"},
                                                           {"Ben", "Then we bake bread.", "2023-05-02 10:01"},
                                                           {"Cleo", "Rye bread, please.", "2023-05-02 10:02"},
                                                           {"Ada", "The goose is back.", "2023-05-04 09:00"}})
      turns.push_back({who, text, parse_time_text(when, "t").local, 0});
    m_.add_all(turns);
  }
  MemoryResult ask(const char* question, const char* asker = "") {
    AskOptions o;
    o.now = parse_time_text("2023-05-05 12:00", "now").local, o.k = 2, o.asker = asker;
    return m_.ask(question, o);
  }
  static bool says(const MemoryResult& r, const char* words) {
    return std::any_of(r.notes.begin(), r.notes.end(), [&](const std::string& n) { return n.find(words) != n.npos; });
  }
  Memory m_;
};

TEST_F(Misses, ATopicOfAnotherTimeIsNotAnsweredWithAllOfThatTime) {
  for (const char* q :
       {"What did we say about the goose on May 2?", "What did we say about the postman last Tuesday?",
        "Was haben wir am 2. Mai über die goose gesagt?"}) {
    const MemoryResult r = ask(q);
    EXPECT_TRUE(r.unmatched) << q;
    EXPECT_EQ(r.responses, (Numbers{2, 3})) << q;  // no more than k of them
    EXPECT_TRUE(r.ranked.empty()) << q;
    EXPECT_EQ(r.json(1).at("unmatched"), Json(true)) << q;
    EXPECT_EQ(r.route, Route::both) << q;
    EXPECT_TRUE(says(r, "none of the 3 turns there")) << q << " " << (r.notes.empty() ? "" : r.notes[0]);
    EXPECT_EQ(r.within, (std::vector<std::pair<int32_t, int32_t>>{{2, 4}})) << q;
  }
  EXPECT_TRUE(says(ask("What did we say about the goose on May 2?"), "of other times or speakers 2 turns have"));
}

// Two days of talk, on the second of which nothing has the words that are asked for.
MemoryResult ask_of(const std::vector<std::pair<const char*, std::string>>& said, const char* question, int64_t k) {
  Memory m(":memory:", {.create = true, .conversation = "c"});
  m.add({"Ada", "The weather was mild.", parse_time_text("2023-05-01 10:00", "t").local, 0});
  LocalSeconds at = parse_time_text("2023-05-02 10:00", "t").local;
  std::vector<SpokenTurn> turns;
  for (const auto& [who, text] : said) turns.push_back({who, text, at += 20, 0});
  m.add_all(turns);
  AskOptions o;
  o.now = parse_time_text("2023-05-05 12:00", "now").local, o.k = k;
  return m.ask(question, o);
}

TEST_F(Misses, TheTurnsThatMayMeanItComeFirst) {
  const std::vector<std::pair<const char*, std::string>> said = {
      {"Ada", "Hello there, good to see you."},     {"Ben", "Good to see you as well."},
      {"Ada", "My sister sings in the choir."},     {"Ben", "That must be lovely for her."},
      {"Ada", "I sold the old car this morning."},  {"Ben", "We are a great team, you and I."},
      {"Ada", "The soup was too salty yesterday."}, {"Ben", "The physician was late again."}};
  for (const auto& [question, first] :
       std::initializer_list<std::pair<const char*, int32_t>>{{"What did we say about automobiles on May 2?", 5},
                                                              {"What did we say about teamwork on May 2?", 6},
                                                              {"What did we say about doctors on May 2?", 8},
                                                              {"What did we say about music on May 2?", 3}}) {
    const MemoryResult r = ask_of(said, question, 2);
    EXPECT_TRUE(r.unmatched) << question;
    ASSERT_EQ(r.responses.size(), 2u) << question;
    EXPECT_EQ(r.responses[0], first) << question;
    EXPECT_TRUE(says(r, "of the 8 turns there 2 are shown that may mean it")) << question;
  }
  const MemoryResult none = ask_of(said, "What did we say about the qwrtzp on May 2?", 3);
  EXPECT_EQ(none.responses, (Numbers{1, 2, 3})) << "nothing is known of the word";
  EXPECT_TRUE(says(none, "the first 3 of the 8 turns there"));
}

TEST_F(Misses, OfManyTurnsThoseWithWordsNearby) {
  std::vector<std::pair<const char*, std::string>> said;
  for (int i = 0; i < 3000; ++i) said.emplace_back(i % 2 ? "Ben" : "Ada", fmt::format("Row {} of the knitting.", i));
  said[1711].second = "I sold the old car this morning.";
  const MemoryResult r = ask_of(said, "What did we say about automobiles on May 2?", 3);
  EXPECT_TRUE(r.unmatched);
  ASSERT_EQ(r.responses.size(), 3u);
  EXPECT_EQ(r.responses[0], 1712);
}

TEST_F(Misses, OrOfAnotherSpeaker) {
  const MemoryResult r = ask("What did Cleo say about the mill?");
  EXPECT_TRUE(r.responses.empty());
  EXPECT_TRUE(says(r, "the turn there has no word of 'mill'"));
  EXPECT_TRUE(says(r, "1 turn has"));
  EXPECT_TRUE(ask("What did Ada say about the goose on May 3?").responses.empty());  // nothing was said at all
  EXPECT_TRUE(says(ask("What did Ada say about the goose on May 3?"), "no turn meets the time and the speaker"));
}

TEST_F(Misses, ASubjectThatNoTurnHas) {
  const MemoryResult r = ask("What did we say about the zeppelin on May 2?");
  EXPECT_TRUE(r.unmatched);
  EXPECT_EQ(r.responses, (Numbers{2, 3}));
  EXPECT_TRUE(says(r, "no turn of the conversation has 'zeppelin'"));
  EXPECT_EQ(ask("Any zeppelinish gabfest on May 2?").responses, (Numbers{2, 3, 4}));  // says not what about
}

TEST_F(Misses, SpeakersThatAreNone) {
  for (const char* q : {"What did Peter say about the goose?", "what did peter say about the goose",
                        "What did Peter tell Ada about the goose?", "everything Peter said about the goose",
                        "What was in Peter's messages about the goose?", "messages from Peter about the goose",
                        "Was hat Peter über die goose gesagt?", "Qu'est-ce que Peter a dit sur goose ?",
                        "¿Qué dijo Peter sobre goose?"})
    EXPECT_TRUE(says(ask(q), "no speaker is called '"))
        << q << " " << fmt::format("{}", fmt::join(ask(q).notes, "|"));
  for (const char* q : {"What did Ada say about the goose?", "What did we say about the goose?",
                        "What did anyone say about the goose?", "Did the goose bite?", "What did you say?",
                        "Who said that the goose is back?", "What did Ben tell Ada?"})
    EXPECT_FALSE(says(ask(q), "no speaker is called")) << q;
  EXPECT_EQ(ask("What did Peter tell Ada about the bread?").responses.size(), 2u) << "not Ada's turns alone";
}

TEST_F(Misses, AnAskerThatIsNone) {
  EXPECT_TRUE(says(ask("What did I say about the goose?", "Adda"), "no speaker is called 'Adda'"));
  EXPECT_TRUE(says(ask("Where is my mill?", "Adda"), "no speaker is called 'Adda'"));
  EXPECT_FALSE(says(ask("What did I say about the goose?", "Ada"), "no speaker is called"));
  EXPECT_FALSE(says(ask("What was said about the goose?", "Adda"), "no speaker is called"));
}

TEST_F(Misses, FactsInOtherLanguages) {
  for (const char* q : {"Wo wohnt Ada jetzt?", "Was ist mein Beruf?", "Wie lautet Adas Telefonnummer?",
                        "Où habite Ada maintenant ?", "Quel est mon métier ?", "¿Dónde vive Ada ahora?",
                        "¿Cuál es mi número de teléfono?", "Ada现在住在哪里？", "Ada做什么工作？"}) {
    const MemoryResult r = ask(q, "Ada");
    EXPECT_TRUE(says(r, "answered in English only") || says(r, "no turn was found that states it"))
        << q << " " << r.reading;
    EXPECT_LE(r.responses.size(), 2u) << q;
  }
  for (const char* q : {"Was hat Ada gestern gesagt?", "Wo wohnt Ada, was haben wir darüber gesagt?",
                        "De quoi avons-nous parlé hier ?", "Where does Ada live?"})
    EXPECT_FALSE(says(ask(q, "Ada"), "answered in English only")) << q;
}

TEST_F(Misses, AnEmptyTurnIsRefused) {
  for (const char* text : {"", " ", "\t\n"})
    EXPECT_NE(message_of([&] { m_.add({"Ada", text, 1'683'000'000, 0}); }).find("empty"), std::string::npos);
  EXPECT_EQ(m_.table().size(), 6u);
}

TEST_F(Misses, ZoneAndGapOfAConversationThatIsThere) {
  const auto path = std::filesystem::temp_directory_path() / fmt::format("quern_zone_{}.db", ::getpid());
  {
    Memory first(path, {.create = true, .conversation = "c", .zone = "Europe/Berlin", .gap = 600});
    first.add({"Ada", "Here.", 1'683'000'000, 7200});
  }
  const auto again = [&](const char* zone, int64_t gap) {
    return message_of([&] { Memory(path, {.create = true, .conversation = "c", .zone = zone, .gap = gap}); });
  };
  EXPECT_NE(again("UTC", 0).find("time zone Europe/Berlin"), std::string::npos);
  EXPECT_NE(again("", 1200).find("after 10 minutes"), std::string::npos);
  EXPECT_EQ(again("Europe/Berlin", 600), "");
  EXPECT_EQ(again("", 0), "");
  for (const char* end : {"", "-wal", "-shm"}) std::filesystem::remove(path.string() + end);
}

}  // namespace
}  // namespace quern::memory
