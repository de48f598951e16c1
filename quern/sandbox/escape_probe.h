// Test helper: escape attempts. A probe is a function of the test program, which runs itself inside the sandbox with
// the probe's name. It returns kContained where every attempt failed, and is written so that outside it would not.
#pragma once
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <span>
#include <string>

#include "quern/sandbox/sandbox.h"

namespace quern::sandbox {

constexpr int kContained = 42, kEscaped = 43, kSkipped = 44;

struct Probe {
  const char* name;
  int (*attempt)();
};
std::span<const Probe> file_probes();
std::span<const Probe> system_call_probes();  // harmless outside: their arguments are wrong
std::span<const Probe> process_probes();
std::span<const Probe> memory_probes();  // of sandbox_test.cc: a limit stops them

// What the host shows to the probes; the first two as arguments of the program.
struct HostFiles {
  std::string shown, hidden;  // a folder of the policy, a file outside
};
HostFiles& host_files();  // inside: as given

int escaped(const std::string& how);  // prints it

// A refusal by the filter, and no other error.
inline int blocked(long result) {
  if (result == -1 && (errno == EPERM || errno == ENOSYS)) return kContained;
  return escaped(result == -1 ? std::strerror(errno) : "the call worked");
}
// Any failure.
inline int failed(long result) { return result < 0 ? kContained : escaped("the call worked"); }

enum class User { self, nobody };
std::string program_path();
Result run_as(User user, const Policy& policy, const Command& command);  // throws Error as run() does
std::string why_not_here(User user);                                     // a reason to skip; empty: tests can run

}  // namespace quern::sandbox
