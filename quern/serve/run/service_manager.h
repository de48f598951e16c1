// Messages to the service manager that started this process, as systemd's sd_notify protocol has them: lines in a datagram to
// the Unix socket that NOTIFY_SOCKET names. Without that variable every call does nothing.
#pragma once
#include <string>
#include <string_view>

namespace quern::serve {

class ServiceManager {
 public:
  ServiceManager();  // reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID
  ServiceManager(std::string socket, double watchdog_seconds);
  void ready() const { send("READY=1"); }
  void reloading() const;  // then ready() again
  void stopping() const { send("STOPPING=1"); }
  void status(std::string_view text) const;  // a line for `systemctl status`
  void alive() const { send("WATCHDOG=1"); }
  double watchdog_seconds() const { return watchdog_; }  // alive() is expected more often than this; 0: never

 private:
  void send(std::string_view message) const;
  std::string socket_;
  double watchdog_ = 0;
};

}  // namespace quern::serve
