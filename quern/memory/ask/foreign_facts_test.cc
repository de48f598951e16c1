// Facts that change, asked for and stated in German, French and Spanish.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <sstream>

#include "quern/base/error.h"
#include "quern/base/mmap.h"
#include "quern/memory/ask/memory.h"
#include "quern/memory/facts/word_phrase.h"

namespace quern::memory {
namespace {

class ForeignFacts : public testing::Test {
 protected:
  using Said = std::initializer_list<std::array<const char*, 3>>;
  ForeignFacts() : m_(":memory:", MemoryOptions{.create = true, .conversation = "log"}) {}
  void say(Said log) {
    std::vector<SpokenTurn> turns;
    for (const auto& [who, when, text] : log) turns.push_back({who, text, parse_time_text(when, "t").local, 0});
    m_.add_all(turns);
  }
  MemoryResult ask(const char* question, const char* asker = "Ada") {
    AskOptions o;
    o.now = parse_time_text("2023-12-01 12:00", "now").local, o.asker = asker;
    return m_.ask(question, o);
  }
  int32_t first(const char* question) {
    const MemoryResult r = ask(question);
    const bool fact = std::any_of(r.notes.begin(), r.notes.end(),
                                  [](const std::string& n) { return n.starts_with("taken for a question about"); });
    return fact && !r.responses.empty() ? r.responses[0] : -1;
  }
  static bool says(const MemoryResult& r, const char* words) {
    return std::any_of(r.notes.begin(), r.notes.end(), [&](const std::string& n) { return n.find(words) != n.npos; });
  }
  Memory m_;
};

TEST(WordPhrases, HaveGapsPrefixesAlternativesAndNames) {
  const FoldedWords words = folded_words("Ich bin letzten Mai mit Jo nach Köln gezogen, in die Hafenstraße.");
  EXPECT_TRUE(WordPhrase("bin * nach/in * gezogen").in(words));
  EXPECT_TRUE(WordPhrase("hafen-").in(words));
  EXPECT_FALSE(WordPhrase("hafen").in(words));
  EXPECT_FALSE(WordPhrase("ich * gezogen").in(words));  // too far apart
  EXPECT_TRUE(WordPhrase("gezogen <in>").in(words));
  EXPECT_FALSE(WordPhrase("nach").in(words, 3));
  FoldedWords named = folded_words("Wie lautet Adas Nummer?");
  EXPECT_TRUE(mark_name(named, "Ada"));
  EXPECT_TRUE(WordPhrase("lautet @ nummer").in(named));
  FoldedWords two = folded_words("¿Dónde vive María José Ruiz ahora?");
  EXPECT_TRUE(mark_name(two, "María José Ruiz"));
  EXPECT_TRUE(WordPhrase("donde vive @ ahora").in(two));
}

TEST_F(ForeignFacts, German) {
  say({{"Ada", "2021-03-01 09:00", "Ich wohne seit dem Winter in Leipzig, über einer Bäckerei."},  // 0
       {"Ben", "2021-03-01 09:05", "Meine Schwester wohnt in Bonn."},                              // 1
       {"Ada", "2021-06-09 18:00", "Ich arbeite jetzt bei der Druckerei Harper."},                 // 2
       {"Ada", "2022-04-02 20:00", "Wir sind nach Kiel gezogen, überall Kisten!"},                 // 3
       {"Ben", "2022-04-02 20:01", "Wohnst du gern in Kiel?"},                                     // 4
       {"Ada", "2022-08-10 08:00", "Am liebsten würde ich in Lissabon wohnen. Ich wohne vielleicht bald in Porto."},
       {"Ada", "2023-01-16 08:00", "Meine Nummer ist 0151 496 0233."},                  // 6
       {"Ada", "2023-05-05 12:00", "Ihr erreicht mich ab heute unter 0151 496 0817."},  // 7
       {"Ben", "2023-06-01 12:00", "Ich fahre jetzt einen alten Volvo."},               // 8
       {"Ada", "2023-06-02 12:00", "Ich arbeite seit Montag als Lektorin."}});          // 9
  EXPECT_EQ(first("Wo wohne ich?"), 3);
  EXPECT_EQ(first("Wo wohnt Ada jetzt?"), 3);
  EXPECT_EQ(first("In welcher Stadt lebe ich?"), 3);
  EXPECT_EQ(first("Wo habe ich 2021 gewohnt?"), 0);
  EXPECT_EQ(first("Wo habe ich vorher gewohnt?"), 0);
  EXPECT_EQ(first("Wo wohnte Ada im Mai 2021?"), 0);
  EXPECT_EQ(first("Wo arbeite ich?"), 2);
  EXPECT_EQ(first("Bei wem arbeitet Ada?"), 2);
  EXPECT_EQ(first("Wie lautet meine Telefonnummer?"), 7);
  EXPECT_EQ(first("Wie lautet Adas Nummer?"), 7);
  EXPECT_EQ(first("Welches Auto fährt Ben?"), 8);
  EXPECT_EQ(first("Was bin ich von Beruf?"), 9);
  EXPECT_EQ(first("Was macht Ada beruflich?"), 9);
  EXPECT_TRUE(says(ask("Wo wohnt Ben?"), "no turn was found that states it"));
  EXPECT_TRUE(says(ask("Wo wohne ich?", ""), "who asks was not said"));
  EXPECT_EQ(first("Was hat Ada über Kiel gesagt?"), -1);
  EXPECT_EQ(first("Wo haben wir über die Wohnung gesprochen?"), -1);
}

TEST_F(ForeignFacts, French) {
  say({{"Ada", "2021-03-01 09:00", "J'habite à Lyon depuis l'hiver."},
       {"Ben", "2021-03-01 09:05", "Ma sœur habite à Nantes."},
       {"Ada", "2021-06-09 18:00", "Je travaille maintenant chez Moreau."},
       {"Ada", "2022-04-02 20:00", "On a déménagé à Rennes, il y a des cartons partout."},
       {"Ada", "2022-08-10 08:00", "J'aimerais tellement vivre à Lisbonne."},
       {"Ada", "2023-01-16 08:00", "Mon nouveau numéro est le 06 12 34 56 78."},
       {"Ben", "2023-06-01 12:00", "Je conduis une vieille Volvo."},
       {"Ada", "2023-06-02 12:00", "Je suis devenue infirmière."}});
  EXPECT_EQ(first("Où est-ce que j'habite ?"), 3);
  EXPECT_EQ(first("Où habite Ada maintenant ?"), 3);
  EXPECT_EQ(first("Où est-ce que j'habitais en 2021 ?"), 0);
  EXPECT_EQ(first("Où est-ce qu'Ada habitait avant ?"), 0);
  EXPECT_EQ(first("Pour qui est-ce que je travaille ?"), 2);
  EXPECT_EQ(first("Quel est mon numéro de téléphone ?"), 5);
  EXPECT_EQ(first("Quelle voiture conduit Ben ?"), 6);
  EXPECT_EQ(first("Quel est le métier d'Ada ?"), 7);
}

TEST_F(ForeignFacts, Spanish) {
  say({{"Ada", "2021-03-01 09:00", "Vivo en Granada desde el invierno."},
       {"Ben", "2021-03-01 09:05", "Mi hermana vive en Cádiz."},
       {"Ada", "2021-06-09 18:00", "Ahora trabajo para una imprenta."},
       {"Ada", "2022-04-02 20:00", "Nos hemos mudado a Bilbao, hay cajas por todas partes."},
       {"Ada", "2022-08-10 08:00", "Algún día me gustaría vivir en Lisboa."},
       {"Ada", "2023-01-16 08:00", "Mi nuevo número es el 612 345 678."},
       {"Ben", "2023-06-01 12:00", "Conduzco un Volvo viejo."},
       {"Ada", "2023-06-02 12:00", "Ahora me dedico a la enfermería."}});
  EXPECT_EQ(first("¿Dónde vivo ahora?"), 3);
  EXPECT_EQ(first("¿Dónde vive Ada?"), 3);
  EXPECT_EQ(first("¿Dónde vivía Ada en 2021?"), 0);
  EXPECT_EQ(first("¿Dónde vivía yo antes?"), 0);
  EXPECT_EQ(first("¿Para quién trabajo?"), 2);
  EXPECT_EQ(first("¿Cuál es mi número de teléfono?"), 5);
  EXPECT_EQ(first("¿Qué coche conduce Ben?"), 6);
  EXPECT_EQ(first("¿A qué me dedico?"), 7);
}

TEST_F(ForeignFacts, WhatStatesNoneOfThem) {
  say({{"Ada", "2021-03-01 09:00", "Ich wohne in Kiel."},
       {"Ada", "2021-03-02 09:00", "Ich arbeite bei Bosch."},
       {"Ada", "2021-03-03 09:00", "Meine Eltern sind nach Mainz gezogen."},
       {"Ada", "2021-03-04 09:00", "Mein Bruder wohnt jetzt in Hamburg und arbeitet bei der Post."},
       {"Ada", "2021-03-05 09:00", "Als Kind habe ich in Bremen gewohnt."},
       {"Ada", "2021-03-06 09:00", "Ma voisine a déménagé à Metz."},
       {"Ada", "2021-03-07 09:00", "Je vis dans l'angoisse des examens, je travaille à un nouveau tableau."},
       {"Ada", "2021-03-08 09:00", "Mis padres se han mudado a Murcia."},
       {"Ada", "2021-03-09 09:00", "Hoy tengo trabajo en casa."},
       {"Ada", "2021-03-10 09:00", "Wohne ich etwa in Ulm?"}});
  EXPECT_EQ(first("Wo wohne ich?"), 0);
  EXPECT_EQ(first("¿Dónde vivo?"), 0);
  EXPECT_EQ(first("Où est-ce que je travaille ?"), 1);
  say({{"Ada", "2021-04-01 09:00", "Ich bin nach Ulm gezogen."},
       {"Ada", "2021-05-01 09:00", "Ich wohne nicht mehr in Ulm."}});
  EXPECT_EQ(first("Wo habe ich vorher gewohnt?"), 0);
}

TEST_F(ForeignFacts, OfEnglishTurnsAndOfShortAnswers) {
  say({{"Ada", "2021-03-01 09:00", "I'm living in Leeds since the winter, in a flat above a bakery."},
       {"Cleo", "2021-03-02 09:00", "Wo wohnst du eigentlich, Ben?"},
       {"Ben", "2021-03-02 09:01", "In Kiel, am Hafen."}});
  EXPECT_EQ(first("Wo wohne ich?"), 0);
  EXPECT_EQ(first("¿Dónde vive Ada?"), 0);
  EXPECT_EQ(first("Wo wohnt Ben?"), 2);
  EXPECT_EQ(first("Où habite Ben ?"), 2);
}

// Each in a conversation of its own: tests/memory/foreign_facts.txt.
TEST(ForeignFactLists, AreAnsweredAsBefore) {
  std::istringstream lines(read_file(std::string(QUERN_SOURCE_DIR) + "/tests/memory/foreign_facts.txt"));
  int stated = 0, stated_right = 0, others = 0, others_right = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream parts(line);
    std::string question, statement, later;
    std::getline(parts, question, '\t'), std::getline(parts, statement, '\t'), std::getline(parts, later, '\t');
    Memory m(":memory:", {.create = true, .conversation = "c"});
    LocalSeconds day = parse_time_text("2023-05-01 12:00", "t").local;
    std::vector<SpokenTurn> turns;
    for (const std::string& text : {std::string("Hm."), statement, later})
      if (!text.empty()) turns.push_back({"Ada", text, day += kDaySeconds, 0});
    turns.push_back({"Ben", "Ok.", day += kDaySeconds, 0});
    m.add_all(turns);
    AskOptions o;
    o.now = day + kDaySeconds, o.asker = "Ada";
    const MemoryResult r = m.ask(question, o);
    const bool fact = std::any_of(r.notes.begin(), r.notes.end(),
                                  [](const std::string& n) { return n.starts_with("taken for a question about"); });
    const bool right = fact && !r.responses.empty() && r.responses[0] == 1;
    ++(later.empty() ? stated : others), (later.empty() ? stated_right : others_right) += right;
  }
  EXPECT_EQ(stated, 56);
  EXPECT_GE(stated_right, 47);
  EXPECT_EQ(others, 54);
  EXPECT_EQ(others_right, 54);
}

}  // namespace
}  // namespace quern::memory
