// A reading thread, which is the caller's, and workers that take requests from a bounded queue.
#include "quern/mcp/server/stdio_server.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <thread>
#include <vector>

#include "quern/mcp/protocol/line_reader.h"
#include "quern/mcp/protocol/versions.h"

namespace quern::mcp {
namespace {

constexpr size_t kWorkers = 4, kMaxQueued = 256;

class StdioServer final : public Outlet {
 public:
  StdioServer(const Server& server, int input, int output) : session_(server), input_(input), output_(output) {}

  void run() {
    std::signal(SIGPIPE, SIG_IGN);
    for (size_t i = 0; i < kWorkers; ++i) workers_.emplace_back([this] { work(); });
    read_all();
    finish();
  }

  void notify(const Json& message) override { write_line(message); }
  void keep_alive() override {}
  bool gone() const override { return closed_; }

 private:
  // Of one line: the messages of a batch share a response.
  struct Task {
    std::vector<Message> messages;
    std::vector<Json> answers;  // of members that were no messages
    bool batch = false;
  };

  void write_line(const Json& j) {
    const std::string text = j.dump() + "\n";
    std::lock_guard lock(output_mutex_);
    for (size_t at = 0; at < text.size() && !closed_;) {
      const ssize_t n = ::write(output_, text.data() + at, text.size() - at);
      if (n > 0)
        at += static_cast<size_t>(n);
      else if (n < 0 && errno != EINTR)
        closed_ = true;
    }
  }

  void read_all() {
    LineReader lines;
    std::string buffer(size_t{64} << 10, '\0');
    while (!closed_) {
      pollfd p[2] = {{.fd = input_, .events = POLLIN, .revents = 0}, {.fd = output_, .events = 0, .revents = 0}};
      if (::poll(p, 2, 1000) < 0 && errno != EINTR) return;
      if ((p[1].revents & (POLLERR | POLLNVAL)) != 0) closed_ = true;
      if (p[0].revents == 0) continue;
      const ssize_t n = ::read(input_, buffer.data(), buffer.size());
      if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      if (n <= 0) return;
      lines.feed({buffer.data(), static_cast<size_t>(n)});
      while (const auto line = lines.next()) take(*line);
    }
  }

  void take(const LineReader::Line& line) {
    if (line.too_long)
      return write_line(error_json(
          Json(), RpcError(RpcCode::parse_error, fmt::format("a message of more than {} bytes", kMaxMessageBytes))));
    if (line.text.find_first_not_of(" \t") == line.text.npos) return;
    Json j;
    try {
      j = parse_text(line.text);
    } catch (const RpcError& e) {
      return write_line(error_json(Json(), e));
    }
    Task task;
    task.batch = j.is_array() && session_.version() == kBatchVersion && !j.as_array().empty();
    if (!task.batch) {
      add(j, task);
    } else {
      for (const Json& one : j.as_array()) add(one, task);
    }
    if (!task.messages.empty() || !task.answers.empty()) submit(std::move(task));
  }

  // Notifications take effect at once, also while all workers are busy.
  void add(const Json& j, Task& task) {
    try {
      Message m = read_message(j);
      if (m.kind != Message::Kind::request)
        session_.handle(m, *this);
      else
        task.messages.push_back(std::move(m));
    } catch (const RpcError& e) {
      task.answers.push_back(error_json(id_of(j), e));
    }
  }

  void submit(Task task) {
    const bool quick = !task.batch && !task.messages.empty() &&
                       (task.messages[0].method == "ping" || task.messages[0].method == "initialize");
    if (quick || task.messages.empty()) return answer(task);
    std::unique_lock lock(mutex_);
    if (queue_.size() >= kMaxQueued) {
      lock.unlock();
      for (const Message& m : task.messages)
        write_line(
            error_json(m.id, RpcError(RpcCode::busy, fmt::format("{} requests are waiting; try again", kMaxQueued))));
      return;
    }
    queue_.push_back(std::move(task));
    lock.unlock();
    came_.notify_one();
  }

  void answer(Task& task) {
    for (const Message& m : task.messages)
      if (auto reply = session_.handle(m, *this)) task.answers.push_back(std::move(*reply));
    if (task.batch && !task.answers.empty()) return write_line(Json(Json::Array(task.answers)));
    for (const Json& a : task.answers) write_line(a);
  }

  void work() {
    for (;;) {
      std::unique_lock lock(mutex_);
      came_.wait(lock, [&] { return !queue_.empty() || ended_; });
      if (queue_.empty()) return;
      Task task = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      answer(task);
    }
  }

  // A client that has closed its input may still read; one that has closed its output cannot.
  void finish() {
    {
      std::lock_guard lock(mutex_);
      ended_ = true;
    }
    came_.notify_all();
    std::jthread watch([this](const std::stop_token& stop) {
      while (!stop.stop_requested() && !closed_) {
        pollfd p{.fd = output_, .events = 0, .revents = 0};
        if (::poll(&p, 1, 50) > 0 && (p.revents & (POLLERR | POLLNVAL)) != 0) closed_ = true;
      }
      if (closed_) session_.cancel_all();
    });
    workers_.clear();  // joins
  }

  Session session_;
  int input_, output_;
  std::atomic<bool> closed_ = false;
  std::mutex output_mutex_, mutex_;
  std::condition_variable came_;
  std::deque<Task> queue_;
  bool ended_ = false;
  std::vector<std::jthread> workers_;
};

}  // namespace

void serve_stdio(const Server& server, int input, int output) { StdioServer(server, input, output).run(); }

}  // namespace quern::mcp
