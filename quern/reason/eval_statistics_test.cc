// pass@k against all subsets, McNemar's test against exact fractions, logs that can and cannot be compared.
#include "quern/reason/eval_statistics.h"

#include <gtest/gtest.h>

#include <bit>

#include "quern/base/error.h"
#include "quern/base/mmap.h"
#include "quern/base/test_message.h"
#include "quern/reason/eval_log.h"

namespace quern::reason {
namespace {

// The share of the k-subsets of n samples, of which the first c are right, that hold a right one.
double pass_of_subsets(int n, int c, int k) {
  int all = 0, some = 0;
  for (uint32_t set = 0; set < (1u << n); ++set) {
    if (std::popcount(set) != k) continue;
    ++all, some += (set & ((1u << c) - 1)) != 0;
  }
  return static_cast<double>(some) / all;
}

TEST(EvalStatistics, PassAtKIsTheShareOfSubsets) {
  for (int n = 1; n <= 10; ++n)
    for (int c = 0; c <= n; ++c)
      for (int k = 1; k <= n; ++k)
        EXPECT_NEAR(pass_at_k(n, c, k), pass_of_subsets(n, c, k), 1e-12) << n << " " << c << " " << k;
  EXPECT_NEAR(pass_at_k(200, 7, 1), 7.0 / 200, 1e-12);
  EXPECT_EQ(message_of([] { pass_at_k(4, 5, 1); }), "pass@1 of 5 right among 4: that cannot be");
  EXPECT_NE(message_of([] { pass_at_k(4, 2, 5); }), "");
  EXPECT_NE(message_of([] { pass_at_k(4, 2, 0); }), "");
}

// 2 Σ C(b + c, i) / 2^(b + c) for i up to min(b, c): 158 / 4096, 18 / 256, 2 / 64, 1976 / 262144.
TEST(EvalStatistics, McNemarIsTheBinomialTest) {
  const auto p = [](int64_t b, int64_t c) {
    return PairedCounts{.both = 50, .only_first = b, .only_second = c, .neither = 9}.mcnemar();
  };
  EXPECT_NEAR(p(10, 2), 0.03857421875, 1e-12);
  EXPECT_NEAR(p(2, 10), 0.03857421875, 1e-12);
  EXPECT_NEAR(p(1, 7), 0.0703125, 1e-12);
  EXPECT_NEAR(p(5, 5), 1, 1e-12);
  EXPECT_NEAR(p(0, 6), 0.03125, 1e-12);
  EXPECT_NEAR(p(3, 15), 0.007537841796875, 1e-12);
  EXPECT_EQ(p(0, 0), 1);
}

Json line(const char* environment, int64_t seed, double reward, int64_t sample = 0) {
  EvalProblem asked;
  asked.problem.kind = environment, asked.problem.difficulty = 2;
  asked.problem.question = fmt::format("{} {}?", environment, seed);
  asked.seed = static_cast<uint64_t>(seed), asked.sample = sample;
  return gym_log_line(asked, {reward, "why"}, "reply");
}

TEST(EvalLogs, AreComparedByProblem) {
  AnswerLog a, b;
  const double first[] = {1, 1, 0, 0, 0.5}, second[] = {1, 0, 1, 0.9, 1};
  for (int64_t i = 0; i < 5; ++i) a.add(line("sums", i, first[i]));
  for (int64_t i = 4; i >= 0; --i) b.add(line("sums", i, second[i]));
  const PairedCounts p = compare(a, b);
  EXPECT_EQ(p.both, 1);
  EXPECT_EQ(p.only_first, 1);
  EXPECT_EQ(p.only_second, 2);  // a part of the reward is not right
  EXPECT_EQ(p.neither, 1);
  EXPECT_EQ(p.all(), 5);
  EXPECT_EQ(p.json().at("only_second").as_int(), 2);
  EXPECT_NE(p.text().find("2 only by this one"), std::string::npos);
}

TEST(EvalLogs, OfOtherProblemsAreRefused) {
  AnswerLog a, b, more;
  a.add(line("sums", 1, 1)), b.add(line("sums", 2, 1));
  more.add(line("sums", 1, 1)), more.add(line("sums", 2, 1));
  EXPECT_NE(message_of([&] { compare(a, b); }).find("only the log has sums, difficulty 2, seed 1,"),
            std::string::npos);
  EXPECT_NE(message_of([&] { compare(a, more); }).find("only this evaluation has sums, difficulty 2, seed 2"),
            std::string::npos);
  AnswerLog samples;
  for (int64_t i = 0; i < 3; ++i) samples.add(line("sums", 1, 0, i));
  EXPECT_EQ(samples.size(), 3u);
  EXPECT_EQ(samples.first_samples().size(), 1u);
  EXPECT_EQ(compare(a, samples.first_samples()).only_first, 1);
}

TEST(EvalLogs, SayWhichLineIsWrong) {
  const std::string file = testing::TempDir() + "/eval_log_test.jsonl";
  const auto message = [&](const std::string& text) {
    write_file(file, text);
    return message_of([&] { AnswerLog::read(file); });
  };
  const std::string good = line("sums", 1, 1).dump() + "\n";
  EXPECT_EQ(message(good + "\n" + line("sums", 2, 0).dump() + "\n"), "");
  EXPECT_NE(message(good + "no JSON\n").find(file + ":2"), std::string::npos);
  EXPECT_NE(message(good + "{\"kind\":\"a\",\"level\":1}\n").find("question"), std::string::npos);
  EXPECT_NE(message("{\"kind\":\"a\",\"level\":1,\"question\":\"q\",\"right\":3}\n"), "");
  EXPECT_NE(message("").find("no answers"), std::string::npos);
}

}  // namespace
}  // namespace quern::reason
