#include "quern/sandbox/landlock.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

#include "quern/sandbox/channel.h"

namespace quern::sandbox {
namespace {

// As the kernel reads it; older headers lack the later fields.
struct RulesetAttributes {
  uint64_t handled_files = 0, handled_network = 0, scoped = 0;
};

constexpr uint64_t kRead = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
constexpr uint64_t kTruncate = 1 << 14, kDeviceControl = 1 << 15;  // versions 3 and 5

uint64_t file_rights(int version) {
  uint64_t all = (1 << 13) - 1;  // version 1
  if (version >= 2) all |= LANDLOCK_ACCESS_FS_REFER;
  if (version >= 3) all |= kTruncate;
  if (version >= 5) all |= kDeviceControl;
  return all;
}

void allow(int ruleset, const char* path, uint64_t rights) {
  landlock_path_beneath_attr rule{};
  rule.allowed_access = rights;
  rule.parent_fd = ::open(path, O_PATH | O_CLOEXEC);
  if (rule.parent_fd < 0) fail_errno(std::string("open ") + path);
  const long added = ::syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
  if (added != 0) fail_errno(std::string("Landlock rule for ") + path);
  ::close(rule.parent_fd);
}

}  // namespace

int landlock_version() {
  const long v = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  return v < 0 ? 0 : static_cast<int>(v);
}

void restrict_files() {
  const int version = landlock_version();
  if (version == 0) return;
  const uint64_t all = file_rights(version);
  RulesetAttributes attributes{.handled_files = all};
  if (version >= 4) attributes.handled_network = 3;  // TCP bind and connect
  if (version >= 6) attributes.scoped = 3;           // abstract sockets, signals
  const size_t size = version >= 6 ? 24 : version >= 4 ? 16 : 8;
  const int ruleset = static_cast<int>(::syscall(SYS_landlock_create_ruleset, &attributes, size, 0));
  if (ruleset < 0) fail_errno("create a Landlock ruleset");
  allow(ruleset, "/", kRead);
  for (const char* folder : {"/work", "/tmp", "/dev/shm"}) allow(ruleset, folder, all & ~kDeviceControl);
  for (const char* device : {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"})
    allow(ruleset, device, LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | (all & kTruncate));
  if (::syscall(SYS_landlock_restrict_self, ruleset, 0) != 0) fail_errno("Landlock");
  ::close(ruleset);
}

}  // namespace quern::sandbox
