// An environment: an endless source of problems of one kind, and the verifier of replies to them. One folder
// quern/gym/NAME/ each; docs/gym/adding-an-environment.md shows how to add one.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "quern/base/rng.h"
#include "quern/gym/problem.h"
#include "quern/verify/verdict.h"

namespace quern::gym {

using verify::Verdict;

// Stateless: one object serves all threads.
class Environment {
 public:
  virtual ~Environment() = default;

  // A problem of difficulty 0, 1, 2, …, with question and key; a function of the random numbers and the difficulty
  // alone. The question never contains "Answer:".
  virtual Problem generate(Rng& r, int64_t difficulty) const = 0;

  // Judges a reply, any text, to a problem of this environment; never throws. Here: the reply's final answer must be
  // the problem's, but for case and white space.
  virtual Verdict verify(const Problem& p, std::string_view reply) const;

  // Why replies cannot be judged on this machine, such as a missing interpreter; none: they can. Where there is a
  // reason, verify() may throw Error: a reply must not earn 0 for what the machine lacks.
  virtual std::optional<std::string> unavailable() const { return {}; }

  // The side on which a problem falls, where that is not decided by a hash of its key.
  virtual std::optional<ProblemSplit> own_split(const Problem&) const { return {}; }

  // The difficulty above which problems stay as hard; none: they always get harder.
  virtual std::optional<int64_t> saturates_at() const { return {}; }
};

}  // namespace quern::gym
