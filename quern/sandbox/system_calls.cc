#include "quern/sandbox/system_calls.h"

#include <linux/audit.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <iterator>

#include "quern/base/error.h"
#include "quern/sandbox/channel.h"

namespace quern::sandbox {
namespace {

#if defined(__x86_64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
constexpr uint32_t kArchitecture = 0;
#endif

constexpr int kAllowed[] = {
    // files
    SYS_read,
    SYS_write,
    SYS_openat,
    SYS_close,
    SYS_fstat,
    SYS_newfstatat,
    SYS_statx,
    SYS_lseek,
    SYS_pread64,
    SYS_pwrite64,
    SYS_readv,
    SYS_writev,
    SYS_preadv,
    SYS_pwritev,
    SYS_preadv2,
    SYS_pwritev2,
    SYS_faccessat,
    439,
    SYS_getdents64,
    SYS_getcwd,
    SYS_chdir,
    SYS_fchdir,
    SYS_mkdirat,
    SYS_unlinkat,
    SYS_renameat,
    SYS_renameat2,
    SYS_linkat,
    SYS_symlinkat,
    SYS_readlinkat,
    SYS_fchmod,
    SYS_fchmodat,
    SYS_fchown,
    SYS_fchownat,
    SYS_umask,
    SYS_truncate,
    SYS_ftruncate,
    SYS_fallocate,
    SYS_fsync,
    SYS_fdatasync,
    SYS_flock,
    SYS_fcntl,
    SYS_dup,
    SYS_dup3,
    SYS_pipe2,
    SYS_utimensat,
    SYS_statfs,
    SYS_fstatfs,
    SYS_sendfile,
    SYS_copy_file_range,
    SYS_fadvise64,
    SYS_getxattr,
    SYS_lgetxattr,
    SYS_fgetxattr,
    SYS_listxattr,
    SYS_llistxattr,
    SYS_flistxattr,
    SYS_readahead,
    436 /* close_range */,
    SYS_sync_file_range,
    SYS_mknodat,
    // memory
    SYS_mmap,
    SYS_munmap,
    SYS_mprotect,
    SYS_mremap,
    SYS_madvise,
    SYS_brk,
    SYS_msync,
    SYS_mincore,
    SYS_mlock,
    SYS_munlock,
    SYS_membarrier,
    // processes, threads, signals
    SYS_execve,
    SYS_exit,
    SYS_exit_group,
    SYS_wait4,
    SYS_waitid,
    SYS_kill,
    SYS_tgkill,
    SYS_tkill,
    SYS_getpid,
    SYS_getppid,
    SYS_gettid,
    SYS_getpgid,
    SYS_setpgid,
    SYS_getsid,
    SYS_setsid,
    SYS_set_tid_address,
    SYS_set_robust_list,
    SYS_get_robust_list,
    SYS_futex,
    SYS_rseq,
    SYS_rt_sigaction,
    SYS_rt_sigprocmask,
    SYS_rt_sigreturn,
    SYS_rt_sigpending,
    SYS_rt_sigsuspend,
    SYS_rt_sigtimedwait,
    SYS_rt_sigqueueinfo,
    SYS_sigaltstack,
    SYS_restart_syscall,
    SYS_sched_yield,
    SYS_sched_getaffinity,
    SYS_sched_setaffinity,
    SYS_sched_getparam,
    SYS_sched_getscheduler,
    SYS_sched_get_priority_max,
    SYS_sched_get_priority_min,
    SYS_getpriority,
    SYS_setpriority,
    SYS_getrlimit,
    SYS_setrlimit,
    SYS_prlimit64,
    SYS_getrusage,
    SYS_times,
    SYS_getcpu,
    424 /* pidfd_send_signal */,
    434 /* pidfd_open */,
    // users
    SYS_getuid,
    SYS_geteuid,
    SYS_getgid,
    SYS_getegid,
    SYS_getresuid,
    SYS_getresgid,
    SYS_getgroups,
    SYS_setuid,
    SYS_setgid,
    SYS_setreuid,
    SYS_setregid,
    SYS_setresuid,
    SYS_setresgid,
    SYS_capget,
    // time and waiting
    SYS_clock_gettime,
    SYS_clock_getres,
    SYS_clock_nanosleep,
    SYS_nanosleep,
    SYS_gettimeofday,
    SYS_getitimer,
    SYS_setitimer,
    SYS_timer_create,
    SYS_timer_settime,
    SYS_timer_gettime,
    SYS_timer_delete,
    SYS_timer_getoverrun,
    SYS_timerfd_create,
    SYS_timerfd_settime,
    SYS_timerfd_gettime,
    SYS_ppoll,
    SYS_pselect6,
    SYS_epoll_create1,
    SYS_epoll_ctl,
    SYS_epoll_pwait,
    441 /* epoll_pwait2 */,
    SYS_eventfd2,
    SYS_signalfd4,
    SYS_inotify_init1,
    SYS_inotify_add_watch,
    SYS_inotify_rm_watch,
    // sockets within the sandbox; connect is missing: it could reach a socket in a folder of the policy
    SYS_bind,
    SYS_listen,
    SYS_accept,
    SYS_accept4,
    SYS_getsockname,
    SYS_getpeername,
    SYS_getsockopt,
    SYS_setsockopt,
    SYS_sendto,
    SYS_sendmsg,
    SYS_recvfrom,
    SYS_recvmsg,
    SYS_shutdown,
    // this system
    SYS_uname,
    SYS_sysinfo,
    SYS_getrandom,
#if defined(__x86_64__)
    SYS_open,
    SYS_stat,
    SYS_lstat,
    SYS_access,
    SYS_getdents,
    SYS_mkdir,
    SYS_rmdir,
    SYS_unlink,
    SYS_rename,
    SYS_link,
    SYS_symlink,
    SYS_readlink,
    SYS_chmod,
    SYS_chown,
    SYS_lchown,
    SYS_creat,
    SYS_dup2,
    SYS_pipe,
    SYS_utime,
    SYS_utimes,
    SYS_futimesat,
    SYS_fork,
    SYS_vfork,
    SYS_getpgrp,
    SYS_arch_prctl,
    SYS_time,
    SYS_alarm,
    SYS_pause,
    SYS_poll,
    SYS_select,
    SYS_epoll_create,
    SYS_epoll_wait,
    SYS_eventfd,
    SYS_signalfd,
    SYS_inotify_init,
    SYS_mknod,
#endif
};

constexpr int kForbidden[] = {
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_kcmp,
    438 /* pidfd_getfd */,
    440 /* process_madvise */,
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_unshare,
    SYS_setns,
    428 /* open_tree */,
    429 /* move_mount */,
    430 /* fsopen */,
    431 /* fsconfig */,
    432 /* fsmount */,
    433 /* fspick */,
    442 /* mount_setattr */,
    SYS_swapon,
    SYS_swapoff,
    SYS_quotactl,
    SYS_name_to_handle_at,
    SYS_open_by_handle_at,
    SYS_fanotify_init,
    SYS_fanotify_mark,
    SYS_keyctl,
    SYS_add_key,
    SYS_request_key,
    SYS_bpf,
    SYS_perf_event_open,
    SYS_userfaultfd,
    SYS_kexec_load,
    SYS_kexec_file_load,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_reboot,
    SYS_acct,
    SYS_syslog,
    SYS_sethostname,
    SYS_setdomainname,
    SYS_settimeofday,
    SYS_clock_settime,
    SYS_adjtimex,
    SYS_clock_adjtime,
    SYS_vhangup,
    SYS_setgroups,
    SYS_capset,
    SYS_connect,
    SYS_memfd_create,
    447 /* memfd_secret */,
    SYS_shmget,
    SYS_semget,
    SYS_msgget,
    SYS_mq_open,
    SYS_mbind,
    SYS_migrate_pages,
    SYS_move_pages,
    SYS_set_mempolicy,
    SYS_vmsplice,
    SYS_seccomp,
    SYS_setfsuid,
    SYS_setfsgid,
    SYS_mlockall,
#if defined(__x86_64__)
    SYS_iopl,
    SYS_ioperm,
    SYS_modify_ldt,
    SYS_uselib,
    SYS_ustat,
    SYS_sysfs,
#endif
};

constexpr uint32_t kAllowedControls[] = {TCGETS, TIOCGWINSZ, TIOCGPGRP, FIONREAD, FIONBIO, FIOCLEX, FIONCLEX};
constexpr uint32_t kAllowedProcessControls[] = {
    PR_SET_NAME,         PR_GET_NAME,    PR_SET_PDEATHSIG, PR_GET_PDEATHSIG,    PR_GET_DUMPABLE,
    PR_SET_NO_NEW_PRIVS, PR_GET_SECCOMP, PR_CAPBSET_READ,  PR_GET_NO_NEW_PRIVS, PR_SET_DUMPABLE};
constexpr uint32_t kNamespaceFlags =
    CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;

// One check per call: a number is compared, and what follows is skipped or returns. The accumulator holds the number
// at the start of every check.
class Program {
 public:
  Program() {
    load(offsetof(seccomp_data, arch));
    code_.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kArchitecture, 1, 0));
    give(SECCOMP_RET_KILL_PROCESS);
    load(offsetof(seccomp_data, nr));
  }
  void allow(int number) { when(number, SECCOMP_RET_ALLOW); }
  void refuse(int number, int error) { when(number, SECCOMP_RET_ERRNO | static_cast<uint32_t>(error)); }

