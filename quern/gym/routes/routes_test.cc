// The shortest way is found again among all ways.
#include <gtest/gtest.h>

#include "quern/gym/answer_checks.h"
#include "quern/gym/check_environment.h"
#include "quern/gym/roads_checks.h"

namespace quern::gym {
namespace {

TEST(Routes, AreTheShortest) {
  each_problem(
      "routes", [](const Problem& p) { expect_true_search(p, Best::shortest); }, 100);
}

TEST(Routes, RefusesMutations) { check_mutations("routes", is_the_text); }
TEST(Routes, HasTheProperties) { check_environment("routes", {.seeds = 100}); }

}  // namespace
}  // namespace quern::gym
