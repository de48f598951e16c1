// The longest way is found again among all ways.
#include <gtest/gtest.h>

#include "quern/gym/answer_checks.h"
#include "quern/gym/check_environment.h"
#include "quern/gym/roads_checks.h"

namespace quern::gym {
namespace {

TEST(Walks, AreTheLongest) {
  each_problem(
      "walks", [](const Problem& p) { expect_true_search(p, Best::longest); }, 100);
}

TEST(Walks, RefusesMutations) { check_mutations("walks", is_the_text); }
TEST(Walks, HasTheProperties) { check_environment("walks", {.seeds = 100}); }

}  // namespace
}  // namespace quern::gym
