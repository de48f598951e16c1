// The verifier of mathematical answers: truth tables, expressions that are equal or not by construction, pairs that
// sympy judged, replies that try to break it.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <fstream>
#include <numeric>

#include "quern/base/error.h"
#include "quern/base/rng.h"
#include "quern/base/stopwatch.h"
#include "quern/verify/math_checks.h"

namespace quern::verify {
namespace {

TEST(MathVerifier, AcceptsWhatIsEqual) {
  for (const MathCase& c : {MathCase{"3/4", "0.75"},
                            {"3/4", "\\boxed{\\frac{3}{4}}"},
                            {"3/4", "75%"},
                            {"3/4", "Answer: 6/8."},
                            {"3/4", "**Answer:** $\\dfrac34$"},
                            {"3/4", "I compute.\nThe answer is 3/4."},
                            {"1250000", "1,250,000"},
                            {"1250000", "1{,}250{,}000"},
                            {"1250000", "1.25e6"},
                            {"1250000", "1.25 \\times 10^{6}"},
                            {"7/4", "1 3/4"},
                            {"7/4", "1\\frac{3}{4}"},
                            {"-7/4", "-1 3/4"},
                            {"-7/4", "−1.75"},
                            {"sqrt(8)", "2\\sqrt{2}"},
                            {"sqrt(8)", "2√2"},
                            {"\\sqrt{12}", "√12"},
                            {"\\sqrt[3]{-8}", "-2"},
                            {"1/sqrt(2)", "\\frac{\\sqrt{2}}{2}"},
                            {"sqrt(5+2*sqrt(6))", "\\sqrt2+\\sqrt3"},
                            {"2\\pi r", "2 \\cdot r \\cdot \\pi"},
                            {"(x+1)^2", "x^2+2x+1"},
                            {"x^2-y^2", "(x-y)(x+y)"},
                            {"\\frac{1}{x}-\\frac{1}{x+1}", "1/(x(x+1))"},
                            {"x_1 + x_{12}", "x_{12}+x_1"},
                            {"sin(x)^2+cos(x)^2", "1"},
                            {"\\sin 2x", "2 \\sin x \\cos x"},
                            {"log(x^2+1)", "\\ln(1+x^2)"},
                            {"\\log_2 8", "3"},
                            {"e^(x+1)", "e*e^x"},
                            {"e^{i\\pi}", "-1"},
                            {"(1+i)^2", "2i"},
                            {"\\frac{\\pi}{6}", "30^\\circ"},
                            {"|x-1|", "|1-x|"},
                            {"5!", "120"},
                            {"2^10", "1024"},
                            {"2^{100}", "1267650600228229401496703205376"},
                            {"[1, 3)", "[1,3)"},
                            {"[1, 3)", "x \\in \\left[1, \\frac{6}{2}\\right)"},
                            {"(-\\infty, 2]", "(-inf, 2]"},
                            {"(-\\infty, 2] \\cup (3, 4)", "(3,4) U (-∞,2]"},
                            {"(1, -2)", "(x, y) = (1, -2)"},
                            {"{1, 2}", "\\{2, 1\\}"},
                            {"{1, 2}", "x = 1 or x = 2"},
                            {"{1, 2}", "x=2, x=1"},
                            {"{1, 2}", "2 and 1"},
                            {"{1, 2, 3}", "1, 3, and 2"},
                            {"100, 200, 300", "100,200,300"},
                            {"x = 3", "3"},
                            {"3", "x = 3"},
                            {"f(x) = 2x", "2x"},
                            {"\\pm 2", "{2, -2}"},
                            {"1 \\pm \\sqrt{2}", "x = 1+\\sqrt2 \\text{ or } x = 1-\\sqrt2"},
                            {"x = 1, y = 2", "y=2, x=1"},
                            {"10^400", "10^{200} \\cdot 10^{200}"},
                            {"x^{1/2}", "sqrt(x)"},
                            {"x^{1/3}", "\\sqrt[3]{x}"},
                            {"0.1+0.2", "0.3"},
                            {"abc", "c b a"},
                            {"z*y*x", "xyz"},
                            {"5", "**Answer: 5**"},
                            {"5", "*Answer: 5*"},
                            {"5", "__Answer:__ 5"}}) {
    const Verdict v = math(c.expected, c.reply);
    EXPECT_EQ(v.reward, 1) << c.expected << " and " << c.reply << ": " << v.reason;
    EXPECT_FALSE(v.reason.empty());
  }
}

TEST(MathVerifier, RefusesWhatIsNot) {
  for (const MathCase& c : {MathCase{"3/4", "0.7500001"},
                            {"3/4", "75"},
                            {"3/4", "4/3"},
                            {"3/4", "3/4 or 4/3"},
                            {"3/4", ""},
                            {"3/4", "Answer:"},
                            {"3/4", "Answer: 3/4\nAnswer: 1"},
                            {"3/4", "\\boxed{3/4} \\boxed{}"},
                            {"1250", "1,25,0"},
                            {"1250", "1,2500"},
                            {"0", "nan"},
                            {"0", "inf"},
                            {"0", "1/inf"},
                            {"0", "0/0"},
                            {"1", "0^0"},
                            {"3", "1/0"},
                            {"sqrt(2)", "1.41421356"},
                            {"\\pi", "22/7"},
                            {"\\pi", "3.14159265358979"},
                            {"(x+1)^2", "x^2+1"},
                            {"x+1", "y+1"},
                            {"x", "|x|"},
                            {"\\sqrt{x^2}", "x"},
                            {"(x^2-1)/(x-1)", "x-1"},
                            {"[1, 3)", "[1, 3]"},
                            {"[1, 3)", "[1, 4)"},
                            {"[1, 3)", "1, 3"},
                            {"(-\\infty, 2]", "(\\infty, 2]"},
                            {"(1, 2)", "(2, 1)"},
                            {"{1, 2}", "{1, 2, 3}"},
                            {"{1, 2}", "{1, 1}"},
                            {"{1, 2}", "{1}"},
                            {"1", "{1, 2}"},
                            {"x = 3", "y = 3"},
                            {"x = 1, y = 2", "x = 2, y = 1"},
                            {"3", "3 = 4"},
                            {"3", "1+1 = 3"},
                            {"7", "3+4 = 7 = 8"},
                            {"7", "x+4 = 7"},
                            {"4", "2x+y = 4"},
                            {"5", "5 = 5 = x = 6"},
                            {"7", "7 ="},
                            {"5", "[5]"},
                            {"[5]", "5"},
                            {"\\alpha+1", "β+1"},
                            {"2", "\\binom{5}{-2}"},
                            {"3/4", "1¾"},
                            {"\\pm 2", "2"},
                            {"12", "1 2"},
                            {"12", "3 4"},
                            {"5", "5 apples"},
                            {"100", "9^9^9^9"},
                            {"100", "2^(10^9)"},
                            {"100", "1001!"},
                            {"10^400", "10^401"},
                            {"2^{100}", "1267650600228229401496703205377"},
                            {"100", "<script>"},
                            {"100", "100 \\unknown{3}"},
                            {"100", "100 + ... + 0"}}) {
    const Verdict v = math(c.expected, c.reply);
    EXPECT_EQ(v.reward, 0) << c.expected << " and " << c.reply;
    EXPECT_FALSE(v.reason.empty());
  }
}

TEST(MathVerifier, ReadsMixedNumbers) {
  for (const char* fraction : {"\\frac12", "\\dfrac12", "\\tfrac 1 2", "\\frac 12", "\\frac1{2}", "\\frac{1}2",
                               "\\,\\frac12", "~\\frac12", " \\frac 1 2", "\\frac{1}{2}"}) {
    const std::string five = std::string("5") + fraction, minus = "-" + five;
    EXPECT_EQ(math("11/2", five).reward, 1) << five;
    EXPECT_EQ(math(five, "5.5").reward, 1) << five;
    EXPECT_EQ(math("5/2", five).reward, 0) << five;
    EXPECT_EQ(math(five, "2.5").reward, 0) << five;
    EXPECT_EQ(math("-11/2", minus).reward, 1) << minus;
    EXPECT_EQ(math("-9/2", minus).reward, 0) << minus;
  }
  for (const MathCase& c : {MathCase{"7/4", "1\\frac34"},
                            {"-7/4", "-1\\frac 3 4"},
                            {"5x/2", "5\\frac{x}2"},  // a product: not two numbers
                            {"4", "2^3\\frac12"},
                            {"4", "2^3\\frac{1}{2}"},
                            {"1/2", "\\frac12"}})
    EXPECT_EQ(math(c.expected, c.reply).reward, 1) << c.expected << " and " << c.reply;
  for (const MathCase& c : {MathCase{"3/4", "1\\frac34"}, {"7/4", "1\\frac345"}, {"8\\sqrt2", "2^3\\frac12"}})
    EXPECT_EQ(math(c.expected, c.reply).reward, 0) << c.expected << " and " << c.reply;
}

TEST(MathVerifier, ComparesWordsAsAWhole) {
  for (const MathCase& c : {MathCase{"5\\text{ cm}", "5 \\text{cm}"},
                            {"5\\text{ cm}", "5cm"},
                            {"5 cm", "$5\\,\\mathrm{cm}$"},
                            {"25\\text{ cm}^2", "25 \\text{cm}^2"},
                            {"3\\text{ m per s}", "3\\text{  m  per s }"},
                            {"10\\text{ cents}", "10 cents"},
                            {"\\frac12\\text{ km/h}", "0.5\\text{ km/h}"},
                            {"x = 1\\text{ or }x = 2", "{1, 2}"},
                            {"2xy", "2yx"},
                            {"5 xy", "5 y x"}})
    EXPECT_EQ(math(c.expected, c.reply).reward, 1)
        << c.expected << " and " << c.reply << ": " << math(c.expected, c.reply).reason;
  for (const MathCase& c : {MathCase{"5\\text{ cm}", "5\\text{ mc}"},
                            {"5\\text{ cm}", "5 mc"},
                            {"5\\text{ cm}", "5 c m"},
                            {"5\\text{ cm}", "5"},
                            {"5", "5\\text{ cm}"},
                            {"5 cm", "5 mc"},
                            {"5mc", "5 cm"},
                            {"5\\text{ dog}", "5\\text{ god}"},
                            {"5\\text{ m per s}", "5\\text{ s per m}"},
                            {"5\\text{ ft}\\cdot\\text{lb}", "5\\text{ tf}\\cdot\\text{lb}"},
                            {"5\\text{ cm}", "5\\text{ c}\\text{m}"},
                            {"5\\text{ cm}", "\\text{cm}"}})
    EXPECT_EQ(math(c.expected, c.reply).reward, 0) << c.expected << " and " << c.reply;
  for (const char* bad : {"\\text{none}", "x = \\text{none}", "\\text{Evelyn}", "5\\text{ ft}\\text{lb}", "not",
                          "almost", "3 + \\text{even}"})
    EXPECT_THROW(judge(expect_math(bad), "3"), Error) << bad;
}

TEST(MathVerifier, DoesNotMixNames) {
  for (const MathCase& c : {MathCase{"{1, 2}", "x=1, x=2"},
                            {"{1, 2}", "x = 1 or x = 2"},
                            {"{1, 2}", "x = 1, 2"},
                            {"x = 1, x = 2", "{1, 2}"},
                            {"{2, -2}", "x = \\pm 2"},
                            {"x = 1, y = 2", "y = 2, x = 1"}})
    EXPECT_EQ(math(c.expected, c.reply).reward, 1) << c.expected << " and " << c.reply;
  for (const MathCase& c : {MathCase{"{1, 2}", "x=1, y=2"},
                            {"{1, 2}", "x=1 or y=2"},
                            {"{1, 2, 3}", "x=1, x=2, y=3"},
                            {"{2, -2, 3}", "x=\\pm 2, y=3"},
                            {"x = {1, 2}", "y=1, y=2"},
                            {"x = 1, x = 2", "x=1, y=2"},
                            {"x = 1, x = 2", "y=\\{1, 2\\}"}})
    EXPECT_EQ(math(c.expected, c.reply).reward, 0) << c.expected << " and " << c.reply;
}

TEST(MathVerifier, ReadsClosingEquationsAndCharacters) {
  for (const MathCase& c : {MathCase{"7", "3+4=7"},
                            {"[5]", "[ 5 ]"},
                            {"5", "(5)"},
                            {"7", "x = 3+4 = 7"},
                            {"12", "= 12"},
                            {"5", "5 = x"},
                            {"x = 5", "5 = x"},
                            {"x^2+2x+1", "f(x) = (x+1)^2 = x^2+2x+1"},
                            {"\\alpha+1", "α+1"},
                            {"\\theta", "θ"},
                            {"1/2", "½"},
                            {"7/4", "1¾"},
                            {"1/2", "1⁄2"},
                            {"10", "\\binom{5}{2}"},
                            {"10", "\\dbinom52"},
                            {"118264581564861424", "\\binom{60}{30}"}})
    EXPECT_EQ(math(c.expected, c.reply).reward, 1) << c.expected << " and " << c.reply;
}

TEST(MathVerifier, NamesTheCharacterThatItDoesNotKnow) {
  EXPECT_NE(math("3", "3 ≈ 3").reason.find("'≈'"), std::string::npos) << math("3", "3 ≈ 3").reason;
  EXPECT_NE(math("3", "3 \xff").reason.find("0xff"), std::string::npos) << math("3", "3 \xff").reason;
}

TEST(MathVerifier, RefusesExpectationsThatAreNot) {
  for (const char* bad : {"", "no solution!!", "1/0", "0/0", "2x + y = 4", "((3)", "9^9^9^9", "1/(x-x)", "\\foo",
                          "three", "no", "twenty-one", "x = none"})
    EXPECT_THROW(judge(expect_math(bad), "3"), Error) << bad;
  try {
    judge(expect_math("3 +"), "3");
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("'answer'"), std::string::npos) << e.what();
  }
  Json e = expect_math("3");
  e.set("tolerance", 1);
  EXPECT_THROW(judge(e, "3"), Error);
}

TEST(MathVerifier, IsBounded) {
  const auto verifier = make_verifier(expect_math("x^2"));
  std::vector<std::string> replies = {std::string(400, '(') + "x^2" + std::string(400, ')'),
                                      std::string(3000, '-') + "x",
                                      std::string(1 << 20, 'x'),
                                      std::string(4000, '{'),
                                      std::string(4000, '|'),
                                      std::string(3000, '^'),
                                      "\xff\xfe\x80 \xc3",
                                      std::string("x\0x", 3),
                                      "x^x^x^x^x^x^x^x^100000",
                                      "((((x^99999)^99999)^99999)^99999)^99999",
                                      "sqrt(sqrt(sqrt(sqrt(10^99999))))",
                                      "exp(exp(exp(exp(9))))",
                                      "\\boxed{\\boxed{\\boxed{7}}}",
                                      "\\boxed{x^2} and \\boxed{\\boxed{x^3}"};
  for (std::string_view piece : {"\\boxed{", "\\frac{", "1!", "sin ", "x,", "x^2 or ", "2^", "(1,", "\\text{"}) {
    std::string s;
    while (s.size() < 3800) s += piece;
    replies.push_back(s), replies.push_back("\\boxed{" + s + "}");
    while (s.size() < 1 << 20) s += piece;
    replies.push_back(s);
  }
  for (const std::string& r : replies) {
    Stopwatch watch;
    const Verdict v = verifier->judge(r);
    EXPECT_EQ(v.reward, 0) << r.substr(0, 60);
    EXPECT_FALSE(v.reason.empty());
    EXPECT_LT(watch.seconds(), 1) << r.substr(0, 60);
  }
  EXPECT_EQ(verifier->judge("\\boxed{\\boxed{x \\cdot x}}").reward, 1);
  EXPECT_EQ(verifier->judge("<think>\\boxed{3}</think>So\nx^2").reward, 1);
  EXPECT_EQ(verifier->judge("<think> x^2").reward, 0);
}

// The number that a fixed prime and fixed points would not tell from 3.
TEST(MathVerifier, PrimesAreNotFixed) {
  EXPECT_EQ(math("3", "3 + 1152921504606846989 \\cdot 1152921504606847009 \\cdot 2305843009213693921").reward, 0);
}

using Terms = std::map<std::array<int, 3>, __int128>;  // exponents of x, y, z: coefficients

Terms product(const Terms& a, const Terms& b) {
  Terms out;
  for (const auto& [p, u] : a)
    for (const auto& [q, v] : b) out[{p[0] + q[0], p[1] + q[1], p[2] + q[2]}] += u * v;
  std::erase_if(out, [](const auto& t) { return t.second == 0; });
  return out;
}

Terms sum(Terms a, const Terms& b) {
  for (const auto& [p, v] : b) a[p] += v;
  std::erase_if(a, [](const auto& t) { return t.second == 0; });
  return a;
}

// A random polynomial as text, and expanded by the test.
std::pair<std::string, Terms> random_polynomial(Rng& r, int depth) {
  if (depth == 0 || r.below(5) == 0) {
    const auto c = static_cast<int64_t>(r.below(9)) - 4;
    if (r.below(3) == 0) return {fmt::format("({})", c), c == 0 ? Terms{} : Terms{{{0, 0, 0}, c}}};
    const size_t v = r.below(3);
    const int power = 1 + static_cast<int>(r.below(2));
    std::array<int, 3> exponents = {};
    exponents[v] = power;
    return {fmt::format("{}^{}", "xyz"[v], power), Terms{{exponents, 1}}};
  }
  const auto [a, x] = random_polynomial(r, depth - 1);
  const auto [b, y] = random_polynomial(r, depth - 1);
  switch (r.below(4)) {
    case 0:
      return {fmt::format("({}+{})", a, b), sum(x, y)};
    case 1:
      return {fmt::format("({}-{})", a, b), sum(x, product(y, {{{0, 0, 0}, -1}}))};
    case 2:
      return {fmt::format("{}*{}", a, b), product(x, y)};
    default:
      return {fmt::format("({})({})", a, b), product(x, y)};
  }
}

std::string text_of(const Terms& t) {
  std::string out;
  for (const auto& [p, c] : t)
    out += fmt::format("{}{}x^{{{}}}y^{{{}}}z^{{{}}}", c < 0 ? "-" : "+", static_cast<int64_t>(c < 0 ? -c : c), p[0],
                       p[1], p[2]);
  return out.empty() ? "0" : out;
}

TEST(MathVerifier, PolynomialsAgreeWithTheirExpansions) {
  Rng r(11);
  int accepted = 0, refused = 0;
  for (int i = 0; i < 20000 && !HasFailure(); ++i) {
    const auto [text, terms] = random_polynomial(r, 3);
    Terms other = terms;
    if (i % 2 == 1) {  // another polynomial, mostly
      std::array<int, 3> p = {static_cast<int>(r.below(3)), static_cast<int>(r.below(3)), 0};
      other =
          r.below(2) == 0 ? sum(other, {{p, static_cast<int64_t>(r.below(3)) - 1}}) : random_polynomial(r, 3).second;
    }
    const bool same = other == terms;
    EXPECT_EQ(math(text, text_of(other)).reward, same ? 1 : 0) << text << " and " << text_of(other);
    (same ? accepted : refused) += 1;
  }
  EXPECT_GT(accepted, 10000);
  EXPECT_GT(refused, 7000);
}

// a + b√n as text in one of several forms.
std::string surd(int64_t a, int64_t b, int64_t n, Rng& r) {
  switch (r.below(4)) {
    case 0:
      return fmt::format("{}+({})\\sqrt{{{}}}", a, b, n);
    case 1:
      return fmt::format("({})*sqrt({})+({})", b, n, a);
    case 2:
      return fmt::format("{}{}\\sqrt{{{}}}", a, b < 0 ? "-" : "+", b * b * n);
    default:
      return fmt::format("\\frac{{{}+({})\\sqrt{{{}}}}}{{2}}", 2 * a, 2 * b, n);
  }
}

TEST(MathVerifier, RadicalsAgreeWithTheirProducts) {
  Rng r(5);
  constexpr int64_t kRoots[] = {2, 3, 5, 6, 7, 10, 11};
  int refused = 0;
  for (int i = 0; i < 20000 && !HasFailure(); ++i) {
    const int64_t n = kRoots[r.below(7)];
    const auto small = [&] { return static_cast<int64_t>(r.below(19)) - 9; };
    const int64_t a = small(), b = small(), c = small(), d = small();
    int64_t e = a * c + b * d * n, f = a * d + b * c;  // (a + b√n)(c + d√n) = e + f√n
    const bool same = i % 2 == 0;
    if (!same) (r.below(2) == 0 ? e : f) += 1 + static_cast<int64_t>(r.below(3));
    const std::string left = fmt::format("({})({})", surd(a, b, n, r), surd(c, d, n, r)), right = surd(e, f, n, r);
    EXPECT_EQ(math(left, right).reward, same ? 1 : 0) << left << " and " << right;
    refused += same ? 0 : 1;
  }
  EXPECT_EQ(refused, 10000);
}

// The same fraction or another in the many forms of a number; read a second time by cross multiplication.
TEST(MathVerifier, NumbersAgreeWithFractions) {
  Rng r(3);
  int refused = 0;
  for (int i = 0; i < 20000 && !HasFailure(); ++i) {
    const auto above = static_cast<int64_t>(r.below(4001)) - 2000;
    const int64_t below = r.below(3) == 0 ? 1 + static_cast<int64_t>(r.below(30)) : int64_t{1} << r.below(6);
    const int64_t p = above + (i % 2 == 0 ? 0 : static_cast<int64_t>(r.below(5)) - 2),
                  k = 1 + static_cast<int64_t>(r.below(9));
    const bool dyadic = (below & (below - 1)) == 0;
    std::string text;
    switch (r.below(dyadic ? 5 : 3)) {
      case 0:
        text = fmt::format("{}/{}", p * k, below * k);
        break;
      case 1:
        text = fmt::format("{}\\frac{{{}}}{{{}}}", p < 0 ? "-" : "", std::abs(p) * k, below * k);
        break;
      case 2:
        text = fmt::format("{}{} {}/{}", p < 0 ? "-" : "", std::abs(p) / below, std::abs(p) % below, below);
        break;
      case 3:
        text = fmt::format("{:.6f}", static_cast<double>(p) / static_cast<double>(below));
        break;
      default:
        text = fmt::format("{:.10e}", static_cast<double>(p) / static_cast<double>(below));
    }
    const bool same = p == above;
    EXPECT_EQ(math(fmt::format("{}/{}", above, below), "Answer: " + text).reward, same ? 1 : 0)
        << above << "/" << below << " and " << text;
    refused += same ? 0 : 1;
  }
  EXPECT_GT(refused, 7000);
}

// tools/oracles/verify/expressions.py: EQUAL or DIFFERENT, then two expressions, parted by tabs.
TEST(MathVerifier, AgreesWithSympy) {
  std::ifstream in(std::string(QUERN_SOURCE_DIR) + "/quern/verify/testdata/expressions.tsv");
  ASSERT_TRUE(in);
  int equal = 0, different = 0;
  for (std::string line; std::getline(in, line);) {
    const size_t first = line.find('\t'), second = line.find('\t', first + 1);
    ASSERT_NE(second, std::string::npos) << line;
    const bool same = line.substr(0, first) == "EQUAL";
    const Verdict v = math(line.substr(first + 1, second - first - 1), line.substr(second + 1));
    EXPECT_EQ(v.reward, same ? 1 : 0) << line << "\n" << v.reason;
    (same ? equal : different) += 1;
  }
  EXPECT_GE(equal, 150);
  EXPECT_GE(different, 150);
}

}  // namespace
}  // namespace quern::verify
