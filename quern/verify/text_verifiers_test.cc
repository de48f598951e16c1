// The verifiers of choices, texts, lists, sets and regular expressions: truth tables, and mutated answers against
// second readings with std::regex.
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <set>

#include "quern/base/error.h"
#include "quern/base/rng.h"
#include "quern/base/stopwatch.h"
#include "quern/verify/answer_text.h"
#include "quern/verify/verifier.h"

namespace quern::verify {
namespace {

Verdict judged(const std::string& expectation, const std::string& reply) {
  const Verdict v = judge(Json::parse(expectation), reply);
  EXPECT_FALSE(v.reason.empty());
  return v;
}

const std::string kCities =
    R"({"verifier": "choice", "choices": ["Rome", "Paris", "A city", "New York, NY"], "answer": "B"})";

TEST(ChoiceVerifier, ReadsLettersAndTexts) {
  for (const char* right : {"B",
                            "b",
                            "(B)",
                            "(b)",
                            "B.",
                            "B)",
                            "[B]",
                            "B) Paris",
                            "B: Paris",
                            "(B) Paris",
                            "B. paris",
                            "Paris",
                            "paris.",
                            "**B**",
                            "\\boxed{B}",
                            "\\boxed{\\text{B}}",
                            "Answer: B",
                            "Option B",
                            "The correct answer is (B).",
                            "The answer is: Paris",
                            "B, B",
                            "\\boxed{\\textbf{(B)}}",
                            "\\boxed{\\textbf{(B)}\\ Paris}",
                            "\\boxed{\\textbf{(B) }\\text{Paris}}",
                            "\\boxed{\\mathrm{B}}",
                            "B - Paris",
                            "B — Paris",
                            "B (Paris)",
                            "\"B\"",
                            "“B”",
                            "\"Paris\"",
                            "B!",
                            "The answer is B!",
                            "The answer is B because A is wrong",
                            "The answer is (B) Paris because A is wrong.",
                            "The correct option is B",
                            "The correct choice is (B) Paris.",
                            "The answer is B. I hope it is correct.",
                            "The answer is B.\n\nLet me know if you need more!",
                            "<think>A</think>B"})
    EXPECT_EQ(judged(kCities, right).reward, 1) << right;
}

TEST(ChoiceVerifier, RefusesOthers) {
  for (const char* wrong : {"",
                            "A",
                            "C",
                            "E",
                            "Z",
                            "BB",
                            "A or B",
                            "B and C",
                            "A, B, C, D",
                            "B) Rome",
                            "Paris or Rome",
                            "not B",
                            "\\boxed{\\textbf{(A)}}",
                            "\\boxed{\\textbf{(B)}\\ Rome}",
                            "B - Rome",
                            "B (Rome)",
                            "B - ",
                            "B ()",
                            "\"A\"",
                            "The answer is A because B is wrong",
                            "The answer is B because A or C is wrong",
                            "The answer is B. Or A.",
                            "The answer is B. A.",
                            "The answer is B. Rome.",
                            "The answer is Paris. Rome could be right as well.",
                            "The answer is B.\nA",
                            "The correct option is A",
                            "The correct choice is not B.",
                            "Parisian",
                            "Bern",
                            "a",
                            "(B",
                            "Answer:",
                            "B A",
                            "Answer: B\nAnswer: A",
                            "nan",
                            "\\boxed{A} \\boxed{}",
                            "\xff",
                            "The answer is not B"})
    EXPECT_EQ(judged(kCities, wrong).reward, 0) << wrong;
  EXPECT_EQ(judged(kCities, "A or B").reason, "2 different choices at once");
  EXPECT_EQ(judged(kCities, std::string(1 << 20, 'B')).reward, 0);
  const std::string last = R"({"verifier": "choice", "choices": ["Rome", "New York, NY"], "answer": "new york, NY"})";
  EXPECT_EQ(judged(last, "New York, NY").reward, 1);
  EXPECT_EQ(judged(last, "B) New York, NY").reward, 1);
}

TEST(ChoiceVerifier, RefusesBadExpectations) {
  for (const char* bad : {R"({"verifier": "choice", "choices": ["a"], "answer": "A"})",
                          R"({"verifier": "choice", "choices": ["x", "X"], "answer": "A"})",
                          R"({"verifier": "choice", "choices": ["x", "y"], "answer": "C"})",
                          R"({"verifier": "choice", "choices": ["x", "y"], "answer": "z"})",
                          R"({"verifier": "choice", "choices": ["x", "y"]})",
                          R"({"verifier": "choice", "choices": [1, 2], "answer": "A"})"})
    EXPECT_THROW(judge(Json::parse(bad), "A"), Error) << bad;
}

std::string mutated(std::string s, Rng& r) {
  constexpr std::string_view kCharacters = "abABCDE().: ,";
  for (uint64_t n = r.below(3); n > 0; --n) {
    const size_t at = r.below(s.size() + 1);
    const char c = kCharacters[r.below(kCharacters.size())];
    if (r.below(3) == 0 && at < s.size())
      s.erase(at, 1);
    else if (r.below(2) == 0)
      s.insert(at, 1, c);
    else
      s.replace(at, 1, 1, c);
  }
  return s;
}

TEST(ChoiceVerifier, AgreesWithASecondReading) {
  const std::string texts[] = {"rome", "oslo", "bern", "cairo"};
  const auto v = make_verifier(
      Json::parse(R"({"verifier": "choice", "choices": ["Rome", "Oslo", "Bern", "Cairo"], "answer": "C"})"));
  const std::string seeds[] = {"C", "(C)", "C) Bern", "Bern", "C.", "B", "A: Rome", "C, C", "Option C", "[C] Bern"};
  const std::regex form("(?:option |choice |answer )?(?:[(\\[]([a-d])[)\\]]:?|([a-d])(?:[).:]| |$))\\s*(.*)");
  const std::regex ends("^\\s+|[\\s.]+$"), blanks(" +");
  Rng r(4);
  int accepted = 0;
  for (int i = 0; i < 20000 && !HasFailure(); ++i) {
    const std::string reply = mutated(seeds[r.below(10)], r);
    std::string s = lower_case(std::string(bare_answer(reply)));
    // The pieces between separators, each a letter, a text or both.
    const auto read = [&](std::string piece) -> int {
      piece = std::regex_replace(piece, ends, "");
      piece = std::regex_replace(piece, blanks, " ");
      for (int k = 0; k < 4; ++k)
        if (piece == texts[k]) return k;
      std::smatch m;
      if (!std::regex_match(piece, m, form)) return -1;
      const char c = (m[1].str() + m[2].str())[0];
      const std::string rest = std::regex_replace(m[3].str(), ends, "");
      return rest.empty() || rest == texts[c - 'a'] ? c - 'a' : -1;
    };
    std::set<int> named;
    if (const int one = read(s); one >= 0) {
      named.insert(one);
    } else {
      std::istringstream in(s);
      for (std::string piece; std::getline(in, piece, ',');)
        if (piece.find_first_not_of(" .") != std::string::npos) named.insert(read(piece));
    }
    const bool right = named == std::set<int>{2};
    EXPECT_EQ(v->judge(reply).reward, right ? 1 : 0) << "'" << reply << "': " << v->judge(reply).reason;
    accepted += right ? 1 : 0;
  }
  EXPECT_GT(accepted, 3000);
  EXPECT_LT(accepted, 17000);
}

TEST(ExactVerifier, HasSettings) {
  const std::string plain = R"({"verifier": "exact", "answer": "New  York"})";
  for (const char* right : {"new york", "Answer: NEW YORK.", "**New York**", "\\boxed{New York}"})
    EXPECT_EQ(judged(plain, right).reward, 1) << right;
  for (const char* wrong : {"", "newyork", "new york!", "york", "new york, or rome", "Answer: new\nAnswer: york"})
    EXPECT_EQ(judged(plain, wrong).reward, 0) << wrong;
  const std::string strict = R"({"verifier": "exact", "answer": ["a-B", "c"], "case": "keep", "space": "keep"})";
  EXPECT_EQ(judged(strict, "a-B").reward, 1);
  EXPECT_EQ(judged(strict, "c").reward, 1);
  EXPECT_EQ(judged(strict, "a-b").reward, 0);
  EXPECT_EQ(judged(strict, "a -B").reward, 0);
  const std::string loose =
      R"({"verifier": "exact", "answer": "Don't stop", "punctuation": "ignore", "space": "remove"})";
  EXPECT_EQ(judged(loose, "dont-stop!").reward, 1);
  EXPECT_EQ(judged(loose, "do stop").reward, 0);
  EXPECT_EQ(judged(R"({"verifier": "exact", "answer": "Café"})", "CAFE\xcc\x81").reward, 1);
  for (const char* bad : {R"({"verifier": "exact", "answer": ""})", R"({"verifier": "exact"})",
                          R"({"verifier": "exact", "answer": "a", "case": "upper"})",
                          R"({"verifier": "exact", "answer": "a", "cases": "keep"})",
                          R"({"verifier": "exact", "answer": 3})", R"({"verifier": "exact", "answer": []})"})
    EXPECT_THROW(judge(Json::parse(bad), "a"), Error) << bad;
}

TEST(ListVerifier, ComparesInOrder) {
  const std::string list = R"({"verifier": "list", "answer": ["red", "dark blue", "Green"]})";
  for (const char* right : {"red, dark blue, green", "[\"red\", \"dark blue\", \"green\"]",
                            "(red; Dark  Blue; green).", "Answer: RED,dark blue,green"})
    EXPECT_EQ(judged(list, right).reward, 1) << right;
  for (const char* wrong : {"", "red, green, dark blue", "red dark blue green", "red, dark blue",
                            "red, dark blue, green, x", "red, red, dark blue, green", ",,,", "\xff, \xfe"})
    EXPECT_EQ(judged(list, wrong).reward, 0) << wrong;
  const std::string set = R"({"verifier": "set", "answer": "red, blue, green"})";
  EXPECT_EQ(judged(set, "{green, red, blue}").reward, 1);
  EXPECT_EQ(judged(set, "green, red, blue, blue").reward, 0);
  EXPECT_EQ(judged(set, "green, red").reward, 0);
  EXPECT_THROW(judge(Json::parse(R"({"verifier": "set", "answer": ["a", "A"]})"), "a"), Error);
  EXPECT_THROW(judge(Json::parse(R"({"verifier": "list", "answer": ["a, b"]})"), "a"), Error);
}

TEST(ListVerifier, ReadsAnd) {
  const std::string three = R"({"verifier": "list", "answer": ["1", "2", "3"]})",
                    two = R"({"verifier": "list", "answer": ["a", "b"]})",
                    one = R"({"verifier": "set", "answer": ["salt and pepper", "oil"]})";
  for (const char* right : {"1, 2, and 3", "1, 2 and 3", "1, 2, 3,"})
    EXPECT_EQ(judged(three, right).reward, 1) << right;
  for (const char* wrong : {"1 and 2 and 3", "1, 2, and 4", "1, and 2, 3", "1, 2, or 3", "1, 2, 3, and"})
    EXPECT_EQ(judged(three, wrong).reward, 0) << wrong;
  for (const char* right : {"a and b", "a, and b", "a, b,"}) EXPECT_EQ(judged(two, right).reward, 1) << right;
  for (const char* wrong : {"b and a", "a or b", "aand b", "a and b and b"})
    EXPECT_EQ(judged(two, wrong).reward, 0) << wrong;
  for (const char* right : {"salt and pepper, oil", "oil and salt and pepper"})
    EXPECT_EQ(judged(one, right).reward, *right == 's' ? 1 : 0) << right;
  EXPECT_EQ(judged(R"({"verifier": "list", "answer": "1, 2, and 3"})", "1, 2, 3").reward, 1);
}

TEST(ExactVerifier, ReadsStatementsAndApostrophes) {
  const std::string paris = R"({"verifier": "exact", "answer": "Paris"})";
  for (const char* right :
       {"The answer is Paris.", "So the answer is **Paris**.", "The answer is Paris.\nI hope it helps!",
        "The answer is Paris because it is the capital."})
    EXPECT_EQ(judged(paris, right).reward, 1) << right;
  for (const char* wrong : {"The answer is Rome.", "The answer is Paris or Rome.", "The answer is Paris. Or Rome.",
                            "The answer is not Paris."})
    EXPECT_EQ(judged(paris, wrong).reward, 0) << wrong;
  const std::string quote = R"({"verifier": "exact", "answer": "Don't stop"})";
  EXPECT_EQ(judged(quote, "don\u2019t stop").reward, 1);
  EXPECT_EQ(judged(quote, "dont stop").reward, 0);
}

TEST(ListVerifier, AgreesWithASecondReading) {
  const auto list = make_verifier(Json::parse(R"({"verifier": "list", "answer": ["ab", "ba", "a b"]})"));
  const auto set = make_verifier(Json::parse(R"({"verifier": "set", "answer": ["ab", "ba", "a b"]})"));
  const std::vector<std::string> right = {"ab", "ba", "a b"};
  Rng r(6);
  int in_order = 0, as_set = 0;
  for (int i = 0; i < 20000 && !HasFailure(); ++i) {
    std::vector<std::string> words = right;
    if (r.below(3) == 0) std::swap(words[r.below(3)], words[r.below(3)]);
    const std::string reply = mutated(words[0] + ", " + words[1] + (r.below(2) == 0 ? "," : " ; ") + words[2], r);
    std::string s = lower_case(std::string(bare_answer(reply)));
    static const std::regex brackets("\\((.*)\\)"), ends("^\\s+|[\\s.]+$"), blanks("\\s+"), between("[,;]");
    if (std::smatch m; std::regex_match(s, m, brackets)) s = m[1];
    std::vector<std::string> items;
    for (std::sregex_token_iterator k(s.begin(), s.end(), between, -1), end; k != end; ++k) {
      std::string item = std::regex_replace(k->str(), ends, "");
      item = std::regex_replace(item, blanks, " ");
      if (!item.empty()) items.push_back(item);
    }
    const bool ordered = items == right;
    EXPECT_EQ(list->judge(reply).reward, ordered ? 1 : 0) << "'" << reply << "'";
    std::vector<std::string> sorted = items;
    std::ranges::sort(sorted);
    const bool equal = sorted == std::vector<std::string>{"a b", "ab", "ba"};
    EXPECT_EQ(set->judge(reply).reward, equal ? 1 : 0) << "'" << reply << "'";
    in_order += ordered ? 1 : 0, as_set += equal ? 1 : 0;
  }
  EXPECT_GT(in_order, 3000);
  EXPECT_GT(as_set, in_order);
  EXPECT_LT(as_set, 17000);
}

TEST(ExactVerifier, AgreesWithASecondReading) {
  const auto plain = make_verifier(Json::parse(R"x({"verifier": "exact", "answer": "Ab a(B)"})x"));
  const auto loose = make_verifier(
      Json::parse(R"x({"verifier": "exact", "answer": "Ab a(B)", "punctuation": "ignore", "space": "remove"
})x"));
  const auto pattern = make_verifier(Json::parse(R"x({"verifier": "regex", "pattern": "[Aa]b? +a\\(?(B|b)\\)"
})x"));
  const std::regex ends("^ +| +$"), blanks(" +"), left_out("[^a-z]"), same("[Aa]b? +a\\(?(B|b)\\)");
  Rng r(12);
  int exact = 0, loosely = 0, matched = 0;
  for (int i = 0; i < 20000 && !HasFailure(); ++i) {
    const std::string reply = mutated("Ab a(B)", r);
    const std::string line = std::regex_replace(reply, ends, "");
    std::string s = std::regex_replace(lower_case(line), blanks, " ");
    if (s.ends_with('.')) s = std::regex_replace(s, std::regex("[. ]+$"), "");
    const bool is_exact = s == "ab a(b)", is_loose = std::regex_replace(s, left_out, "") == "abab",
               is_match = std::regex_match(line, same);
    EXPECT_EQ(plain->judge(reply).reward, is_exact ? 1 : 0) << "'" << reply << "'";
    EXPECT_EQ(loose->judge(reply).reward, is_loose ? 1 : 0) << "'" << reply << "'";
    EXPECT_EQ(pattern->judge(reply).reward, is_match ? 1 : 0) << "'" << reply << "'";
    exact += is_exact ? 1 : 0, loosely += is_loose ? 1 : 0, matched += is_match ? 1 : 0;
  }
  EXPECT_GT(exact, 6000);
  EXPECT_GT(loosely, exact);
  EXPECT_GT(matched, 6000);
  EXPECT_LT(loosely, 17000);
}

TEST(RegexVerifier, MatchesWholeOrPart) {
  const std::string whole = R"({"verifier": "regex", "pattern": "[a-z]{3}|x"})";
  EXPECT_EQ(judged(whole, "abc").reward, 1);
  EXPECT_EQ(judged(whole, "Answer: x").reward, 1);
  EXPECT_EQ(judged(whole, "abcd").reward, 0);
  EXPECT_EQ(judged(whole, "").reward, 0);
  const std::string part = R"({"verifier": "regex", "pattern": "\\bcat\\b", "match": "part", "in": "reply"})";
  EXPECT_EQ(judged(part, "a cat sat\nAnswer: dog").reward, 1);
  EXPECT_EQ(judged(part, "<think>cat</think> concatenation \xff").reward, 0);
  const std::string slow = R"({"verifier": "regex", "pattern": "(a+)+b"})";
  Stopwatch watch;
  EXPECT_EQ(judged(slow, std::string(40, 'a') + "!").reward, 0);
  EXPECT_LT(watch.seconds(), 2);
  for (const char* bad : {R"({"verifier": "regex", "pattern": "("})", R"({"verifier": "regex", "pattern": "a)(b"})",
                          R"({"verifier": "regex"})", R"({"verifier": "regex", "pattern": "a", "match": "most"})"})
    EXPECT_THROW(judge(Json::parse(bad), "a"), Error) << bad;
}

TEST(Verifiers, AreFoundByName) {
  for (const char* bad : {"3", "{}", R"({"verifier": 3})", R"({"verifier": "maths", "answer": "3"})"})
    EXPECT_THROW(make_verifier(Json::parse(bad)), Error) << bad;
  try {
    make_verifier(Json::parse(R"({"verifier": "maths", "answer": "3"})"));
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("did you mean 'math'"), std::string::npos) << e.what();
  }
  EXPECT_TRUE(std::ranges::is_sorted(verifiers(), {}, [](const VerifierInfo& v) { return std::string(v.name); }));
  EXPECT_EQ(verifiers().size(), 10u);
}

}  // namespace
}  // namespace quern::verify
