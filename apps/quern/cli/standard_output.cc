#include "apps/quern/cli/standard_output.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace quern::cli {

OutputError::OutputError(int reason)
    : Error(reason == 0 ? "cannot write to standard output"
                        : fmt::format("cannot write to standard output: {}", std::strerror(reason))),
      reason_(reason) {}

bool OutputError::closed_pipe() const { return reason_ == EPIPE; }

void write_output(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    throw OutputError(errno);
}

void finish_output() {
  if (std::fflush(stdout) != 0) throw OutputError(errno);
  if (std::ferror(stdout) == 0) return;
  pollfd p{STDOUT_FILENO, POLLOUT, 0};
  const bool closed = ::poll(&p, 1, 0) > 0 && (p.revents & POLLERR) != 0;
  throw OutputError(closed ? EPIPE : 0);
}

}  // namespace quern::cli
