#include "quern/sandbox/process_usage.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "quern/base/error.h"

namespace quern::sandbox {
namespace {

std::vector<int> process_ids() {
  std::vector<int> ids;
  DIR* folder = ::opendir("/proc");
  if (!folder) return ids;
  while (const dirent* e = ::readdir(folder))
    if (const int id = std::atoi(e->d_name); id > 1) ids.push_back(id);
  ::closedir(folder);
  return ids;
}

// Empty where the process is gone.
std::string read_process_file(int id, const char* name) {
  char text[8192];
  const int fd = ::open(fmt::format("/proc/{}/{}", id, name).c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  const ssize_t n = ::read(fd, text, sizeof(text));
  ::close(fd);
  return {text, static_cast<size_t>(std::max<ssize_t>(n, 0))};
}

// "RssAnon:     123 kB" as bytes; 0 where there is no such line.
int64_t bytes_of(const std::string& text, const char* field) {
  const size_t at = text.find(field);
  return at == text.npos ? 0 : std::atoll(text.c_str() + at + std::strlen(field)) * 1024;
}

double cpu_of(int id) {
  const std::string stat = read_process_file(id, "stat");
  const size_t name_end = stat.rfind(')');
  if (name_end == stat.npos) return 0;
  unsigned long own_user = 0, own_system = 0;
  long user = 0, system = 0;
  const int n =
      std::sscanf(stat.c_str() + name_end + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %ld %ld",
                  &own_user, &own_system, &user, &system);
  if (n != 4) return 0;
  const double ticks =
      static_cast<double>(own_user) + static_cast<double>(own_system) + static_cast<double>(user + system);
  return ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

}  // namespace

ProcessUsage process_usage() {
  ProcessUsage u;
  for (const int id : process_ids()) {
    const std::string status = read_process_file(id, "status");
    u.memory += bytes_of(status, "RssAnon:") + bytes_of(status, "RssShmem:");
    u.peak = std::max(u.peak, bytes_of(status, "VmHWM:"));
    u.cpu_s += cpu_of(id);
  }
  return u;
}

int64_t proportional_memory() {
  int64_t sum = 0;
  for (const int id : process_ids()) {
    const std::string rollup = read_process_file(id, "smaps_rollup");
    sum += bytes_of(rollup, "Pss_Anon:") + bytes_of(rollup, "Pss_Shmem:");
  }
  return sum;
}

}  // namespace quern::sandbox
