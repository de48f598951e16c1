// What a verifier says of a reply.
#pragma once
#include <string>

namespace quern::verify {

struct Verdict {
  double reward = 0;        // 0: wrong, 1: right; between: partly right
  std::string reason = {};  // why, for logs and people; never empty
};

}  // namespace quern::verify
