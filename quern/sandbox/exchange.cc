#include "quern/sandbox/exchange.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>

#include "quern/base/error.h"
#include "quern/sandbox/channel.h"

namespace quern::sandbox {

using Clock = std::chrono::steady_clock;

constexpr size_t kReadAtOnce = 65536;

Exchange::Exchange(RunDescriptors descriptors, const Limits& limits, const Command& command)
    : fds_(descriptors), limits_(limits), source_(command.input_descriptor), pending_(command.input) {
  for (const int fd : {fds_.input, fds_.output, fds_.errors}) ::fcntl(fd, F_SETFL, O_NONBLOCK);
  if (source_ >= 0) pending_ = {};
  if (source_ < 0 && pending_.empty()) close_input();
}

// After poll() said that it does not wait.
void Exchange::read_source() {
  read_.resize(kReadAtOnce);
  const ssize_t n = ::read(source_, read_.data(), read_.size());
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n < 0) fail_errno("sandbox: read the input of the command");
  pending_ = std::string_view(read_).substr(0, static_cast<size_t>(n));
  if (n == 0) close_input();
}

// The reader may be gone: SIGPIPE is held back from this thread, and a pending one is taken.
void Exchange::write_input() {
  sigset_t pipe, old;
  ::sigemptyset(&pipe);
  ::sigaddset(&pipe, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &pipe, &old);
  const ssize_t n = ::write(fds_.input, pending_.data(), pending_.size());
  const bool gone = n < 0 && errno != EAGAIN && errno != EINTR;
  const timespec now{};
  if (gone && !::sigismember(&old, SIGPIPE)) ::sigtimedwait(&pipe, nullptr, &now);
  ::pthread_sigmask(SIG_SETMASK, &old, nullptr);
  if (n > 0) pending_.remove_prefix(static_cast<size_t>(n));
  if (gone || (pending_.empty() && source_ < 0)) close_input();
}

void Exchange::close_input() {
  if (fds_.input >= 0) ::close(fds_.input);
  fds_.input = -1;
}

void Exchange::collect(int& fd, std::string& text) {
  char buffer[65536];
  const ssize_t n = ::read(fd, buffer, sizeof(buffer));
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) {
    fd = -1;
    return;
  }
  const size_t limit = static_cast<size_t>(limits_.output_mib) << 20;
  const size_t room = limit - std::min(limit, result_.out.size() + result_.err.size());
  text.append(buffer, std::min(room, static_cast<size_t>(n)));
  if (static_cast<size_t>(n) > room) stop(End::output);
}

void Exchange::stop(End why) {
  if (stopped_ || ended_) return;
  stopped_ = true;
  result_.end = why;
  const char word = 'k';
  ::send(fds_.control, &word, 1, MSG_NOSIGNAL);
}

void Exchange::receive_end() {
  const auto r = receive_report(fds_.control, 0);
  ended_ = true;
  if (!r || r->kind == Report::Kind::refused) {  // the kernel's memory shortage ends the first process as well
    if (!stopped_) result_.end = End::memory;
    result_.signal = SIGKILL;
    return;
  }
  if (r->kind == Report::Kind::not_started && r->value != 0)
    throw CommandError(fmt::format("sandbox: {}", r->text), r->value);
  if (r->kind == Report::Kind::not_started) fail("sandbox: {}", r->text);
  result_.cpu_s = static_cast<double>(r->cpu_us) / 1e6;
  result_.peak_memory = r->peak_memory;
  if (stopped_) {
    result_.signal = SIGKILL;
    return;
  }
  result_.end = r->end;
  if (r->end == End::exit)
    result_.status = WEXITSTATUS(r->value);
  else
    result_.signal = r->end == End::signal ? WTERMSIG(r->value) : SIGKILL;
}

void Exchange::collect_rest() {
  while (fds_.output >= 0 || fds_.errors >= 0) {
    pollfd p[2] = {{fds_.output, POLLIN, 0}, {fds_.errors, POLLIN, 0}};
    if (::poll(p, 2, 1000) == 0) return;
    const size_t limit = static_cast<size_t>(limits_.output_mib) << 20;
    if (p[0].revents != 0) collect(fds_.output, result_.out);
    if (p[1].revents != 0) collect(fds_.errors, result_.err);
    if (result_.out.size() + result_.err.size() >= limit) return;
  }
}

Result Exchange::finish() {
  const auto until = Clock::now() + std::chrono::duration<double>(limits_.seconds);
  auto give_up = Clock::time_point::max();
  while (!ended_) {
    const auto now = Clock::now();
    if (now >= give_up) {
      result_.signal = SIGKILL;
      break;
    }
    if (now >= until && !stopped_) stop(End::time);
    if (stopped_ && give_up == Clock::time_point::max()) give_up = now + std::chrono::seconds(5);
    const auto next = stopped_ ? give_up : until;
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(next - now);
    const bool wants = wants_more() && !stopped_;
    pollfd p[5] = {{fds_.control, POLLIN, 0},
                   {stopped_ ? -1 : fds_.output, POLLIN, 0},
                   {stopped_ ? -1 : fds_.errors, POLLIN, 0},
                   {fds_.input, static_cast<int16_t>(wants ? 0 : POLLOUT), 0},  // 0: tells when nobody reads any more
                   {wants ? source_ : -1, POLLIN, 0}};
    ::poll(p, 5, static_cast<int>(wait.count()));
    if (p[3].revents != 0 && pending_.empty())
      close_input();
    else if (p[3].revents != 0)
      write_input();
    if (p[4].revents != 0 && fds_.input >= 0) read_source();
    if (p[1].revents != 0) collect(fds_.output, result_.out);
    if (p[2].revents != 0) collect(fds_.errors, result_.err);
    if (p[0].revents != 0) receive_end();
  }
  if (!stopped_) collect_rest();
  return std::move(result_);
}

}  // namespace quern::sandbox
