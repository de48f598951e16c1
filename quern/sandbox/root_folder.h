// The file system of a sandbox: a private tmpfs as root, with read-only bind mounts of the system folders and of the
// folders of the policy, five devices, a /proc of the sandbox's own processes, and one tmpfs of limited size behind
// /tmp, /work and /dev/shm. The file system of the host is unmounted at the end.
#pragma once
#include "quern/sandbox/sandbox.h"

namespace quern::sandbox {

// The folders of the policy as root sees them, before it becomes another user: copies of their mounts that are at no
// place yet. A folder below one that only root may enter can be shown so. Empty for everybody else.
std::vector<int> open_read_folders(const Policy& policy);

// In new user, mount and pid namespaces, as their first process. Throws Error naming the step.
void enter_root_folder(const Policy& policy, const std::vector<int>& opened);

}  // namespace quern::sandbox
