// What a service manager reads from its socket, and that files are seen to change.
#include "quern/serve/run/service_manager.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "quern/serve/run/watched_files.h"

namespace quern::serve {
namespace {

class ManagerSocket {  // the other side
 public:
  explicit ManagerSocket(const std::string& name) : fd_(::socket(AF_UNIX, SOCK_DGRAM, 0)) {
    sockaddr_un a{};
    a.sun_family = AF_UNIX;
    name.copy(a.sun_path, name.size());
    if (name[0] == '@') a.sun_path[0] = '\0';
    EXPECT_EQ(::bind(fd_, reinterpret_cast<sockaddr*>(&a),
                     static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size())),
              0);
  }
  ~ManagerSocket() { ::close(fd_); }
  std::string next() const {
    pollfd p{.fd = fd_, .events = POLLIN, .revents = 0};
    char buffer[512];
    if (::poll(&p, 1, 5000) <= 0) return "nothing";
    return {buffer, static_cast<size_t>(::recv(fd_, buffer, sizeof buffer, 0))};
  }

 private:
  int fd_;
};

TEST(ServiceManager, SendsLinesToAbstractAndNamedSockets) {
  const std::string folder = testing::TempDir() + fmt::format("manager-{}", ::getpid());
  std::filesystem::create_directories(folder);
  for (const std::string& name : {folder + "/notify", fmt::format("@quern-test-{}", ::getpid())}) {
    const ManagerSocket other(name);
    const ServiceManager m(name, 30);
    EXPECT_EQ(m.watchdog_seconds(), 30);
    m.ready(), m.alive(), m.status("two\nlines"), m.reloading(), m.stopping();
    EXPECT_EQ(other.next(), "READY=1");
    EXPECT_EQ(other.next(), "WATCHDOG=1");
    EXPECT_EQ(other.next(), "STATUS=two lines");
    EXPECT_TRUE(other.next().starts_with("RELOADING=1\nMONOTONIC_USEC="));
    EXPECT_EQ(other.next(), "STOPPING=1");
  }
  std::filesystem::remove_all(folder);
}

TEST(ServiceManager, IsNotHeldUpByAManagerThatReadsNothing) {
  const std::string name = fmt::format("@quern-test-full-{}", ::getpid());
  const ManagerSocket other(name);
  const ServiceManager m(name, 0);
  ::alarm(60);  // instead of no end
  for (int i = 0; i < 40; ++i) m.alive();
  ::alarm(0);
  EXPECT_EQ(other.next(), "WATCHDOG=1");
}

TEST(ServiceManager, ReadsItsEnvironment) {
  ::setenv("NOTIFY_SOCKET", "@nobody-listens", 1), ::setenv("WATCHDOG_USEC", "60000000", 1);
  ::setenv("WATCHDOG_PID", fmt::format("{}", ::getpid()).c_str(), 1);
  EXPECT_EQ(ServiceManager().watchdog_seconds(), 60);
  ServiceManager().ready();  // no harm without a listener
  ::setenv("WATCHDOG_PID", "1", 1);
  EXPECT_EQ(ServiceManager().watchdog_seconds(), 0) << "meant for another process";
  ::unsetenv("NOTIFY_SOCKET"), ::unsetenv("WATCHDOG_PID");
  EXPECT_EQ(ServiceManager().watchdog_seconds(), 0) << "nobody to tell";
  ::unsetenv("WATCHDOG_USEC");
}

TEST(WatchedFiles, SeeWritingReplacingAndRemoving) {
  const std::filesystem::path file = testing::TempDir() + fmt::format("watched-{}", ::getpid());
  WatchedFiles w({file});
  EXPECT_FALSE(w.changed());
  std::ofstream(file) << "a";
  EXPECT_TRUE(w.changed());
  EXPECT_FALSE(w.changed());
  std::ofstream(file) << "ab";
  EXPECT_TRUE(w.changed());
  std::ofstream(file.string() + ".new") << "cd";
  std::filesystem::rename(file.string() + ".new", file);
  EXPECT_TRUE(w.changed());
  std::filesystem::remove(file);
  EXPECT_TRUE(w.changed());
}

}  // namespace
}  // namespace quern::serve
