// The properties that every environment owes, checked over many seeds: `quern gym check` prints what is found, and
// check_environment.h holds the environments of the build to them. The same seed gives the same problem; the worked
// solution earns 1; wrong replies do not; no question holds a marker of the answer; problems differ, and get longer with
// the difficulty until they saturate where the environment says.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "quern/gym/environment_registry.h"

namespace quern::gym {

struct EnvironmentCheck {
  uint64_t seeds = 200;  // at each difficulty
  std::vector<int64_t> difficulties = {0, 1, 2, 3, 4, 5, 8, 13};
  double wrong = 0;            // the most that a wrong reply may earn, where it may be partly right
  bool several_right = false;  // a problem may have several right answers, another problem's among them
  bool blank_only = false;     // of wrong replies, only those that give no answer at all
};

struct PropertyViolation {
  std::string property;  // what does not hold
  int64_t difficulty = 0;
  uint64_t seed = 0;
  std::string detail;  // the problem, the reply, the message of an exception
};

struct PropertyReport {
  int64_t problems = 0, violations = 0;
  std::vector<PropertyViolation> first;  // up to kMaxViolationsKept
  int64_t generated = 0;                 // problems, in `seconds`
  double seconds = 0;                    // of generate() alone
  double per_second() const { return seconds > 0 ? static_cast<double>(generated) / seconds : 0; }
};
constexpr size_t kMaxViolationsKept = 10;

// An exception of the environment is a violation and ends the check of its difficulty.
PropertyReport check_properties(const NamedEnvironment& e, const EnvironmentCheck& c = {});

}  // namespace quern::gym
