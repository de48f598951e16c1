// Terms are worked out again from the text of the question.
#include "quern/gym/answer_checks.h"
#include "quern/gym/check_environment.h"

namespace quern::gym {
namespace {

TEST(Sequences, AreRight) {
  const NamedEnvironment& e = plugin_environments().find("sequences");
  each_generated("sequences",
                 [&](const Problem& p) {
                   const auto v =
                       numbers_of(
                           p.question,
                           "starts with (\\d+), (\\d+)\\..*add (\\d+) times the last term, (\\d+) times the term "
                           "before it, and (\\d+);.*by (\\d+)\\. What is term (\\d+)\\?")
                           .at(0);
                   std::vector<int64_t> terms = {v[0], v[1]};
                   while (std::ssize(terms) < v[6])
                     terms.push_back((v[2] * terms[terms.size() - 1] + v[3] * terms[terms.size() - 2] + v[4]) % v[5]);
                   EXPECT_EQ(p.answer, std::to_string(terms.back()));
                   EXPECT_EQ(v[6], p.difficulty + 4);
                   EXPECT_EQ(e.verify(p, "0" + p.answer).reward, 1);
                   EXPECT_EQ(e.verify(p, std::to_string(terms.back() + v[5])).reward, 0);
                 },
                 {0, 1, 2, 3, 5, 8, 12, 100});
}

TEST(Sequences, RefusesMutations) { check_mutations("sequences", is_the_integer); }

TEST(Sequences, HasTheProperties) { check_environment("sequences"); }

}  // namespace
}  // namespace quern::gym
