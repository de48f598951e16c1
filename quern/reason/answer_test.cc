// Reading answers out of responses.
#include "quern/reason/answer.h"

#include <gtest/gtest.h>

#include "quern/reason/interval.h"

namespace quern::reason {
namespace {

TEST(Answer, IsFoundWhereResponsesPutIt) {
  EXPECT_EQ(extract_answer("<think>\nAnswer: 3\n</think>\n\nAnswer: 4.\nBye"), "4.");
  EXPECT_EQ(extract_answer("so \\boxed{12} no, \\boxed{\\frac{1}{2}}. Answer: 3"), "\\frac{1}{2}");
  EXPECT_EQ(extract_answer("\\boxed{1} then \\boxed{2"), "1");
  EXPECT_EQ(extract_answer("First line\n\n in the mill \n"), "in the mill");
  EXPECT_EQ(extract_answer("<think>\nAnswer: 3"), "") << "still thinking";
  EXPECT_EQ(extract_answer(""), "");
  for (const char* marked :
       {"**Answer: 5**", "*Answer: 5*", "**Answer:** 5", "_Answer:_ 5", "So.\n***Answer: 5***\n"})
    EXPECT_EQ(extract_answer(marked), "5") << marked;
  EXPECT_EQ(extract_answer("**Answer: **5** and 6"), "5** and 6");
  EXPECT_EQ(extract_answer("<think>a</think>"), "");
}

TEST(Answer, NumbersCompareAsFractions) {
  for (auto [a, b] : {std::pair{"0.5", "1/2"},
                      {"\\frac{1}{2}", "2/4"},
                      {"1,200", "1200"},
                      {"$-3.250$", "-13/4"},
                      {"+7.", "7"},
                      {"007", "7"},
                      {"-0", "0"},
                      {"\\dfrac{-2}{4}", "-0.5"},
                      {"In the  Mill.", "in the mill"}})
    EXPECT_TRUE(same_answer(a, b)) << a << " and " << b;
  for (auto [a, b] : {std::pair{"1,20", "120"},
                      {"1/0", "0"},
                      {"3", "4"},
                      {"3 cm", "3"},
                      {"1.5.2", "1.52"},
                      {"", "0"},
                      {"1234567890123456789", "1234567890123456780"}})
    EXPECT_FALSE(same_answer(a, b)) << a << " and " << b;
}

TEST(Answer, NumbersAreRead) {
  EXPECT_EQ(read_number("12,345,678"), (Fraction{12345678, 1}));
  EXPECT_EQ(read_number("6/4"), (Fraction{3, 2}));
  EXPECT_EQ(read_number("-1.25"), (Fraction{-5, 4}));
  for (const char* bad : {"", "-", "1.", "1/", "\\frac{1}{}", "\\frac{1}", "\\frac{a}{b}", "1e5", "12,34", "1 2"})
    EXPECT_FALSE(read_number(bad)) << bad;
}

// Values of the interval as R's binom.wilson prints them.
TEST(Interval, IsWilsons) {
  EXPECT_NEAR(wilson(5, 10).low, 0.2366, 5e-5);
  EXPECT_NEAR(wilson(5, 10).high, 0.7634, 5e-5);
  EXPECT_NEAR(wilson(0, 20).high, 0.1611, 5e-5);
  EXPECT_NEAR(wilson(81, 263).low, 0.2553, 5e-5);
  EXPECT_NEAR(wilson(81, 263).high, 0.3662, 5e-5);
  EXPECT_EQ(wilson(0, 0).high, 1);
}

}  // namespace
}  // namespace quern::reason
