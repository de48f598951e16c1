// The wording of the aggregation prompt.
#include "quern/text/chat/aggregation_prompt.h"

#include <fmt/format.h>

#include "quern/base/error.h"

namespace quern::text {

std::vector<std::string> aggregation_pieces(std::string_view question, int n) {
  QUERN_CHECK(n >= 1, "an aggregation prompt of {} attempts", n);
  std::vector<std::string> pieces;
  pieces.push_back(
      fmt::format("Question: {}\n\nBelow are the ends of {} attempts. Each may be unfinished or wrong. Use what "
                  "holds, check where "
                  "they differ, and answer the question.\n\nAttempt 1:\n",
                  question, n));
  for (int i = 2; i <= n; ++i) pieces.push_back(fmt::format("\n\nAttempt {}:\n", i));
  pieces.push_back("\n");
  return pieces;
}

}  // namespace quern::text
