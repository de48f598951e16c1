#include "quern/sandbox/sandbox.h"

#include <cmath>

#include "quern/base/error.h"
#include "quern/sandbox/isolated_process.h"

namespace quern::sandbox {

namespace fs = std::filesystem;

namespace {

void check_range(const char* name, int64_t value, int64_t most) {
  if (value < 1 || value > most) fail("sandbox: {} = {}: expected 1 to {}", name, value, most);
}

bool is_beneath(const fs::path& path, const char* folder) {
  const std::string p = path.string(), f = folder;
  return p == f || p.starts_with(f + "/");
}

fs::path checked_folder(const fs::path& given) {
  std::error_code error;
  const fs::path path = fs::canonical(given, error);
  if (error) fail("sandbox: read folder '{}': {}", given.string(), error.message());
  if (!fs::is_directory(path)) fail("sandbox: read folder '{}' is not a folder", given.string());
  const bool taken = path == "/" || path == "/tmp" || path == "/work" || path == "/etc";
  if (taken || is_beneath(path, "/proc") || is_beneath(path, "/sys") || is_beneath(path, "/dev"))
    fail("sandbox: read folder '{}': the sandbox has a {} of its own; name a folder with your files", given.string(),
         path.string());
  return path;
}

}  // namespace

std::string_view end_name(End end) {
  constexpr std::string_view kNames[] = {"exit", "signal", "time", "memory", "output"};
  return kNames[static_cast<size_t>(end)];
}

Policy checked(const Policy& policy) {
  Policy out = policy;
  const Limits& l = policy.limits;
  if (!std::isfinite(l.seconds) || l.seconds <= 0 || l.seconds > 86400)
    fail("sandbox: seconds = {}: expected more than 0 and at most 86400", l.seconds);
  check_range("memory_mib", l.memory_mib, 1 << 20);
  check_range("processes", l.processes, 4096);
  check_range("output_mib", l.output_mib, 1024);
  check_range("disk_mib", l.disk_mib, 1 << 20);
  for (fs::path& p : out.read) p = checked_folder(p);
  return out;
}

Result run(const Policy& policy, const Command& command) { return IsolatedProcess(checked(policy)).run(command); }

}  // namespace quern::sandbox
