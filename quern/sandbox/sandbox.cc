#include "quern/sandbox/sandbox.h"

#include <algorithm>

#include "quern/base/settings.h"
#include "quern/sandbox/isolated_process.h"

namespace quern::sandbox {

namespace fs = std::filesystem;

namespace {

bool is_beneath(const fs::path& path, const char* folder) {
  const std::string p = path.string(), f = folder;
  return p == f || p.starts_with(f + "/");
}

// A place that the sandbox fills itself.
bool is_taken(const fs::path& path) {
  const bool taken = path == "/" || path == "/tmp" || path == "/work" || path == "/etc";
  return taken || is_beneath(path, "/proc") || is_beneath(path, "/sys") || is_beneath(path, "/dev");
}

fs::path checked_folder(const fs::path& given) {
  if (given.empty()) fail("sandbox: a read folder has an empty name: expected the path of a folder");
  std::error_code error;
  const fs::path path = fs::canonical(given, error);
  if (error) fail("sandbox: read folder '{}': {}", given.string(), error.message());
  if (!fs::is_directory(path)) fail("sandbox: read folder '{}' is not a folder", given.string());
  if (is_taken(path))
    fail("sandbox: read folder '{}': the sandbox has a {} of its own; name a folder with your files", given.string(),
         path.string());
  return path;
}

// Where the folder was given, without "." and "..": nothing where that is the folder itself or, after a link, another.
fs::path given_place(const fs::path& given, const fs::path& folder) {
  fs::path at = fs::absolute(given).lexically_normal();
  if (!at.has_filename()) at = at.parent_path();
  std::error_code error;
  return at == folder || is_taken(at) || !fs::equivalent(at, folder, error) ? fs::path() : at;
}

// A folder within another is visible with it.
void drop_inner(std::vector<fs::path>& folders) {
  std::vector<fs::path> outer;
  std::ranges::sort(folders);
  for (const fs::path& p : folders)
    if (std::ranges::none_of(outer, [&](const fs::path& o) { return is_beneath(p, o.c_str()); })) outer.push_back(p);
  folders = std::move(outer);
}

}  // namespace

std::string_view end_name(End end) {
  constexpr std::string_view kNames[] = {"exit", "signal", "time", "memory", "output"};
  return kNames[static_cast<size_t>(end)];
}

Policy checked(const Policy& policy) {
  Policy out = policy;
  check_settings(policy.limits);
  for (fs::path& p : out.read) {
    const fs::path folder = checked_folder(p), at = given_place(p, folder);
    if (!at.empty()) out.links.push_back({at, folder});
    p = folder;
  }
  drop_inner(out.read);
  return out;
}

Result run(const Policy& policy, const Command& command) { return IsolatedProcess(checked(policy)).run(command); }

}  // namespace quern::sandbox
