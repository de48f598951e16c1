// System call filter (seccomp-BPF), written out by hand: an allow-list. What is not on it returns ENOSYS, so that
// libraries take their older way; what only an attack or an administrator calls returns EPERM. A call of another
// architecture ends the process.
#pragma once
#include <linux/filter.h>

#include <vector>

namespace quern::sandbox {

std::vector<sock_filter> system_call_program();

// The calling process and what it starts, for good. Needs no_new_privs; throws Error.
void filter_system_calls();

}  // namespace quern::sandbox
