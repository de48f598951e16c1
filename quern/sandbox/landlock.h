// Landlock: a second wall behind the mounts. Files may be read and executed everywhere, and changed only in /work, /tmp
// and /dev/shm; with newer kernels also no TCP, no signal and no abstract socket across the border.
#pragma once

namespace quern::sandbox {

int landlock_version();  // of the kernel; 0: it has none

// The calling process and what it starts. Does nothing on a kernel without Landlock. Needs no_new_privs; throws Error.
void restrict_files();

}  // namespace quern::sandbox
