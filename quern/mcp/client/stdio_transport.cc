// Starting, reading and ending a server process.
#include "quern/mcp/client/stdio_transport.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>

#include "quern/mcp/protocol/line_reader.h"

namespace quern::mcp {
namespace {

constexpr size_t kMaxErrors = 2048;     // bytes of standard error that are kept
constexpr int kMaxForeignLines = 1000;  // that are no messages, before the server is given up

[[noreturn]] void cannot_start(const ServerConfig& c, int fault) {
  throw ClientError(ClientError::Kind::unreachable,
                    fmt::format("cannot start {}: {}", c.without_secrets(c.command), std::strerror(fault)));
}

// Texts for exec: pointers into strings that outlive it.
std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> p;
  for (std::string& t : texts) p.push_back(t.data());
  p.push_back(nullptr);
  return p;
}

std::vector<std::string> environment_of(const ServerConfig& c) {
  std::vector<std::string> all;
  for (const char* name : kPassedOn) {
    const bool own = std::any_of(c.env.begin(), c.env.end(), [&](const auto& e) { return e.first == name; });
    if (const auto value = process_environment(name); value && !own)
      all.push_back(fmt::format("{}={}", name, *value));
  }
  for (const auto& [name, value] : c.env) all.push_back(name + "=" + value);
  return all;
}

// Its own process group, default signals, the three pipes.
class Spawn {
 public:
  Spawn() {
    ::posix_spawn_file_actions_init(&actions_), ::posix_spawnattr_init(&attributes_);
    sigset_t none, every;
    ::sigemptyset(&none), ::sigfillset(&every);
    ::posix_spawnattr_setsigmask(&attributes_, &none), ::posix_spawnattr_setsigdefault(&attributes_, &every);
    ::posix_spawnattr_setpgroup(&attributes_, 0);
    ::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  }
  ~Spawn() { ::posix_spawn_file_actions_destroy(&actions_), ::posix_spawnattr_destroy(&attributes_); }
  Spawn(const Spawn&) = delete;
  Spawn& operator=(const Spawn&) = delete;

