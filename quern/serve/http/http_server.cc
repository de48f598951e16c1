// An epoll loop around HttpParser, and a worker pool that grows with the load.
#include "quern/serve/http/http_server.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <thread>

#include "quern/base/error.h"
#include "quern/serve/http/listener.h"

namespace quern::serve {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kMaxParting = 256;
constexpr double kAtOnce = 0;  // the reading thread waits for no client that takes nothing
constexpr auto kNoDescriptor = std::chrono::milliseconds(10);  // pause where the process has no descriptor left

Clock::time_point in(double seconds) {
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

struct Connection {
  int fd;
  std::unique_ptr<Transport> bytes;
  uint32_t serial;  // numbers of descriptors are used again, this one is not
  HttpParser parser;
  Clock::time_point deadline;
  bool busy = false, begun = false, in_body = false;  // begun: bytes of a request have come
  bool parting = false;                               // answered for the last time; what still comes is not read
  std::atomic<bool> gone = false;

  void leave() {
    std::lock_guard lock(mutex_);
    if (!gone.exchange(true) && then_) std::exchange(then_, {})();
  }
  void when_gone(std::function<void()> then) {
    std::lock_guard lock(mutex_);
    if (gone && then) return then();
    then_ = std::move(then);
  }
  Connection(int f, uint32_t s, const HttpServerOptions& o)
      : fd(f), bytes(o.tls ? o.tls->accept(f) : plain_transport(f)), serial(s), parser(o.limits) {}
  ~Connection() {
    bytes.reset();
    ::close(fd);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

 private:
  std::mutex mutex_;
  std::function<void()> then_;
};
using Shared = std::shared_ptr<Connection>;

// All of it, or false. The socket does not block; a client that takes nothing for `seconds` is given up.
bool send_all(Connection& c, std::string_view data, double seconds) {
  while (!data.empty() && !c.gone) {
    const ssize_t n = c.bytes->write(data.data(), data.size());
    if (n > 0) {
      data.remove_prefix(static_cast<size_t>(n));
      continue;
    }
    if (n < 0 && errno == EINTR) continue;
    const bool later = n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
    pollfd p{.fd = c.fd, .events = c.bytes->write_waits_for(), .revents = 0};
    if (later && ::poll(&p, 1, static_cast<int>(seconds * 1000)) > 0) continue;
    c.leave();
  }
  return data.empty();
}

class OpenExchange final : public Exchange {
 public:
  OpenExchange(Shared c, HttpRequest r, const std::atomic<bool>& stopping, double write_seconds)
      : connection_(std::move(c)), request_(std::move(r)), stopping_(stopping), write_seconds_(write_seconds) {}
  const HttpRequest& request() const override { return request_; }
  void below(std::string_view prefix) override { request_.path.erase(0, prefix.size()); }
  bool gone() const override { return !delivered_ && (connection_->gone || stopping_); }
  void when_gone(std::function<void()> then) override { connection_->when_gone(std::move(then)); }
  void header(std::string name, std::string value) override {
    headers_.emplace_back(std::move(name), std::move(value));
  }
  void answer(int status, std::string_view content_type, std::string_view body) override {
    QUERN_CHECK(status_ == 0, "a second answer ({}) after {}", status, status_);
    status_ = status, ended_ = true;
    if (!content_type.empty()) headers_.emplace_back("content-type", content_type);
    std::string all = http_head(status, headers_, static_cast<int64_t>(body.size()), KeepAlive{request_.keep_alive});
    if (request_.method != "HEAD" && status != 204) all += body;
    delivered_ = send_all(*connection_, all, write_seconds_);
  }
  void begin(int status, std::string_view content_type) override {
    QUERN_CHECK(status_ == 0, "a second answer ({}) after {}", status, status_);
    status_ = status;
    headers_.emplace_back("content-type", content_type);
    send_all(*connection_, http_head(status, headers_, -1, KeepAlive{request_.keep_alive}), write_seconds_);
  }
  bool write(std::string_view data) override {
    if (data.empty()) return !gone();
    return send_all(*connection_, http_chunk(data), write_seconds_) && !connection_->gone;
  }
  void end() override {
    ended_ = true;
    delivered_ = send_all(*connection_, http_chunk({}), write_seconds_);
  }
  int status() const override { return status_; }
  bool reusable() const { return ended_ && request_.keep_alive && !connection_->gone; }

 private:
  Shared connection_;
  HttpRequest request_;
  const std::atomic<bool>& stopping_;
  double write_seconds_;
  HttpHeaders headers_;
  int status_ = 0;
  bool ended_ = false, delivered_ = false;  // delivered: all of it went to the socket
};

}  // namespace

struct HttpServer::Impl {
  HttpServerOptions o;
  Handler handler;
  Listener door;
  int listener = -1, poller = -1, notifier = -1;
  std::atomic<bool> stopping = false;
  std::atomic<Clock::rep> went_round = Clock::now().time_since_epoch().count();
  uint32_t serials = 0;
  std::map<int, Shared> connections;  // the reading thread's own
  int parting = 0;                    // of these

  std::mutex mutex;
  std::condition_variable work_came;
  std::deque<std::pair<Shared, HttpRequest>> work;
  std::deque<std::pair<Shared, bool>> finished;  // true: may carry another request
  std::vector<std::jthread> workers;
  int idle_workers = 0;
  bool no_more_work = false;

  Impl(HttpServerOptions options, Handler h)
      : o(std::move(options)),
        handler(std::move(h)),
        door(o.unix_path.empty() ? Listener::at_port(o.host, o.port) : Listener::at_path(o.unix_path)),
        listener(door.fd()) {
    poller = ::epoll_create1(EPOLL_CLOEXEC), notifier = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (poller < 0 || notifier < 0) fail("cannot create an epoll or event descriptor: {}", std::strerror(errno));
    watch(listener, 0, EPOLLIN, EPOLL_CTL_ADD), watch(notifier, 0, EPOLLIN, EPOLL_CTL_ADD);
  }
  ~Impl() {
    {
      std::lock_guard lock(mutex);
      no_more_work = true;
    }
    stopping = true;
    work_came.notify_all();
    workers.clear();  // joins
    connections.clear(), finished.clear();
    for (int fd : {poller, notifier}) ::close(fd);
  }

  void watch(int fd, uint32_t serial, uint32_t events, int how) const {
    epoll_event e{};
    e.events = events, e.data.u64 = uint64_t{serial} << 32 | static_cast<uint32_t>(fd);
    ::epoll_ctl(poller, how, fd, &e);
  }
  void notify() const {
    const uint64_t one = 1;
    [[maybe_unused]] ssize_t n = ::write(notifier, &one, sizeof one);
  }

  void accept_all() {
    for (;;) {
      const int fd = ::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (fd < 0) {  // without descriptors the connection stays in the queue, which is told again at once
        if (errno == EMFILE || errno == ENFILE) std::this_thread::sleep_for(kNoDescriptor);
        return;
      }
      const int on = 1;
      ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      Shared c;
      try {
        c = std::make_shared<Connection>(fd, ++serials, o);
      } catch (const std::exception&) {  // no memory
        ::close(fd);
        return;
      }
      const bool full = static_cast<int>(connections.size()) - parting >= o.connections;
      c->deadline = in(o.header_seconds);
      connections[fd] = c;
      watch(fd, c->serial, EPOLLIN | EPOLLRDHUP, EPOLL_CTL_ADD);
      if (!full) continue;
      if (!c->bytes->open()) {
        drop(c);
        continue;
      }
      send_all(*c, http_head(503, {{"retry-after", "5"}}, 0, KeepAlive::no), kAtOnce);
      part(c);
    }
  }

  // A socket that is closed with bytes unread resets the line, and the client may lose the answer before it has read
  // it. So our side ends first; what still comes is thrown away until the client's side ends too, or it takes too
  // long.
  void part(const Shared& c) {
    if (c->gone || parting >= kMaxParting) return drop(c);
    c->bytes->end();
    ::shutdown(c->fd, SHUT_WR);
    c->parting = true, c->busy = false, ++parting;
    c->deadline = in(o.parting_seconds);
    watch(c->fd, c->serial, EPOLLIN, EPOLL_CTL_MOD);
  }

  void drop(const Shared& c) {
    c->leave();
    parting -= c->parting;
    ::epoll_ctl(poller, EPOLL_CTL_DEL, c->fd, nullptr);
    connections.erase(c->fd);  // closed when the last worker lets go of it
  }

  void readable(const Shared& c) {
    char buffer[16 << 10];
    for (int round = 0; round < 64; ++round) {  // then others have their turn
      const ssize_t n = c->parting ? ::recv(c->fd, buffer, sizeof buffer, 0) : c->bytes->read(buffer, sizeof buffer);
      if (n == 0) return drop(c);
      if (n < 0) {
        if (errno == EINTR) continue;
        if (errno != EAGAIN && errno != EWOULDBLOCK) drop(c);
        return;
      }
      if (c->parting) continue;
      if (!c->begun) c->begun = true, c->deadline = in(o.header_seconds);
      c->parser.feed({buffer, static_cast<size_t>(n)});
      if (c->parser.in_body() && !c->in_body) c->in_body = true, c->deadline = in(o.body_seconds);
      if (proceed(c)) return;
    }
  }

  // true: nothing more is to be read from it now.
  bool proceed(const Shared& c) {
    if (c->parser.state() == HttpParser::State::bad) {
      const std::string body = fmt::format(
          "{{\"error\":{{\"message\":\"{}\",\"type\":\"invalid_request_error\"}}}}\n", c->parser.complaint());
      send_all(*c,
               http_head(c->parser.status(), {{"content-type", "application/json"}},
                         static_cast<int64_t>(body.size()), KeepAlive::no) +
                   body,
               kAtOnce);
      part(c);
      return true;
    }
    if (c->parser.wants_continue()) send_all(*c, "HTTP/1.1 100 Continue\r\n\r\n", kAtOnce);
    if (c->parser.state() != HttpParser::State::whole) return false;
    c->busy = true;
    watch(c->fd, c->serial, EPOLLRDHUP, EPOLL_CTL_MOD);
    hand_over(c);
    return true;
  }

  void hand_over(const Shared& c) {
    std::unique_lock lock(mutex);
    if (idle_workers <= static_cast<int>(work.size()) && static_cast<int>(workers.size()) < o.workers) try {
        workers.emplace_back([this] { serve(); });
      } catch (const std::exception&) {  // no room for one more: those that there are take it in turn
      }
    if (workers.empty() || static_cast<int>(work.size()) >= o.workers) {
      lock.unlock();
      c->parser.take();
      send_all(*c, http_head(503, {{"retry-after", "5"}}, 0, KeepAlive::no), kAtOnce);
      return part(c);
    }
    work.emplace_back(c, c->parser.take());
    lock.unlock();
    work_came.notify_one();
  }

  void serve() {
    for (;;) {
      std::unique_lock lock(mutex);
      ++idle_workers;
      work_came.wait(lock, [&] { return !work.empty() || no_more_work; });
      --idle_workers;
      if (work.empty()) return;
      auto [connection, request] = std::move(work.front());
      work.pop_front();
      lock.unlock();
      OpenExchange e(connection, std::move(request), stopping, o.write_seconds);
      try {
        handler(e);
        if (e.status() == 0) e.answer(404, "", "");
      } catch (const std::exception& x) {
        try {
          if (e.status() == 0) e.answer(500, "text/plain", fmt::format("{}\n", x.what()));
        } catch (const std::bad_alloc&) {
          connection->leave();
        }
      }
      lock.lock();
      finished.emplace_back(std::move(connection), e.reusable());
      lock.unlock();
      notify();
    }
  }

  void take_back() {
    std::deque<std::pair<Shared, bool>> back;
    {
      std::lock_guard lock(mutex);
      back.swap(finished);
    }
    for (auto& [c, again] : back) {
      if (!connections.contains(c->fd) || connections[c->fd] != c) continue;
      if (!again || c->gone || stopping) {
        stopping ? drop(c) : part(c);
        continue;
      }
      c->busy = c->in_body = false, c->begun = !c->parser.idle();
      c->deadline = in(c->begun ? o.header_seconds : o.idle_seconds);
      watch(c->fd, c->serial, EPOLLIN | EPOLLRDHUP, EPOLL_CTL_MOD);
      proceed(c);
    }
  }

  void sweep() {
    const auto now = Clock::now();
    std::vector<Shared> late;
    for (const auto& [fd, c] : connections)
      if (!c->busy && now > c->deadline) late.push_back(c);
    for (const Shared& c : late) {
      const bool answer = c->begun && !c->parting;
      if (answer) send_all(*c, http_head(408, {}, 0, KeepAlive::no), kAtOnce);
      answer ? part(c) : drop(c);
    }
  }

  void handle(uint64_t whose, uint32_t what) {
    const int fd = static_cast<int>(whose & 0xffffffffu);
    if (fd == listener) {
      accept_all();
    } else if (fd == notifier) {
      uint64_t count = 0;
      [[maybe_unused]] ssize_t got = ::read(notifier, &count, sizeof count);
      take_back();
    } else if (auto it = connections.find(fd); it != connections.end() && it->second->serial == whose >> 32) {
      const Shared c = it->second;
      if (c->busy) {
        c->leave();
        watch(fd, c->serial, 0, EPOLL_CTL_MOD);
        if ((what & (EPOLLHUP | EPOLLERR)) != 0) drop(c);  // these cannot be masked
      } else if ((what & EPOLLIN) != 0) {
        readable(c);
      } else {
        drop(c);
      }
    }
  }

  void run() {
    std::vector<epoll_event> events(256);
    auto next_sweep = in(0.25);
    while (!stopping) {
      went_round = Clock::now().time_since_epoch().count();
      const int n = ::epoll_wait(poller, events.data(), static_cast<int>(events.size()), 250);
      for (int i = 0; i < n; ++i) {
        const uint64_t whose = events[static_cast<size_t>(i)].data.u64;
        try {
          handle(whose, events[static_cast<size_t>(i)].events);
        } catch (const std::exception&) {  // no memory: this one is lost, also one no worker could be given, no other
          const auto it = connections.find(static_cast<int>(whose & 0xffffffffu));
          if (it != connections.end() && it->second->serial == whose >> 32) drop(Shared(it->second));
        }
      }
      if (Clock::now() > next_sweep) sweep(), next_sweep = in(0.25);
    }
    for (auto& [fd, c] : connections) c->leave();
  }
};

HttpServer::HttpServer(HttpServerOptions options, Handler handler)
    : impl_(std::make_unique<Impl>(std::move(options), std::move(handler))) {}
HttpServer::~HttpServer() = default;
int HttpServer::port() const { return impl_->door.port(); }
void HttpServer::run() { impl_->run(); }
double HttpServer::silent_seconds() const {
  return std::chrono::duration<double>(Clock::now().time_since_epoch() - Clock::duration(impl_->went_round)).count();
}
void HttpServer::stop() {
  impl_->stopping = true;
  impl_->notify();
}

}  // namespace quern::serve
