#include "quern/gym/environment.h"

#include "quern/base/error.h"

namespace quern::gym {

Verdict Environment::verify(const Problem& p, std::string_view reply) const {
  const std::string given = final_answer(reply);
  if (given.empty()) return {0, "no answer"};
  if (given == final_answer(p.answer)) return {1, "the answer is right"};
  return {0, fmt::format("expected '{}'", p.answer)};
}

}  // namespace quern::gym
