// Instructions about form: each with replies that follow it and replies that do not, and counts against second readings.
#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <sstream>

#include "quern/base/error.h"
#include "quern/base/rng.h"
#include "quern/base/stopwatch.h"
#include "quern/verify/instructions.h"
#include "quern/verify/language.h"
#include "quern/verify/text_counts.h"
#include "quern/verify/verifier.h"

namespace quern::verify {
namespace {

Verdict judged(const std::string& instructions, const std::string& reply) {
  const Verdict v =
      judge(Json::parse("{\"verifier\": \"instructions\", \"instructions\": [" + instructions + "]}"), reply);
  EXPECT_FALSE(v.reason.empty());
  return v;
}

struct Case {
  const char *instruction, *good, *bad;
};

const Case kCases[] = {
    {R"({"kind": "words", "at_least": 3, "at_most": 4})", "one two, three!", "one - two"},
    {R"({"kind": "words", "exactly": 2})", "don't well-known", "a b c"},
    {R"({"kind": "sentences", "exactly": 2})", "Dr. Smith came at 3.5 km/h. \"Did he?\"", "One. Two! Three?"},
    {R"({"kind": "sentences", "at_most": 1})", "Use e.g. this", "It is 1. It is 2."},
    {R"({"kind": "paragraphs", "exactly": 2})", "a\nb\n\nc", "a\n\nb\n***\nc"},
    {R"({"kind": "bullets", "at_least": 2})", "Points:\n* a\n- b", "* a\n*b*"},
    {R"({"kind": "placeholders"})", "Dear [name],", "Dear [],"},
    {R"({"kind": "highlights", "at_least": 2})", "a *b c* and **d**", "*a* and * b *"},
    {R"({"kind": "capital_words", "at_most": 1})", "I am at NASA", "THE END"},
    {R"({"kind": "sections", "marker": "Section", "exactly": 2})", "Section 1\na\n## Section 2\nb",
     "Section 1\nsections"},
    {R"({"kind": "contains", "texts": ["cat", "dog"]})", "Cat, dog.", "Cats, dog."},
    {R"({"kind": "contains", "texts": ["cat"], "exactly": 2})", "cat CAT concat", "cat cat cat"},
    {R"({"kind": "avoids", "texts": ["cat", "new york"]})", "concatenate", "A New York day"},
    {R"({"kind": "upper_case"})", "ÄB 1!", "ÄBc"},
    {R"({"kind": "lower_case"})", "äb 1!", "äB"},
    {R"({"kind": "starts_with", "text": "Dear"})", " Dear all", "dear all"},
    {R"({"kind": "ends_with", "text": "Any questions?"})", "So. Any questions?\n", "Any questions? No."},
    {R"({"kind": "quoted"})", "\"all of it\"", "\"some\" of it"},
    {R"({"kind": "no_commas"})", "a; b", "a, b"},
    {R"({"kind": "title"})", "<<On cats>>\ntext", "<<>> text"},
    {R"({"kind": "json"})", "```json\n{\"a\": 1}\n```", "{a: 1}"},
    {R"({"kind": "two_responses"})", "one\n******\ntwo", "one\n******\none"},
    {R"({"kind": "language", "language": "en"})", "The cat sat on the mat, and it was happy with this.",
     "Die Katze sitzt auf der Matte und ist nicht allein."},
    {R"({"kind": "language", "script": "cyrillic"})", "Кошка сидит на коврике.", "Koshka sits здесь."},
    {R"({"kind": "repeats_prompt", "text": "Write a line."})", "Write a line.\nHere.", "Write a line."},
    {R"({"kind": "postscript"})", "Bye.\nP.S. One more thing.", "P.S. One more thing."},
    {R"({"kind": "postscript", "marker": "P.P.S"})", "Bye.\n\nP.P.S\nmore", "Bye.\nP.S. more"},
};

TEST(Instructions, AreChecked) {
  std::set<std::string> kinds;
  for (const Case& c : kCases) {
    kinds.insert(Json::parse(c.instruction).at("kind").as_string());
    EXPECT_EQ(judged(c.instruction, c.good).reward, 1)
        << c.instruction << c.good << judged(c.instruction, c.good).reason;
    EXPECT_EQ(judged(c.instruction, c.bad).reward, 0) << c.instruction << c.bad;
    EXPECT_EQ(judged(c.instruction, "").reward, 0) << c.instruction;
    EXPECT_EQ(judged(c.instruction, "<think>" + std::string(c.good)).reward, 0) << c.instruction;
  }
  const std::vector<std::string> known = instruction_kinds();
  EXPECT_EQ(kinds, std::set<std::string>(known.begin(), known.end()));
}

TEST(Instructions, EarnTheirShare) {
  const std::string three = R"({"kind": "lower_case"}, {"kind": "no_commas"}, {"kind": "words", "at_most": 3})";
  EXPECT_EQ(judged(three, "a b c").reward, 1);
  EXPECT_DOUBLE_EQ(judged(three, "a, b c").reward, 2.0 / 3);
  const Verdict v = judged(three, "A, b");
  EXPECT_DOUBLE_EQ(v.reward, 1.0 / 3);
  EXPECT_EQ(v.reason, "instruction 1: a letter is not lower case; instruction 2: a comma is in the reply");
}

TEST(Instructions, RefuseBadOnes) {
  for (const char* bad : {R"(3)", R"({})", R"({"kind": "word", "at_most": 3})", R"({"kind": "words"})",
                          R"({"kind": "words", "at_most": -1})", R"({"kind": "words", "at_most": 3, "exactly": 3})",
                          R"({"kind": "words", "at_least": 4, "at_most": 3})", R"({"kind": "contains", "texts": []})",
                          R"({"kind": "contains", "texts": [" "]})", R"({"kind": "starts_with", "text": ""})",
                          R"({"kind": "language", "language": "xx"})", R"({"kind": "language"})",
                          R"({"kind": "title", "text": "x"})", R"({"kind": "sections", "at_least": 1})"}) {
    try {
      judged(bad, "a");
      ADD_FAILURE() << bad;
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find("item 1"), std::string::npos) << e.what();
    }
  }
  EXPECT_THROW(judged("", "a"), Error);
}

TEST(Instructions, AreBounded) {
  std::string all;
  for (const Case& c : kCases) all += std::string(all.empty() ? "" : ", ") + c.instruction;
  for (std::string_view piece :
       {"[", "*", "* ", "a", "a.", "\n", "<<", "\"", "cat", "\xff", "Section 1\n", "``` \n", "。"}) {
    std::string s;
    while (s.size() < 1000000) s += piece;
    Stopwatch watch;
    EXPECT_LT(judged(all, s).reward, 1);
    EXPECT_LT(watch.seconds(), 5) << piece;
  }
  EXPECT_EQ(judged(all, std::string(5 << 20, 'a')).reward, 0);
}

TEST(Instructions, CountAsASecondReading) {
  Rng r(9);
  constexpr std::string_view kPieces[] = {"cat", "Cat", "cats", "a",   "3", " ", " ", " ",
                                          "\n",  "-",   "*",    "[x]", "[", "]", ".", ","};
  const std::regex word("(^|[^a-z0-9])(cat)(?![a-z0-9])"), holder("\\[[ ]*[^\\[\\]\n ][^\\[\\]\n]*\\]"),
      bullet("(^|\n) *[-*] (?=[^\n]*[^ \n])");
  for (int i = 0; i < 20000 && !HasFailure(); ++i) {
    std::string s;
    for (uint64_t n = r.below(14); n > 0; --n) s += kPieces[r.below(std::size(kPieces))];
    std::string lower = s;
    for (char& c : lower) c = static_cast<char>(std::tolower(c));
    const auto count = [](const std::string& t, const std::regex& form) {
      return std::distance(std::sregex_iterator(t.begin(), t.end(), form), std::sregex_iterator());
    };
    EXPECT_EQ(count_keyword(s, "Cat"), count(lower, word)) << s;
    EXPECT_EQ(count_placeholders(s), count(s, holder)) << s;
    EXPECT_EQ(count_bullets(s), count(s, bullet)) << s;
    int64_t words = 0;
    std::istringstream in(s);
    for (std::string w; in >> w;) words += w.find_first_of("cCa3x") != std::string::npos ? 1 : 0;
    EXPECT_EQ(count_words(s), words) << s;
  }
}

// Sentences of the Universal Declaration of Human Rights, article 1, as the United Nations publish them.
TEST(Language, IsThatOfTheDeclarationOfHumanRights) {
  for (const auto& [language, text] :
       {std::pair<const char*, const char*>{
            "en",
            "All human beings are born free and equal in dignity and rights. They are endowed with reason and "
            "conscience and should act towards one another in a spirit of brotherhood."},
        {"de",
         "Alle Menschen sind frei und gleich an Würde und Rechten geboren. Sie sind mit Vernunft und Gewissen "
         "begabt und sollen einander im Geiste der Brüderlichkeit begegnen."},
        {"fr",
         "Tous les êtres humains naissent libres et égaux en dignité et en droits. Ils sont doués de raison et de "
         "conscience et doivent agir les uns envers les autres dans un esprit de fraternité."},
        {"es",
         "Todos los seres humanos nacen libres e iguales en dignidad y derechos y, dotados como están de razón y "
         "conciencia, deben comportarse fraternalmente los unos con los otros."},
        {"it",
         "Tutti gli esseri umani nascono liberi ed eguali in dignità e diritti. Essi sono dotati di ragione e di "
         "coscienza e devono agire gli uni verso gli altri in spirito di fratellanza."},
        {"pt",
         "Todos os seres humanos nascem livres e iguais em dignidade e em direitos. Dotados de razão e de "
         "consciência, devem agir uns para com os outros em espírito de fraternidade."},
        {"nl",
         "Alle mensen worden vrij en gelijk in waardigheid en rechten geboren. Zij zijn begiftigd met verstand en "
         "geweten, en behoren zich jegens elkander in een geest van broederschap te gedragen."},
        {"ja", "すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。"},
        {"zh", "人人生而自由，在尊严和权利上一律平等。"},
        {"ko", "모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다."}})
    EXPECT_EQ(language_of(text), language) << text;
  for (const char* unsure : {"", "42", "Paris", "Wszyscy ludzie rodzą się wolni i równi", "hello der world und"})
    EXPECT_EQ(language_of(unsure), "") << unsure;
  EXPECT_EQ(script_of("Все люди"), "cyrillic");
  EXPECT_EQ(script_of("123"), "");
}

TEST(Instructions, CountWholeWords) {
  const auto follows = [](const std::string& instruction, const std::string& reply) {
    return judge(Json::parse(R"({"verifier": "instructions", "instructions": [)" + instruction + "]}"), reply)
               .reward == 1;
  };
  const std::string hi = R"({"kind": "starts_with", "text": "Hi"})", end = R"({"kind": "ends_with", "text": "all"})",
                    upper = R"({"kind": "upper_case"})", highlight = R"({"kind": "highlights"})",
                    two = R"({"kind": "sentences", "exactly": 2})";
  EXPECT_TRUE(follows(hi, "Hi, you") && follows(hi, "Hi") && follows(end, "for all"));
  EXPECT_FALSE(follows(hi, "Hiding") || follows(end, "small"));
  EXPECT_TRUE(follows(upper, "A 1"));
  EXPECT_FALSE(follows(upper, "123") || follows(upper, "a"));
  EXPECT_TRUE(follows(highlight, "so *this* is 2*3"));
  EXPECT_FALSE(follows(highlight, "2*3*4"));
  EXPECT_TRUE(follows(two, "He is from the U.S. and Mr. Ray is, e.g. in May, not. Yes."));
}

}  // namespace
}  // namespace quern::verify
