// Escape attempts by system calls. Their arguments are wrong on purpose: where a call is not filtered, it fails with
// another error than that of the filter, and changes nothing. So they can run outside as well, to show that they see
// a missing filter.
#include <fcntl.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "quern/sandbox/escape_probe.h"

namespace quern::sandbox {
namespace {

void* const kBad = reinterpret_cast<void*>(8);

template <class... A>
int call(long number, A... arguments) {
  errno = 0;
  return blocked(::syscall(number, arguments...));
}

int clone_with(unsigned long flags) {
  const long pid = ::syscall(SYS_clone, flags | SIGCHLD, nullptr, nullptr, nullptr, 0);
  if (pid == 0) ::_exit(0);
  return blocked(pid);
}

// A call of 32-bit code ends the process: numbers mean other calls there.
[[maybe_unused]] int old_architecture() {
  const pid_t pid = ::fork();
  if (pid == 0) {
#if defined(__x86_64__)
    long result = 20;  // getpid
    asm volatile("int $0x80" : "+a"(result) : : "memory");
#endif
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFSIGNALED(status) ? kContained : escaped("a 32-bit call was executed");
}

int socket_of(int family, int type, int protocol = 0) { return blocked(::socket(family, type, protocol)); }

int pair_of_datagrams() {
  int pair[2];
  return blocked(::socketpair(AF_UNIX, SOCK_DGRAM, 0, pair));
}

constexpr Probe kProbes[] = {
    {"PtraceFirst", [] { return call(SYS_ptrace, PTRACE_PEEKDATA, 0, 0, 0); }},
    {"PtraceOwnChild", [] { return call(SYS_ptrace, PTRACE_TRACEME, 0, 0, 0); }},
    {"ReadMemoryOfProcess", [] { return call(SYS_process_vm_readv, 0, kBad, 1, kBad, 1, 0); }},
    {"WriteMemoryOfProcess", [] { return call(SYS_process_vm_writev, 0, kBad, 1, kBad, 1, 0); }},
    {"TakeDescriptorOfProcess", [] { return call(438, -1, 0, 0); }},
    {"CompareProcesses", [] { return call(SYS_kcmp, 0, 0, 99, 0, 0); }},
    {"AdviseProcess", [] { return call(440, -1, kBad, 1, 0, 0); }},
    {"UnshareUser", [] { return call(SYS_unshare, CLONE_NEWUSER); }},
    {"UnshareMounts", [] { return call(SYS_unshare, CLONE_NEWUSER | CLONE_NEWNS); }},
    {"UnshareNetwork", [] { return call(SYS_unshare, CLONE_NEWUSER | CLONE_NEWNET); }},
    {"UnsharePid", [] { return call(SYS_unshare, CLONE_NEWUSER | CLONE_NEWPID); }},
    {"UnshareFiles", [] { return call(SYS_unshare, CLONE_FILES); }},
    {"EnterNamespace", [] { return call(SYS_setns, -1, 0); }},
    {"CloneUser", [] { return clone_with(CLONE_NEWUSER); }},
    {"CloneNetwork", [] { return clone_with(CLONE_NEWUSER | CLONE_NEWNET); }},
    {"CloneCgroup", [] { return clone_with(CLONE_NEWUSER | CLONE_NEWCGROUP); }},
    {"Clone3", [] { return call(435, kBad, 0); }},
    {"Mount", [] { return call(SYS_mount, kBad, kBad, kBad, 0, 0); }},
    {"Unmount", [] { return call(SYS_umount2, kBad, 0); }},
    {"PivotRoot", [] { return call(SYS_pivot_root, kBad, kBad); }},
    {"ChangeRoot", [] { return call(SYS_chroot, kBad); }},
    {"OpenTree", [] { return call(428, -1, kBad, 0); }},
    {"MoveMount", [] { return call(429, -1, kBad, -1, kBad, 0); }},
    {"OpenFileSystem", [] { return call(430, kBad, 0); }},
    {"MountFileSystem", [] { return call(432, -1, 0, 0); }},
    {"MountAttributes", [] { return call(442, -1, kBad, 0, kBad, 0); }},
    {"FileHandleOf", [] { return call(SYS_name_to_handle_at, -1, kBad, kBad, kBad, 0); }},
    {"FileByHandle", [] { return call(SYS_open_by_handle_at, -1, kBad, 0); }},
    {"Fanotify", [] { return call(SYS_fanotify_init, -1, 0); }},
    {"Keyctl", [] { return call(SYS_keyctl, 99, 0, 0, 0, 0); }},
    {"AddKey", [] { return call(SYS_add_key, kBad, kBad, 0, 0, 0); }},
    {"RequestKey", [] { return call(SYS_request_key, kBad, kBad, 0, 0); }},
    {"IoUringSetup", [] { return call(425, 1, kBad); }},
    {"IoUringEnter", [] { return call(426, -1, 0, 0, 0, 0, 0); }},
    {"IoUringRegister", [] { return call(427, -1, 0, 0, 0); }},
    {"Bpf", [] { return call(SYS_bpf, 999, kBad, 8); }},
    {"PerfEvents", [] { return call(SYS_perf_event_open, kBad, 0, -1, -1, 0); }},
    {"UserFaults", [] { return call(SYS_userfaultfd, -1); }},
    {"KexecLoad", [] { return call(SYS_kexec_load, 0, 99999, kBad, 0xffff); }},
    {"KexecFileLoad", [] { return call(SYS_kexec_file_load, -1, -1, 0, kBad, 0xffff); }},
    {"InitModule", [] { return call(SYS_init_module, kBad, 8, kBad); }},
    {"FinitModule", [] { return call(SYS_finit_module, -1, kBad, 0); }},
    {"DeleteModule", [] { return call(SYS_delete_module, kBad, O_NONBLOCK); }},
    {"Reboot", [] { return call(SYS_reboot, 1, 2, 3, 0); }},
    {"SwapOn", [] { return call(SYS_swapon, kBad, 0); }},
    {"Accounting", [] { return call(SYS_acct, kBad); }},
    {"KernelLog", [] { return call(SYS_syslog, 10, 0, 0); }},
    {"SetHostName", [] { return call(SYS_sethostname, kBad, 4); }},
    {"SetTime", [] { return call(SYS_clock_settime, 0, kBad); }},
    {"SetTimeOfDay", [] { return call(SYS_settimeofday, kBad, 0); }},
    {"AdjustTime", [] { return call(SYS_adjtimex, kBad); }},
    {"SetCapabilities", [] { return call(SYS_capset, kBad, kBad); }},
    {"SetGroups", [] { return call(SYS_setgroups, 1, kBad); }},
    {"SecondFilter", [] { return call(SYS_seccomp, 99, 0, kBad); }},
    {"SecureBits", [] { return blocked(::prctl(PR_SET_SECUREBITS, 1 << 30)); }},
    {"MoveOwnMemoryMap", [] { return blocked(::prctl(PR_SET_MM, 999, 0, 0, 0)); }},
    {"NoRandomAddresses", [] { return call(SYS_personality, 0x0040000); }},
    {"MemoryFile", [] { return call(SYS_memfd_create, kBad, 0); }},
    {"SharedMemory", [] { return call(SYS_shmget, 0, 0, 0); }},
    {"MessageQueue", [] { return call(SYS_msgget, 77, 0); }},
    {"PosixMessageQueue", [] { return call(SYS_mq_open, kBad, 0, 0, 0); }},
    {"RealTimeScheduling", [] { return call(SYS_sched_setscheduler, -1, 1, kBad); }},
    {"TypeIntoTerminal", [] { return call(SYS_ioctl, 0, TIOCSTI, "x"); }},
    {"TypeIntoTerminalHighBits", [] { return call(SYS_ioctl, 0, (1ul << 40) | TIOCSTI, "x"); }},
    {"ConsoleSelection", [] { return call(SYS_ioctl, 0, 0x541C, kBad); }},
    {"TakeTerminal", [] { return call(SYS_ioctl, 0, TIOCSCTTY, 0); }},
    {"SocketInet", [] { return socket_of(AF_INET, SOCK_STREAM); }},
    {"SocketInetDatagram", [] { return socket_of(AF_INET, SOCK_DGRAM); }},
    {"SocketInet6", [] { return socket_of(AF_INET6, SOCK_STREAM); }},
    {"SocketRaw", [] { return socket_of(AF_INET, SOCK_RAW, 99999); }},
    {"SocketPacket", [] { return socket_of(AF_PACKET, 99); }},
    {"SocketNetlink", [] { return socket_of(AF_NETLINK, SOCK_RAW); }},
    {"SocketVsock", [] { return socket_of(AF_VSOCK, 99); }},
    {"SocketKernelCrypto", [] { return socket_of(AF_ALG, 99); }},
    {"SocketLocalDatagram", [] { return socket_of(AF_UNIX, SOCK_DGRAM); }},
    {"SocketPairOfDatagrams", pair_of_datagrams},
    {"Connect", [] { return call(SYS_connect, -1, kBad, 0); }},
#if defined(__x86_64__)
    {"PortAccess", [] { return call(SYS_ioperm, -1, 1, 1); }},
    {"LocalDescriptorTable", [] { return call(SYS_modify_ldt, 1, kBad, 1); }},
    {"OldArchitecture", old_architecture},
    {"NumbersOfX32", [] { return blocked(::syscall(0x40000000 | 165, kBad, kBad, kBad, 0, 0)); }},
#endif
};

}  // namespace

std::span<const Probe> system_call_probes() { return kProbes; }

}  // namespace quern::sandbox
