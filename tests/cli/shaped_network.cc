#include "tests/cli/shaped_network.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <queue>

#include "quern/base/error.h"
#include "quern/base/mmap.h"
#include "quern/base/stopwatch.h"

namespace quern {
namespace {

constexpr int kMtu = 9000;  // fewer packets to move
constexpr const char* kDevice = "quern0";

uint32_t address_of(int host) { return 0x0a4d0001u + static_cast<uint32_t>(host); }  // 10.77.0.1, …

// In the new namespaces: a tunnel device with an address, up. Its descriptor, or −1.
int open_tunnel(int host) {
  const int fd = ::open("/dev/net/tun", O_RDWR), s = ::socket(AF_INET, SOCK_DGRAM, 0);
  if (fd < 0 || s < 0) return -1;
  const auto set = [&](int what, ifreq& r) { return ::ioctl(s, static_cast<unsigned long>(what), &r) == 0; };
  ifreq r{};
  std::strcpy(r.ifr_name, kDevice);
  r.ifr_flags = IFF_TUN | IFF_NO_PI;
  bool good = ::ioctl(fd, TUNSETIFF, &r) == 0;
  auto* in = reinterpret_cast<sockaddr_in*>(&r.ifr_addr);
  const auto give = [&](int what, uint32_t value) {
    r.ifr_addr = {};
    in->sin_family = AF_INET, in->sin_addr.s_addr = htonl(value);
    good = good && set(what, r);
  };
  give(SIOCSIFADDR, address_of(host));
  give(SIOCSIFNETMASK, 0xffffff00u);
  r.ifr_mtu = kMtu;
  good = good && set(SIOCSIFMTU, r);
  for (const char* name : {kDevice, "lo"}) {
    std::strcpy(r.ifr_name, name);
    r.ifr_flags = IFF_UP | IFF_RUNNING;
    good = good && set(SIOCSIFFLAGS, r);
  }
  ::close(s);
  return good ? fd : -1;
}

void send_descriptor(int socket, int fd) {
  char byte = fd < 0 ? 'n' : 'y';
  iovec io{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr m{};
  m.msg_iov = &io, m.msg_iovlen = 1;
  if (fd >= 0) {
    m.msg_control = control, m.msg_controllen = sizeof control;
    cmsghdr* c = CMSG_FIRSTHDR(&m);
    c->cmsg_level = SOL_SOCKET, c->cmsg_type = SCM_RIGHTS, c->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(c), &fd, sizeof fd);
  }
  ::sendmsg(socket, &m, 0);
}

int receive_descriptor(int socket) {
  char byte = 0;
  iovec io{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr m{};
  m.msg_iov = &io, m.msg_iovlen = 1, m.msg_control = control, m.msg_controllen = sizeof control;
  int fd = -1;
  if (::recvmsg(socket, &m, 0) != 1 || byte != 'y') return -1;
  if (const cmsghdr* c = CMSG_FIRSTHDR(&m)) std::memcpy(&fd, CMSG_DATA(c), sizeof fd);
  return fd;
}

// A child: makes a host's namespaces, gives the tunnel away and stays until the other end of the socket is closed.
[[noreturn]] void be_host(int host, int socket) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  int fd = -1;
  if (::unshare(CLONE_NEWNET | CLONE_NEWUTS) == 0) {
    const std::string name = "host" + std::to_string(host + 1);
    if (::sethostname(name.c_str(), name.size()) == 0) fd = open_tunnel(host);
    if (const int f = ::open("/proc/sys/net/ipv4/tcp_slow_start_after_idle", O_WRONLY); f >= 0) {
      if (::write(f, "0", 1) != 1) fd = -1;
      ::close(f);
    }
  }
  send_descriptor(socket, fd);
  char end = 0;
  while (::read(socket, &end, 1) < 0 && errno == EINTR) {
  }
  ::_exit(0);
}

struct Packet {
  double due = 0;
  int to = 0;
  std::vector<char> bytes;
  bool operator<(const Packet& o) const { return due > o.due; }  // the earliest on top
};

}  // namespace

ShapedNetwork::ShapedNetwork(Shape shape) : shape_(shape) {
  for (int h = 0; h < shape.hosts; ++h)
    if (!start(h)) {
      refusal_ = "network namespaces with tunnel devices are not permitted here (they need root and /dev/net/tun)";
      return;
    }
  relay_ = std::thread([this] { relay(); });
}

ShapedNetwork::~ShapedNetwork() {
  stop_ = true;
  if (relay_.joinable()) relay_.join();
  for (const Host& h : hosts_) {
    ::close(h.life);
    if (h.tunnel >= 0) ::close(h.tunnel);
    ::waitpid(h.pid, nullptr, 0);
  }
}

bool ShapedNetwork::start(int host) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return false;
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::close(ends[0]);
    for (const Host& other : hosts_) ::close(other.life);  // or that host would outlive its owner's close
    be_host(host, ends[1]);
  }
  ::close(ends[1]);
  hosts_.push_back({pid, receive_descriptor(ends[0]), ends[0]});
  if (hosts_.back().tunnel < 0) return false;
  ::fcntl(hosts_.back().tunnel, F_SETFD, FD_CLOEXEC);
  ::fcntl(hosts_.back().tunnel, F_SETFL, O_NONBLOCK);
  return true;
}

