// Escape attempts through files: the host's and those of the sandbox.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "quern/sandbox/escape_probe.h"

namespace quern::sandbox {
namespace {

int no_file(const std::string& path, int flags = O_RDONLY) {
  const int fd = ::open(path.c_str(), flags, 0644);
  return fd < 0 ? kContained : escaped("opened " + path);
}
int no_new_file(const std::string& folder) { return no_file(folder + "/quern-escape", O_WRONLY | O_CREAT); }
std::string shown(const char* name) { return host_files().shown + "/" + name; }

int write_until_full() {
  ::signal(SIGXFSZ, SIG_IGN);
  const int fd = ::open("/work/big", O_WRONLY | O_CREAT, 0644);
  const std::string block(1 << 20, 'x');
  for (int mib = 0; mib < 256; ++mib)
    if (::write(fd, block.data(), block.size()) < static_cast<ssize_t>(block.size())) return kContained;
  return escaped("wrote 256 MiB");
}

int spread_until_full() {  // each file is small, the sum is not
  const std::string block(1 << 20, 'x');
  int64_t written = 0;
  for (int i = 0; i < 256; ++i) {
    const char* folders[] = {"/tmp", "/work", "/dev/shm"};
    std::ofstream out(std::string(folders[i % 3]) + "/f" + std::to_string(i));
    if (out.write(block.data(), 1 << 20).flush()) written += 1 << 20;
  }
  return written <= 16 << 20 ? kContained : escaped(std::to_string(written) + " bytes");
}

int files_until_full() {
  for (int i = 0; i < 70'000; ++i) {
    const int fd = ::open(("/tmp/i" + std::to_string(i)).c_str(), O_WRONLY | O_CREAT, 0644);
    if (fd < 0) return kContained;
    ::close(fd);
  }
  return escaped("70,000 files");
}

int climb() {
  for (int i = 0; i < 64; ++i)
    if (::chdir("..") != 0) return escaped("chdir");
  return no_file(host_files().hidden.substr(1));
}

int own_link_out() {
  if (::symlink(host_files().hidden.c_str(), "/work/link") != 0) return escaped("no link could be made");
  return no_file("/work/link");
}

int mounts_are_read_only() {
  for (const std::string& path : {std::string("/usr"), host_files().shown}) {
    struct statvfs s;
    constexpr unsigned long kAll = ST_RDONLY | ST_NOSUID | ST_NODEV;
    if (::statvfs(path.c_str(), &s) != 0 || (s.f_flag & kAll) != kAll) return escaped(path);
  }
  return kContained;
}

int host_processes() {
  for (const auto& e : std::filesystem::directory_iterator("/proc")) {
    const std::string name = e.path().filename();
    if (std::isdigit(static_cast<unsigned char>(name[0])) && name != std::to_string(::getpid())) return escaped(name);
  }
  return kContained;
}

int host_mounts() {
  std::ifstream in("/proc/self/mountinfo");
  for (std::string line; std::getline(in, line);)
    if (line.find("/.host") != line.npos || line.find(host_files().hidden) != line.npos) return escaped(line);
  return kContained;
}

int few_devices() {
  for (const auto& e : std::filesystem::recursive_directory_iterator("/dev")) {
    static const std::string kKnown = " null zero full random urandom fd stdin stdout stderr shm ";
    if (kKnown.find(" " + e.path().filename().string() + " ") == kKnown.npos) return escaped(e.path());
  }
  return kContained;
}

int shared_memory_folder() {
  for (const auto& e : std::filesystem::directory_iterator("/dev/shm")) return escaped(e.path());
  std::ofstream("/dev/shm/quern-escape") << "x";  // which the host must not see
  return kContained;
}

int raw_device() {
  for (const mode_t kind : {S_IFBLK, S_IFCHR})
    for (const char* path : {"/work/device", "/dev/device"})
      if (::mknod(path, kind | 0666, makedev(1, 1)) == 0) return escaped("made a device");
  return kContained;
}

constexpr Probe kProbes[] = {
    {"CreateInUsr", [] { return no_new_file("/usr"); }},
    {"CreateInEtc", [] { return no_new_file("/etc"); }},
    {"CreateInRoot", [] { return no_new_file(""); }},
    {"CreateInDev", [] { return no_new_file("/dev"); }},
    {"CreateInLib", [] { return no_new_file("/lib"); }},
    {"CreateInShownFolder", [] { return no_new_file(host_files().shown); }},
    {"ProcSys", [] { return no_file("/proc/sys/kernel/core_pattern"); }},
    {"ProcSysrq", [] { return no_file("/proc/sysrq-trigger", O_WRONLY); }},
    {"ProcKcore", [] { return no_file("/proc/kcore"); }},
    {"ProcKeys", [] { return no_file("/proc/keys"); }},
    {"ProcOwnMemoryWrite", [] { return no_file("/proc/self/mem", O_RDWR); }},
    {"ProcOwnUidMap", [] { return no_file("/proc/self/uid_map", O_WRONLY); }},
    {"ProcFirstRoot", [] { return no_file("/proc/1/root/etc/passwd"); }},
    {"ProcFirstWorkFolder", [] { return no_file("/proc/1/cwd"); }},
    {"ProcFirstEnvironment", [] { return no_file("/proc/1/environ"); }},
    {"ProcFirstMemory", [] { return no_file("/proc/1/mem"); }},
    {"ProcFirstDescriptor", [] { return no_file("/proc/1/fd/3"); }},
    {"ProcHostProcesses", host_processes},
    {"MountsOfHost", host_mounts},
    {"MountsAreReadOnly", mounts_are_read_only},
    {"SysFolder", [] { return no_file("/sys"); }},
    {"RunFolder", [] { return no_file("/run"); }},
    {"HomeFolder", [] { return no_file("/home"); }},
    {"RootHome", [] { return no_file("/root"); }},
    {"VarFolder", [] { return no_file("/var"); }},
    {"ShadowFile", [] { return no_file("/etc/shadow"); }},
    {"HiddenFile", [] { return no_file(host_files().hidden); }},
    {"HiddenFileByDots", [] { return no_file(host_files().shown + "/../.." + host_files().hidden); }},
    {"HiddenFileByClimbing", climb},
    {"HiddenFileByOwnLink", own_link_out},
    {"HiddenFileByLinkOfShownFolder", [] { return no_file(shown("link")); }},
    {"ShownFileWrite", [] { return no_file(shown("open.txt"), O_WRONLY); }},
    {"ShownFileTruncate", [] { return failed(::truncate(shown("open.txt").c_str(), 0)); }},
    {"ShownFileMode", [] { return failed(::chmod(shown("open.txt").c_str(), 0600)); }},
    {"ShownFileOwner", [] { return failed(::chown(shown("open.txt").c_str(), 1000, 1000)); }},
    {"ShownFileTimes", [] { return failed(::utimensat(AT_FDCWD, shown("open.txt").c_str(), nullptr, 0)); }},
    {"ShownFileRemove", [] { return failed(::unlink(shown("open.txt").c_str())); }},
    {"ShownFileRename", [] { return failed(::rename(shown("open.txt").c_str(), "/work/taken")); }},
    {"ShownFileHardLink", [] { return failed(::link(shown("open.txt").c_str(), "/work/taken")); }},
    {"DeviceMemory", [] { return no_file("/dev/mem"); }},
    {"DeviceKernelLog", [] { return no_file("/dev/kmsg"); }},
    {"DeviceTerminal", [] { return no_file("/dev/tty", O_RDWR); }},
    {"DevicePtmx", [] { return no_file("/dev/ptmx", O_RDWR); }},
    {"DeviceFuse", [] { return no_file("/dev/fuse", O_RDWR); }},
    {"DevicesAreFew", few_devices},
    {"DeviceMode", [] { return failed(::chmod("/dev/null", 0600)); }},
    {"DeviceNode", raw_device},
    {"DevShm", shared_memory_folder},
    {"DiskFullByOneFile", write_until_full},
    {"DiskFullByManyFiles", spread_until_full},
    {"DiskFullByNames", files_until_full},
};

}  // namespace

std::span<const Probe> file_probes() { return kProbes; }

}  // namespace quern::sandbox