  // Allows a call if argument `i` is one of `values`, compared in its lower 32 bits, all the kernel reads of it.
  void allow_values(int number, int i, const std::vector<uint32_t>& values) {
    const size_t jump = begin(number);
    load_argument(i);
    for (const uint32_t v : values) {
      code_.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, v, 0, 1));
      give(SECCOMP_RET_ALLOW);
    }
    end(jump);
  }
  void allow_without(int number, int i, uint32_t flags) {
    const size_t jump = begin(number);
    load_argument(i);
    code_.push_back(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, flags, 1, 0));
    give(SECCOMP_RET_ALLOW);
    end(jump);
  }
  // Stream and packet sockets of one family. A datagram could be addressed to any socket file that is in sight.
  void allow_local_sockets(int number) {
    const size_t jump = begin(number);
    load_argument(0);
    code_.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_UNIX, 1, 0));
    give(SECCOMP_RET_ERRNO | EPERM);
    load_argument(1);
    code_.push_back(BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xf));
    for (const uint32_t type : {SOCK_STREAM, SOCK_SEQPACKET}) {
      code_.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, type, 0, 1));
      give(SECCOMP_RET_ALLOW);
    }
    end(jump);
  }
  std::vector<sock_filter> finish() {
    give(SECCOMP_RET_ERRNO | ENOSYS);
    return std::move(code_);
  }

 private:
  void give(uint32_t action) { code_.push_back(BPF_STMT(BPF_RET | BPF_K, action)); }
  void load(uint32_t offset) { code_.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset)); }
  void load_argument(int i) {
    load(static_cast<uint32_t>(offsetof(seccomp_data, args) + 8 * static_cast<size_t>(i)));
  }
  void when(int number, uint32_t action) {
    code_.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(number), 0, 1));
    give(action);
  }
  size_t begin(int number) {
    code_.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(number), 0, 0));
    return code_.size() - 1;
  }
  void end(size_t jump) {
    give(SECCOMP_RET_ERRNO | EPERM);
    const size_t skipped = code_.size() - 1 - jump;
    QUERN_CHECK(skipped < 256);
    code_[jump].jf = static_cast<uint8_t>(skipped);
  }
  std::vector<sock_filter> code_;
};

}  // namespace

std::vector<sock_filter> system_call_program() {
  Program p;
  for (const int number : kAllowed) p.allow(number);
  p.allow_without(SYS_clone, 0, kNamespaceFlags);
  p.allow_values(SYS_ioctl, 1, {std::begin(kAllowedControls), std::end(kAllowedControls)});
  p.allow_values(SYS_prctl, 0, {std::begin(kAllowedProcessControls), std::end(kAllowedProcessControls)});
  p.allow_values(SYS_personality, 0, {0, 0xffffffff});
  p.allow_local_sockets(SYS_socket);
  p.allow_local_sockets(SYS_socketpair);
  for (const int number : kForbidden) p.refuse(number, EPERM);
  return p.finish();
}

void filter_system_calls() {
  if (kArchitecture == 0) fail("system call filter: this processor architecture is not supported");
  std::vector<sock_filter> code = system_call_program();
  const sock_fprog program{static_cast<unsigned short>(code.size()), code.data()};
  if (::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0) fail_errno("system call filter (seccomp)");
}

}  // namespace quern::sandbox