std::string ShapedNetwork::address(int host) const { return fmt::format("10.77.0.{}", host + 1); }

std::string ShapedNetwork::on(int host) const {
  return fmt::format("nsenter --target {} --net --uts ", hosts_[static_cast<size_t>(host)].pid);
}

std::string ShapedNetwork::agent(const std::string& file) const {
  std::string script = "#!/bin/sh\naddress=$1\nshift\ncase $address in\n";
  for (int h = 0; h < shape_.hosts; ++h) script += fmt::format("  {}) exec {}sh -c \"$*\" ;;\n", address(h), on(h));
  write_file(file, script + "esac\necho \"no host $address\" >&2\nexit 1\n");
  ::chmod(file.c_str(), 0755);
  return file;
}

void ShapedNetwork::relay() {
  ::prctl(PR_SET_TIMERSLACK, 1UL);
  const sched_param first{1};  // or waiting ranks, which spin, would keep packets waiting too
  ::pthread_setschedparam(::pthread_self(), SCHED_FIFO, &first);
  std::priority_queue<Packet> under_way;
  std::vector<double> leaves(hosts_.size()), arrives(hosts_.size());  // when the port is free
  std::vector<pollfd> polled;
  for (const Host& h : hosts_) polled.push_back({h.tunnel, POLLIN, 0});
  std::array<char, 65536> buffer;
  while (!stop_) {
    double wait = 0.05;
    if (!under_way.empty()) wait = std::clamp(under_way.top().due - steady_seconds(), 0.0, wait);
    const timespec until{0, static_cast<long>(wait * 1e9)};
    ::ppoll(polled.data(), polled.size(), &until, nullptr);
    for (size_t h = 0; h < hosts_.size(); ++h)
      for (ssize_t n; (n = ::read(hosts_[h].tunnel, buffer.data(), buffer.size())) > 0;) {
        uint32_t to = 0;
        std::memcpy(&to, &buffer[16], 4);  // of the IPv4 header
        const int64_t target = static_cast<int64_t>(ntohl(to)) - address_of(0);
        if (n < 20 || (buffer[0] >> 4) != 4 || target < 0 || target >= static_cast<int64_t>(hosts_.size())) continue;
        const double length = static_cast<double>(n) / shape_.bytes_per_s;
        double& port = leaves[h];
        port = std::max(port, steady_seconds()) + length;
        double& there = arrives[static_cast<size_t>(target)];
        there = std::max(port + shape_.latency_s, there + length);
        under_way.push({there, static_cast<int>(target), {buffer.data(), buffer.data() + n}});
      }
    while (!under_way.empty() && under_way.top().due <= steady_seconds()) {
      const Packet& p = under_way.top();
      if (::write(hosts_[static_cast<size_t>(p.to)].tunnel, p.bytes.data(), p.bytes.size()) < 0 && errno != EAGAIN)
        break;
      under_way.pop();
    }
  }
}

}  // namespace quern
