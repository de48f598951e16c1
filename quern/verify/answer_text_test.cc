// Answers found in replies: marks in their many forms, and talk behind a statement.
#include "quern/verify/answer_text.h"

#include <gtest/gtest.h>

#include "quern/base/stopwatch.h"
#include "quern/verify/verifier.h"

namespace quern::verify {
namespace {

struct Case {
  const char *reply, *answer;
};

TEST(AnswerText, FindsMarks) {
  for (const Case& c : {Case{"Answer: 5", "5"},
                        {"answer: 5", "5"},
                        {"ANSWER: 5", "5"},
                        {"Answer : 5", "5"},
                        {"Final answer: 5", "5"},
                        {"**Final answer: 5**", "5"},
                        {"**Final Answer:** 5", "5"},
                        {"**Answer**: 5", "5"},
                        {"*Answer:* 5", "5"},
                        {"So the answer: 5\nThat is all of it.", "5"},
                        {"Answer:\n5", "5"},
                        {"Answer:\n\n  5\nBye", "5"},
                        {"**Answer:**\n5", "5"},
                        {"Answer:\n$$\n5\n$$\nBye", "$$\n5\n$$"},
                        {"Answer:\u00a05", "5"},
                        {"Answer:\u202f 5\u00a0", "5"},
                        {"Answer：5", "5"},
                        {"2+3\n#### 5", "5"},
                        {"2+3\n#### 5\n\n", "5"},
                        {"Answer: 4\nAnswer: 5", "5"},
                        {"answer: 4\nAnswer: 5", "5"},
                        {"Answer: 4\nanswer: 5", "5"}})
    EXPECT_EQ(extract_answer(c.reply), c.answer) << c.reply;
  for (const Case& c : {Case{"Answer:", ""},
                        {"Answer: \n \n", ""},
                        {"#### 4\n5", "5"},
                        {"####5", "####5"},
                        {"myanswer: 5", "myanswer: 5"},
                        {"The answer to this: 5", "The answer to this: 5"},
                        {"Answers: 5", "Answers: 5"}})
    EXPECT_EQ(extract_answer(c.reply), c.answer) << c.reply;
  EXPECT_EQ(final_answer("So.\nfinal answer : The  Mill."), "the mill");
}

TEST(AnswerText, LeavesOutTalk) {
  for (const Case& c : {Case{"The final answer is $5$. I hope it is correct.", "5"},
                        {"The answer is $7$.\n\nLet me know if you need more!", "7"},
                        {"The answer is 5 because 2+3=5.", "5"},
                        {"The answer is $5$ because $2+3=5$.", "5"},
                        {"The answer is $5$, because 2+3=5. I hope it helps.", "5"},
                        {"The answer is 5.\nThank you!", "5"},
                        {"The answer is:\n$$7$$\nLet me know if you need more!", "7"},
                        {"The answer is 3.5. I hope it is correct.", "3.5"},
                        {"The answer is 4.\nThe answer is 5.", "5"},
                        {"Answer: 5. I hope it is correct.", "5"},
                        {"The answer is \\boxed{5}. I hope so. It is 6.", "5"},
                        {"**The answer is 5.** I hope it is correct.", "5"},
                        {"The answer is $5$", "5"}})
    EXPECT_EQ(stated_answer(c.reply), c.answer) << c.reply;
  // Two answers are claimed, or may be: the first is not taken for the claim.
  for (const char* reply :
       {"The answer is 5. Or 6.", "The answer is 5.\n6", "The answer is $5$. Actually it is six of them.",
        "The answer is 5. No, it is six.", "The answer is 5. Wait, I meant six.", "The answer is 5 because 2 or 3.",
        "The answer is $5$ or $6$.", "The answer is 5 because of this. Then 6.", "The answer is 5. Six.",
        "The answer is 5.\n\nMaybe it is six after all.", "The answer is 5! I hope it is correct.",
        "Answer: 5. The other is 6."})
    EXPECT_NE(stated_answer(reply), "5") << reply;
}

TEST(AnswerText, LetsVerifiersReadStatements) {
  const auto judged = [](const char* expectation, const std::string& reply) {
    return judge(Json::parse(expectation), reply).reward;
  };
  constexpr const char* kMath = R"({"verifier": "math", "answer": "5"})";
  constexpr const char* kNumber = R"({"verifier": "number", "answer": "5"})";
  for (const char* e : {kMath, kNumber}) {
    for (const char* right : {"The final answer is $5$. I hope it is correct.", "The answer is 5 because 2+3=5.",
                              "Answer:\n5", "#### 5", "ANSWER：5"})
      EXPECT_EQ(judged(e, right), 1) << e << right;
    for (const char* wrong : {"The final answer is $6$. I hope it is correct.", "The answer is 6 because 2+3=5.",
                              "The answer is 5. Or 6.", "The answer is 5.\n6", "The answer is 5 or 6.",
                              "The answer is $5$ or $6$. I hope it is correct.", "Answer:\n6\n5", "#### 6"})
      EXPECT_EQ(judged(e, wrong), 0) << e << wrong;
  }
}

TEST(AnswerText, IsBounded) {
  for (const char* piece : {"answer", "answer:", "answer is ", "Answer **", "because ", "The answer is 5. ", "$", "a",
                            " ", "\u00a0", "Answer: because . ", "final answer:\n", "**", "#### "}) {
    std::string s;
    while (s.size() < 1 << 20) s += piece;
    Stopwatch watch;
    for (const std::string& reply : {s, "The answer is 5" + s, s + "Answer:"}) {
      stated_answer(reply), final_answer(reply);
    }
    EXPECT_LT(watch.seconds(), 2) << piece;
  }
}

}  // namespace
}  // namespace quern::verify
