// The file system of a sandbox: a private tmpfs as root, with read-only bind mounts of the system folders and of the
// folders of the policy, five devices, a /proc of the sandbox's own processes, and one tmpfs of limited size behind
// /tmp, /work and /dev/shm. The file system of the host is unmounted at the end.
#pragma once
#include "quern/sandbox/sandbox.h"

namespace quern::sandbox {

// In new user, mount and pid namespaces, as their first process. Throws Error naming the step.
void enter_root_folder(const Policy& policy);

}  // namespace quern::sandbox
