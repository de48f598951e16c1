#include "quern/sandbox/root_folder.h"

#include <fcntl.h>
#include <linux/mount.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "quern/base/error.h"
#include "quern/sandbox/channel.h"

namespace quern::sandbox {
namespace {

const std::string kHost = "/.host";  // the host's root until it is unmounted

void make_folder(const std::string& path) {
  if (::mkdir(path.c_str(), 0755) != 0 && errno != EEXIST) fail_errno("create " + path);
}

void make_folders(const std::string& path) {
  for (size_t at = path.find('/', 1); at != path.npos; at = path.find('/', at + 1)) make_folder(path.substr(0, at));
  make_folder(path);
}

void write_small_file(const std::string& path, const std::string& text) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (fd < 0) fail_errno("create " + path);
  const bool whole = ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  ::close(fd);
  if (!whole) fail("write {}: incomplete", path);
}

void make_link(const std::string& target, const std::string& path) {
  if (::symlink(target.c_str(), path.c_str()) != 0) fail_errno("link " + path);
}

void mount_at(const char* type, const std::string& path, unsigned long flags, const std::string& options) {
  if (::mount(type, path.c_str(), type, flags, options.c_str()) != 0)
    fail_errno(fmt::format("mount {} on {}", type, path));
}

void set_attributes(const std::string& path, uint64_t set, unsigned flags) {
  mount_attr attributes{};
  attributes.attr_set = set;
  if (::syscall(SYS_mount_setattr, AT_FDCWD, path.c_str(), flags, &attributes, sizeof(attributes)) != 0)
    fail_errno(fmt::format("make {} read-only (mount_setattr, Linux 5.12)", path));
}

// With every mount below it: a bind mount that left some out would show what they cover.
void bind_folder(const std::string& from, const std::string& to, uint64_t attributes) {
  if (::mount(from.c_str(), to.c_str(), nullptr, MS_BIND | MS_REC, nullptr) != 0) fail_errno("bind " + to);
  set_attributes(to, attributes, AT_RECURSIVE);
}

constexpr uint64_t kReadOnly = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;

// /lib is a link to usr/lib on systems with one /usr, a folder on others.
void add_system_folder(const std::string& path) {
  struct stat s;
  if (::lstat((kHost + path).c_str(), &s) != 0) return;
  if (S_ISLNK(s.st_mode)) {
    char target[4096];
    const ssize_t n = ::readlink((kHost + path).c_str(), target, sizeof(target));
    if (n < 0) fail_errno("read link " + path);
    return make_link(std::string(target, static_cast<size_t>(n)), path);
  }
  make_folder(path);
  bind_folder(kHost + path, path, kReadOnly);
}

void add_etc() {
  make_folder("/etc");
  write_small_file("/etc/passwd", "sandbox:x:1000:1000::/work:/bin/sh\n");
  write_small_file("/etc/group", "sandbox:x:1000:\n");
  struct stat s;
  if (::stat((kHost + "/etc/alternatives").c_str(), &s) == 0) {
    make_folder("/etc/alternatives");
    bind_folder(kHost + "/etc/alternatives", "/etc/alternatives", kReadOnly | MOUNT_ATTR_NOEXEC);
  }
  if (::stat((kHost + "/etc/ld.so.cache").c_str(), &s) == 0) {
    write_small_file("/etc/ld.so.cache", "");
    bind_folder(kHost + "/etc/ld.so.cache", "/etc/ld.so.cache", kReadOnly | MOUNT_ATTR_NOEXEC);
  }
}

void add_devices() {
  make_folder("/dev");
  for (const char* name : {"null", "zero", "full", "random", "urandom"}) {
    const std::string path = fmt::format("/dev/{}", name);
    write_small_file(path, "");
    bind_folder(kHost + path, path, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
  }
  make_link("/proc/self/fd", "/dev/fd");
  make_link("/proc/self/fd/0", "/dev/stdin");
  make_link("/proc/self/fd/1", "/dev/stdout");
  make_link("/proc/self/fd/2", "/dev/stderr");
}

// One tmpfs, so that one size holds for all three. Inodes cost memory as well.
void add_scratch(int64_t disk_mib) {
  make_folder("/.scratch");
  const int64_t inodes = std::min<int64_t>(1024 + disk_mib * 64, 65536);
  mount_at("tmpfs", "/.scratch", MS_NOSUID | MS_NODEV,
           fmt::format("size={}m,nr_inodes={},mode=0755", disk_mib, inodes));
  for (const char* name : {"/tmp", "/work", "/dev/shm"}) {
    const std::string source = std::string("/.scratch/") + (::strrchr(name, '/') + 1);
    make_folder(source);
    make_folder(name);
    if (::mount(source.c_str(), name, nullptr, MS_BIND, nullptr) != 0) fail_errno(fmt::format("bind {}", name));
  }
  if (::umount2("/.scratch", MNT_DETACH) != 0 || ::rmdir("/.scratch") != 0) fail_errno("unmount /.scratch");
}

// Landlock lets /work, /tmp and /dev/shm be written with all that lies in them, named pipes of a read-only folder too.
// A folder with such a path is mounted elsewhere, and a link takes its place.
void add_read_folder(const std::string& path, size_t number, int opened) {
  if (path == "/usr" || path.starts_with("/usr/")) return;
  struct stat s;
  if (opened < 0 && ::stat((kHost + path).c_str(), &s) != 0) fail_errno(fmt::format("read folder '{}'", path));
  std::string at = path;
  if (path.starts_with("/work/") || path.starts_with("/tmp/")) {
    at = fmt::format("/read/{}", number);
    if (const size_t cut = path.rfind('/'); path.find('/', 1) != cut) make_folders(path.substr(0, cut));
    make_link(at, path);
  }
  make_folders(at);
  if (opened < 0) return bind_folder(kHost + path, at, kReadOnly);
  if (::syscall(SYS_move_mount, opened, "", AT_FDCWD, at.c_str(), MOVE_MOUNT_F_EMPTY_PATH) != 0)
    fail_errno(fmt::format("mount read folder '{}'", path));
  ::close(opened);
  set_attributes(at, kReadOnly, AT_RECURSIVE);
}

// A path that a folder was given by: it may be there already, in a folder that is shown.
void add_folder_link(const FolderLink& link) {
  const std::string at = link.at.string();
  struct stat s;
  if (::stat(at.c_str(), &s) == 0) return;
  if (const size_t cut = at.rfind('/'); cut > 0) make_folders(at.substr(0, cut));
  make_link(link.to.string(), at);
}

// A tmpfs becomes the root, the old root a folder in it. Paths below /tmp stay reachable: pivot_root takes the tmpfs
// that covered /tmp away.
void pivot() {
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) fail_errno("make mounts private");
  mount_at("tmpfs", "/tmp", MS_NOSUID | MS_NODEV, "size=1m,nr_inodes=4096,mode=0755");
  if (::chdir("/tmp") != 0 || ::mkdir(kHost.c_str() + 1, 0755) != 0) fail_errno("prepare the root folder");
  if (::syscall(SYS_pivot_root, ".", kHost.c_str() + 1) != 0) fail_errno("pivot_root");
  if (::chdir("/") != 0) fail_errno("enter the root folder");
}

}  // namespace

