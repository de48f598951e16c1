// Advisory locks (flock) on an open file or folder. The kernel releases a lock only when its process is gone, and a
// killed process first gives its memory back, which takes a moment on a busy machine. Whoever starts right after a
// kill therefore waits for that moment and does not fail at once.
#pragma once
#include <chrono>

namespace quern {

constexpr std::chrono::milliseconds kLockPatience{5000};

// True: this process holds the exclusive lock until it closes `fd`. False: another process kept it for so long, or
// the file system has no locks (errno says which: EWOULDBLOCK is the first).
bool lock_exclusively(int fd, std::chrono::milliseconds patience = kLockPatience);

}  // namespace quern