  int run(const ServerConfig& c, const std::array<int, 3>& ends, pid_t& pid) {
    for (int i = 0; i < 3; ++i) ::posix_spawn_file_actions_adddup2(&actions_, ends[static_cast<size_t>(i)], i);
    if (!c.cwd.empty()) ::posix_spawn_file_actions_addchdir_np(&actions_, c.cwd.c_str());
    std::vector<std::string> words = {c.command}, variables = environment_of(c);
    words.insert(words.end(), c.args.begin(), c.args.end());
    return ::posix_spawnp(&pid, c.command.c_str(), &actions_, &attributes_, pointers(words).data(),
                          pointers(variables).data());
  }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

// While there is one, a write to a pipe without a reader is an error of the write and no signal.
class NoPipeSignal {
 public:
  NoPipeSignal() {
    ::sigemptyset(&pipe_), ::sigaddset(&pipe_, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~NoPipeSignal() {
    const timespec now{};
    if (::sigismember(&before_, SIGPIPE) == 0) ::sigtimedwait(&pipe_, nullptr, &now);
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoPipeSignal(const NoPipeSignal&) = delete;
  NoPipeSignal& operator=(const NoPipeSignal&) = delete;

 private:
  sigset_t pipe_, before_;
};

void close_all(std::initializer_list<int> descriptors) {
  for (const int fd : descriptors)
    if (fd >= 0) ::close(fd);
}

}  // namespace

struct StdioTransport::Output {
  LineReader lines;
  int foreign = 0;
};

StdioTransport::StdioTransport(const ServerConfig& config, Receiver receiver)
    : config_(config), receiver_(std::move(receiver)), out_(std::make_unique<Output>()) {
  start_process();
}

void StdioTransport::start() {
  reader_ = std::jthread([this](const std::stop_token& stop) { read_all(stop); });
}

void StdioTransport::start_process() {
  int in[2] = {-1, -1}, out[2] = {-1, -1}, err[2] = {-1, -1};
  if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0 || ::pipe2(err, O_CLOEXEC) != 0) {
    const int fault = errno;
    close_all({in[0], in[1], out[0], out[1], err[0], err[1]});
    cannot_start(config_, fault);
  }
  const int fault = Spawn().run(config_, {in[0], out[1], err[1]}, pid_);
  close_all({in[0], out[1], err[1]});
  input_ = in[1], output_ = out[0], errors_ = err[0];
  if (fault != 0) {
    close_all({input_, output_, errors_});
    cannot_start(config_, fault);
  }
  for (const int fd : {input_, output_, errors_}) ::fcntl(fd, F_SETFL, O_NONBLOCK);
}

StdioTransport::~StdioTransport() {
  closed_ = true;
  reader_.request_stop();
  if (reader_.joinable()) reader_.join();
  close_all({std::exchange(input_, -1)});  // a server ends when its input does
  end_process();
  close_all({output_, errors_});
}

void StdioTransport::end_process() {
  auto ended = [&](int tenths) {  // it stays a zombie, so that its number is nobody else's
    for (int i = 0; i <= tenths * 10; ++i) {
      siginfo_t info{};
      if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid != 0)
        return true;
      ::usleep(10'000);
    }
    return false;
  };
  if (!ended(10)) {
    ::kill(-pid_, SIGTERM);
    if (!ended(10)) ::kill(pid_, SIGKILL);  // it may have left its group
  }
  ::kill(-pid_, SIGKILL);  // also what it started and left
  ::waitpid(pid_, nullptr, 0);
}

void StdioTransport::close(const std::string& why) {
  const std::string words = last_words();
  {
    std::lock_guard lock(errors_mutex_);
    if (closed_) return;
    why_ = words.empty() ? why : why + "; it wrote: " + words;
    closed_ = true;
  }
  if (receiver_.closed) receiver_.closed(why_);
}

void StdioTransport::throw_closed() {
  std::lock_guard lock(errors_mutex_);
  throw ClientError(ClientError::Kind::unreachable, why_);
}

std::string StdioTransport::last_words() {
  std::lock_guard lock(errors_mutex_);
  std::string text = errors_text_;
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return config_.without_secrets(text);
}

void StdioTransport::take_errors() {
  std::string buffer(4096, '\0');
  const ssize_t n = ::read(errors_, buffer.data(), buffer.size());
  if (n <= 0) return;
  std::lock_guard lock(errors_mutex_);
  errors_text_.append(buffer, 0, static_cast<size_t>(n));
  if (errors_text_.size() > kMaxErrors) errors_text_.erase(0, errors_text_.size() - kMaxErrors);
}

bool StdioTransport::take_output(const std::stop_token& stop) {
  std::string buffer(size_t{64} << 10, '\0');
  const ssize_t n = ::read(output_, buffer.data(), buffer.size());
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return true;
  if (n <= 0) {
    pollfd p{.fd = errors_, .events = POLLIN, .revents = 0};  // its last words are on their way
    for (int i = 0; i < 20 && ::poll(&p, 1, 20) > 0 && (p.revents & POLLIN) != 0; ++i) take_errors();
    return close("the server has ended"), false;
  }
  out_->lines.feed({buffer.data(), static_cast<size_t>(n)});
  while (auto line = out_->lines.next()) {
    if (stop.stop_requested()) return false;
    if (line->too_long)
      return close(fmt::format("the server wrote a message of more than {} bytes", kMaxMessageBytes)), false;
    const size_t first = line->text.find_first_not_of(" \t");
    if (first == std::string::npos) continue;
    if (line->text[first] == '{' || line->text[first] == '[')
      receiver_.message(line->text);
    else if (++out_->foreign > kMaxForeignLines)  // a few are banners of programs that log to the wrong place
      return close(fmt::format("the server wrote {} lines that are not JSON-RPC", out_->foreign)), false;
  }
  return true;
}

void StdioTransport::read_all(const std::stop_token& stop) {
  bool errors_open = true;
  while (!stop.stop_requested()) {
    pollfd p[2] = {{.fd = output_, .events = POLLIN, .revents = 0},
                   {.fd = errors_open ? errors_ : -1, .events = POLLIN, .revents = 0}};
    if (::poll(p, 2, 50) <= 0) continue;
    if ((p[1].revents & POLLIN) != 0)
      take_errors();
    else if (p[1].revents != 0)
      errors_open = false;
    if (p[0].revents != 0 && !take_output(stop)) return;
  }
}

void StdioTransport::send(const Json& message, const Until& until, const std::function<bool()>&) {
  const std::string text = message.dump() + "\n";
  std::lock_guard lock(send_mutex_);
  const NoPipeSignal no_signal;
  for (size_t at = 0; at < text.size();) {
    if (closed_) throw_closed();
    const ssize_t n = ::write(input_, text.data() + at, text.size() - at);
    if (n > 0) {
      at += static_cast<size_t>(n);
    } else if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
      try {
        until.check();
      } catch (const ClientError&) {
        if (at > 0) close("the server does not read its input");  // half a line cannot be taken back
        throw;
      }
      pollfd p{.fd = input_, .events = POLLOUT, .revents = 0};
      ::poll(&p, 1, until.slice_ms());
    } else {
      for (int i = 0; i < 50 && !closed_; ++i) ::usleep(10'000);  // most often it has ended, which the reader finds
      close("the server has closed its input");
    }
  }
}

}  // namespace quern::mcp
