// Forms of mathematical answers: \over, repeating decimals, groups of three digits, the empty set, unions of intervals.
// Truth tables in both directions, and random answers against a second reading.
#include <gtest/gtest.h>

#include <regex>

#include "quern/base/rng.h"
#include "quern/verify/math_checks.h"

namespace quern::verify {
namespace {

TEST(MathForms, ReadsOver) {
  for (const MathCase& c : {MathCase{"1/2", "{1 \\over 2}"},
                            {"1/2", "$1 \\over 2$"},
                            {"1/6", "{{1 \\over 2} \\over 3}"},
                            {"3/2", "{1 \\over {2 \\over 3}}"},
                            {"{x+1 \\over x-1}", "\\frac{x+1}{x-1}"},
                            {"x = 3/4", "x = {3\\over4}"},
                            {"7/2", "3{1 \\over 2}"},  // as 3\frac12
                            {"-7/2", "-3{1 \\over 2}"},
                            {"\\sqrt{2}/2", "{\\sqrt 2 \\over 2}"},
                            {"(1/2, 1/3)", "\\left({1 \\over 2}, {1 \\over 3}\\right)"},
                            {"2^{1/2}", "2^{1 \\over 2}"},
                            {"\\frac{1/2}{3}", "\\frac{1 \\over 2}{3}"}})
    EXPECT_EQ(math(c.expected, c.reply).reward, 1)
        << c.expected << " and " << c.reply << ": " << math(c.expected, c.reply).reason;
  for (const MathCase& c : {MathCase{"1/2", "{2 \\over 1}"},
                            {"2/3", "{{1 \\over 2} \\over 3}"},
                            {"1/6", "{1 \\over {2 \\over 3}}"},
                            {"3/2", "3{1 \\over 2}"},
                            {"1/2", "{1 \\over 2 \\over 1}"},  // which LaTeX refuses
                            {"1/2", "(1 \\over 2)"},
                            {"1/2", "1 over 2"},
                            {"1/2", "{1 \\over}"},
                            {"1/2", "{\\over 2}"},
                            {"1/2", "{1 \\over 0}"},
                            {"3/2", "{1 \\over 2"}})
    EXPECT_EQ(math(c.expected, c.reply).reward, 0) << c.expected << " and " << c.reply;
}

TEST(MathForms, ReadsRepeatingDecimals) {
  for (const MathCase& c : {MathCase{"1/3", "0.\\overline{3}"},
                            {"1/3", "0.\\overline3"},
                            {"1/3", "0.3\\overline{3}"},
                            {"1/3", "0.\\bar{3}"},
                            {"1/6", "0.1\\overline{6}"},
                            {"1/7", "0.\\overline{142857}"},
                            {"22/7", "3.\\overline{142857}"},
                            {"1", "0.\\overline{9}"},
                            {"-4/3", "-1.\\overline{3}"},
                            {"1/3", "33.\\overline{3}\\%"},
                            {"\\sqrt{3}/3", "0.\\overline{3}\\sqrt{3}"},
                            {"1/99000", "0.000\\overline{01}"},
                            {"2x/3", "0.\\overline{6}x"},
                            {"0.\\overline{3}", "1/3"}})
    EXPECT_EQ(math(c.expected, c.reply).reward, 1)
        << c.expected << " and " << c.reply << ": " << math(c.expected, c.reply).reason;
  for (const MathCase& c : {MathCase{"1/3", "0.3"},
                            {"1/3", "0.3333333333333333333"},
                            {"0.\\overline{3}", "0.3333333333333333333333"},
                            {"1/3", "0.\\overline{33}4"},
                            {"1/3", "0.\\overline{4}"},
                            {"1/3", "0.0\\overline{3}"},
                            {"1/6", "0.\\overline{16}"},
                            {"1/3", "\\overline{0.3}"},
                            {"3", "\\overline{3}"},
                            {"1/3", "0.\\overline{}"},
                            {"1/3", "0.\\overline{x}"},
                            {"1/3", "0.\\overline{3"},
                            {"5/3", "5 0.\\overline{3}"}})
    EXPECT_EQ(math(c.expected, c.reply).reward, 0) << c.expected << " and " << c.reply;
}

TEST(MathForms, ReadsTheEmptySet) {
  for (const char* a : {"\\emptyset", "\\varnothing", "∅", "\\{\\}", "\\{ \\}", "{}", "x \\in \\emptyset",
                        "\\emptyset \\cup \\varnothing", "$\\left\\{\\right\\}$"})
    for (const char* b : {"\\emptyset", "\\{\\}"}) {
      EXPECT_EQ(math(a, b).reward, 1) << a << " and " << b;
      EXPECT_EQ(math(b, std::string("Answer: ") + a).reward, 1) << a << " and " << b;
    }
  EXPECT_EQ(math("[1, 2]", "[1, 2] \\cup \\emptyset").reward, 1);
  for (const char* other : {"0", "\\{0\\}", "\\{\\emptyset\\}", "\\{\\{\\}\\}", "1, 2", "(0, 0)", "[0, 0]", "x",
                            "2\\emptyset", "\\emptyset + 1", "\\emptyset, 1", "()", "", "none", "\\{", "∅∅"}) {
    EXPECT_EQ(math("\\emptyset", other).reward, 0) << other;
    EXPECT_EQ(math("\\{1, 2\\}", "\\emptyset").reward, 0);
  }
  EXPECT_EQ(math("\\{\\emptyset\\}", "\\{\\{\\}\\}").reward, 1);
  EXPECT_EQ(math("\\{\\emptyset\\}", "\\emptyset").reward, 0);
  EXPECT_EQ(math("0", "\\emptyset").reward, 0);
  EXPECT_EQ(math("3", "\\emptyset").reason, "expected one value, found the empty set");
}

TEST(MathForms, ReadsGroupsOfThree) {
  for (const char* same : {"1 250 000", "1\\,250\\,000", "1{,}250{,}000", "1,250,000", "1~250~000", "1\\ 250\\ 000",
                           "1\u2009250\u2009000", "1\u202f250\u202f000", "1\u00a0250\u00a0000", "1 250 000.0",
                           "n = 1 250 000", "1 250 000 \\cdot 1", "$1\\;250\\;000$", "2 500 000/2"}) {
    EXPECT_EQ(math("1250000", same).reward, 1) << same << ": " << math("1250000", same).reason;
    EXPECT_EQ(math(same, "1.25e6").reward, 1) << same;
  }
  for (const MathCase& c : {MathCase{"1250", "1 250"},
                            {"{1000, 2000}", "1 000, 2 000"},
                            {"(1000, 2000)", "(1 000; 2\\,000)"},
                            {"12345.5", "12 345.5"},
                            {"7/4", "1 3/4"},
                            {"1 + 250/300", "1 250/300"},  // a mixed number, as before
                            {"1 + 250/300", "1\\,250/300"},
                            {"1500 \\pi", "1 500\\pi"},
                            {"-1250", "-1 250"}})
    EXPECT_EQ(math(c.expected, c.reply).reward, 1)
        << c.expected << " and " << c.reply << ": " << math(c.expected, c.reply).reason;
  for (const MathCase& c : {MathCase{"1250000", "1 250 00"},
                            {"1250000", "1 2500 00"},
                            {"1250000", "12 50 000"},
                            {"1250000", "1250 000"},
                            {"1250000", "1 250,000"},
                            {"1250000", "1,250 000"},
                            {"1250000", "1\\,250 000"},
                            {"1250000", "1  250 000"},
                            {"1250000", "0 001 250 000"},
                            {"250", "0 250"},
                            {"1250/300", "1 250/300"},
                            {"50", "\\sqrt 2 500"},
                            {"25", "\\frac 1 250"},
                            {"2^{3500}", "2^3 500"},
                            {"1250", "1 25 0"},
                            {"1250", "1\n250"},
                            {"1250.5", "1 250 .5"},
                            {"1250", "1, 250"}})
    EXPECT_EQ(math(c.expected, c.reply).reward, 0) << c.expected << " and " << c.reply;
}

TEST(MathForms, JoinsIntervals) {
  for (const MathCase& c : {MathCase{"[0, 2]", "[0,1] \\cup (1,2]"},
                            {"[0,1] \\cup (1,2]", "[0, 2]"},
                            {"[0, 2]", "(1,2] ∪ [0,1)  ∪ \\{1\\}"},
                            {"[0, 2]", "[0, \\frac32] \\cup [1, 2]"},
                            {"(0, 1] \\cup [2, 3)", "[2,3) U (0,1]"},
                            {"(-\\infty, \\infty)", "(-\\infty, 0] \\cup (0, \\infty)"},
                            {"(-\\infty, \\sqrt{8}]", "(-inf, 1) \\cup [1, 2\\sqrt{2}]"},
                            {"[0, 5]", "[0, 5] \\cup [1, 2]"},
                            {"[0, 1]", "[0, 1] \\cup (1, 1)"},
                            {"\\{1\\} \\cup \\{2\\}", "\\{1, 2\\}"},
                            {"(0,1) \\cup \\{3, 4\\}", "\\{4, 3\\} \\cup (0, 1)"},
                            {"x \\in [0,1] \\cup (1,2]", "x \\in [0, 2]"},
                            {"[0, \\pi]", "[0, 0.\\overline{3}\\pi] \\cup [\\frac{\\pi}{3}, \\pi]"},
                            {"(a, b) \\cup (c, d)", "(c, d) \\cup (a, b)"}})
    EXPECT_EQ(math(c.expected, c.reply).reward, 1)
        << c.expected << " and " << c.reply << ": " << math(c.expected, c.reply).reason;
  for (const MathCase& c : {MathCase{"[0, 2]", "[0,1) \\cup (1,2]"},
                            {"[0, 2]", "[0,1] \\cup (1,2)"},
                            {"[0, 2]", "(0,1] \\cup (1,2]"},
                            {"[0, 2]", "[0,1] \\cup [1.0000001,2]"},
                            {"[0, 2]", "[0,1], (1,2]"},
                            {"[0, 2]", "\\{0\\} \\cup \\{2\\}"},
                            {"[0, 1]", "[0, 1] \\cup [3, 2]"},
                            {"(-\\infty, \\infty)", "(-\\infty, 0) \\cup (0, \\infty)"},
                            {"(-\\infty, 1]", "[-\\infty, 0] \\cup (0, 1]"},
                            {"x \\in [0,1] \\cup (1,2]", "y \\in [0, 2]"},
                            {"[a, c]", "[a, b] \\cup (b, c]"},
                            {"[0, 2]", "[0, i] \\cup [i, 2]"},
                            {"[0, 2]", "[0,1] \\cup"},
                            {"(0, 1) \\cup (2, 3)", "(0, 3)"}})
    EXPECT_EQ(math(c.expected, c.reply).reward, 0) << c.expected << " and " << c.reply;
}

// A number from the digits of a decimal that repeats, with or without a change of one digit or of their length; what it is
// worth is summed here by whole numbers.
TEST(MathForms, RepeatingDecimalsAgreeWithFractions) {
  Rng r(21);
  int refused = 0;
  for (int i = 0; i < 20000 && !HasFailure(); ++i) {
    const auto digits = [&](size_t n) {
      std::string s;
      while (s.size() < n) s += static_cast<char>('0' + r.below(10));
      return s;
    };
    const std::string whole = std::to_string(r.below(40)), fixed = digits(r.below(4)), again = digits(1 + r.below(4));
    std::string shown_fixed = fixed, shown_again = again;
    if (i % 2 == 1) {
      char& c =
          r.below(2) == 0 && !fixed.empty() ? shown_fixed[r.below(fixed.size())] : shown_again[r.below(again.size())];
      c = static_cast<char>('0' + (c - '0' + 1 + static_cast<int>(r.below(9))) % 10);
    } else if (r.below(3) == 0) {  // the same, written longer
      shown_fixed += again[0], shown_again = again.substr(1) + again[0];
      if (r.below(2) == 0) shown_again += shown_again;
    }
    const auto fraction = [&](const std::string& f, const std::string& a) {  // over 10^f (10^a - 1)
      int64_t scale = 1, nines = 1;
      for (size_t k = 0; k < f.size(); ++k) scale *= 10;
      for (size_t k = 0; k < a.size(); ++k) nines *= 10;
      --nines;
      const int64_t head = std::stoll(whole + f);
      return std::pair{head * nines + std::stoll(a), scale * nines};
    };
    const auto [above, below] = fraction(fixed, again);
    const auto [other, under] = fraction(shown_fixed, shown_again);
    const bool same = static_cast<__int128>(above) * under == static_cast<__int128>(other) * below;
    const std::string text = fmt::format("{}.{}\\overline{{{}}}", whole, shown_fixed, shown_again);
    const std::string expected =
        r.below(2) == 0 ? fmt::format("{}/{}", above, below) : fmt::format("{{{} \\over {}}}", above, below);
    EXPECT_EQ(math(expected, text).reward, same ? 1 : 0) << expected << " and " << text;
    EXPECT_EQ(math(text, expected).reward, same ? 1 : 0) << expected << " and " << text;
    refused += same ? 0 : 1;
  }
  EXPECT_GT(refused, 9500);
}

// Digits with blanks between some: a number only where they part groups of three, the same blank each time.
TEST(MathForms, GroupsAgreeWithARegularExpression) {
  const std::regex grouped("[1-9]\\d{0,2}(( \\d{3})*|(~\\d{3})*|(\\\\,\\d{3})*|([{],[}]\\d{3})*)|0|[1-9]\\d*");
  Rng r(22);
  int accepted = 0;
  for (int i = 0; i < 20000 && !HasFailure(); ++i) {
    constexpr std::string_view kBlanks[] = {" ", "~", "\\,", "{,}"};
    const std::string digits = std::to_string(1 + r.below(r.below(2) == 0 ? 9'999'999 : 99'999));
    const std::string_view blank = kBlanks[r.below(4)];
    std::string text = digits.substr(0, (digits.size() - 1) % 3 + 1);
    for (size_t at = text.size(), from = at; from < digits.size(); from += 3) {
      text += r.below(12) == 0 ? kBlanks[r.below(4)] : blank;
      text += digits.substr(from, 3);
      if (r.below(12) == 0) text.insert(r.below(text.size() + 1), 1, ' ');
    }
    bool right = std::regex_match(text, grouped);
    if (r.below(4) == 0) {
      const size_t first = text.find_first_of("0123456789");
      text[first] = static_cast<char>('1' + (text[first] - '0') % 9), right = false;
    }
    const std::string trimmed_text = std::regex_replace(text, std::regex("^ +| +$"), "");
    right = right ||
            (text != trimmed_text && trimmed_text.size() < text.size() && std::regex_match(trimmed_text, grouped) &&
             std::regex_replace(trimmed_text, std::regex("\\D"), "") == digits);
    EXPECT_EQ(math(digits, text).reward, right ? 1 : 0) << digits << " and '" << text << "'";
    accepted += right ? 1 : 0;
  }
  EXPECT_GT(accepted, 8000);
  EXPECT_LT(accepted, 16000);
}

// Unions of intervals and points with ends k/2 between 0 and 6, as the set of quarters they hold.
TEST(MathForms, UnionsAgreeWithMembership) {
  Rng r(23);
  int accepted = 0;
  for (int i = 0; i < 20000 && !HasFailure(); ++i) {
    const auto random_union = [&](size_t parts) {
      std::string text;
      uint32_t held = 0;  // bit q: q/4; ends are even bits, so that the odd ones are what lies between
      for (size_t k = 0; k < parts; ++k) {
        const uint64_t low = r.below(12), high = low + 1 + r.below(12 - low);
        const bool has_low = r.below(2) == 0, has_high = r.below(2) == 0, point = r.below(5) == 0;
        const auto half = [&](uint64_t n) {
          if (n % 2 == 0) return std::to_string(n / 2);
          return r.below(2) == 0 ? fmt::format("{}/2", n) : fmt::format("{{{} \\over 2}}", n);
        };
        if (!text.empty()) text += r.below(2) == 0 ? " \\cup " : " ∪ ";
        text += point ? fmt::format("\\{{{}\\}}", half(low))
                      : fmt::format("{}{}, {}{}", has_low ? '[' : '(', half(low), half(high), has_high ? ']' : ')');
        if (point || has_low) held |= 1u << (2 * low);
        if (point) continue;
        if (has_high) held |= 1u << (2 * high);
        for (uint64_t q = 2 * low + 1; q < 2 * high; ++q) held |= 1u << q;
      }
      return std::pair{text, held};
    };
    const auto [a, in_a] = random_union(2 + r.below(2));
    auto [b, in_b] = random_union(2 + r.below(2));
    if (i % 2 == 0) {  // more of what is there, mostly
      std::tie(b, in_b) = std::pair{a, in_a};
      for (int tries = 0; tries < 6; ++tries)
        if (const auto [more, in_more] = random_union(1); (in_more & ~in_a) == 0) b = more + " \\cup " + b;
      if (r.below(4) == 0)
        if (const auto [more, in_more] = random_union(1); true) b += " U " + more, in_b |= in_more;
      if (b.find(" U \\{") != std::string::npos) continue;  // U stands between intervals alone
      if (const size_t u = b.find(" U "); u != std::string::npos && b[u - 1] == '}') continue;
    }
    const bool same = in_a == in_b;
    EXPECT_EQ(math(a, b).reward, same ? 1 : 0) << a << " and " << b;
    accepted += same ? 1 : 0;
  }
  EXPECT_GT(accepted, 6000);
  EXPECT_LT(accepted, 14000);
}

}  // namespace
}  // namespace quern::verify
