// Messages between the caller of a sandbox and the first process inside, over a stream socket: fixed-size reports to
// the caller, one command the other way. Inside, only the trusted first process holds the socket.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "quern/sandbox/sandbox.h"

namespace quern::sandbox {

struct Report {
  enum class Kind : int32_t { pid, ready, refused, not_started, ended };
  Kind kind = Kind::refused;
  int32_t value = 0;  // pid; wait status; errno of exec where not started for that
  End end = End::exit;
  int64_t cpu_us = 0, peak_memory = 0;
  char text[400] = {};
};

void send_report(int socket, const Report& report);
void send_failure(int socket, Report::Kind kind, const std::string& text, int32_t value = 0);
std::optional<Report> receive_report(int socket,
                                     int timeout_ms);  // nothing: the other side is gone, or silent so long

void send_command(int socket, const Command& command);  // the input is not sent: it goes through the pipe
std::optional<Command> receive_command(int socket);     // nothing: the caller is gone

// "mount /usr: Permission denied", from errno.
[[noreturn]] void fail_errno(const std::string& what);

}  // namespace quern::sandbox
