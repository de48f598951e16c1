// What the tests of the verifier of mathematical answers share.
#pragma once
#include <string>

#include "quern/verify/verifier.h"

namespace quern::verify {

inline Json expect_math(const std::string& answer) {
  Json e = Json::object();
  e.set("verifier", "math"), e.set("answer", answer);
  return e;
}

inline Verdict math(const std::string& answer, const std::string& reply) { return judge(expect_math(answer), reply); }

struct MathCase {
  const char *expected, *reply;
};

}  // namespace quern::verify