std::vector<int> open_read_folders(const Policy& policy) {
  std::vector<int> opened;
  if (::geteuid() != 0) return opened;
  for (const auto& folder : policy.read) {
    constexpr unsigned kFlags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE;
    // -1, where this root may not: the folder is taken by its path then.
    opened.push_back(static_cast<int>(::syscall(SYS_open_tree, AT_FDCWD, folder.c_str(), kFlags)));
  }
  return opened;
}

void enter_root_folder(const Policy& policy, const std::vector<int>& opened) {
  ::umask(022);
  pivot();
  for (const char* path : {"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"}) add_system_folder(path);
  add_etc();
  add_devices();
  make_folder("/proc");
  // Only processes: no /proc/sys, no /proc/kcore. Processes that may not be traced, the first one, are hidden.
  mount_at("proc", "/proc", MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY, "subset=pid,hidepid=2");
  add_scratch(policy.limits.disk_mib);
  for (size_t i = 0; i < policy.read.size(); ++i)
    add_read_folder(policy.read[i].string(), i, i < opened.size() ? opened[i] : -1);
  for (const FolderLink& link : policy.links) add_folder_link(link);
  if (::umount2(kHost.c_str(), MNT_DETACH) != 0 || ::rmdir(kHost.c_str()) != 0)
    fail_errno("unmount the host's files");
  set_attributes("/", kReadOnly, 0);
  if (::chmod("/tmp", 01777) != 0 || ::chdir("/work") != 0) fail_errno("enter /work");
}

}  // namespace quern::sandbox
