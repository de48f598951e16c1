#include "quern/base/error.h"

#include <cstdio>
#include <cstdlib>

namespace quern {

void check_failed(const char* condition, const char* file, int line, const std::string& detail) {
  fmt::print(stderr, "quern: internal error at {}:{}: {} does not hold{}{}\n", file, line, condition,
             detail.empty() ? "" : ": ", detail);
  std::abort();
}

}  // namespace quern
