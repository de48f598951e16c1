// A server that is a child process: messages are lines on its standard input and output. What it writes to standard error
// is kept, the last of it, to explain a failure.
#pragma once
#include <sys/types.h>

#include <atomic>
#include <mutex>
#include <string>
#include <thread>

#include "quern/mcp/client/config.h"
#include "quern/mcp/client/transport.h"

namespace quern::mcp {

class StdioTransport final : public Transport {
 public:
  StdioTransport(const ServerConfig& config, Receiver receiver);  // starts the process; throws ClientError
  ~StdioTransport() override;                                     // closes its input, then ends it and its children
  void start() override;
  void send(const Json& message, const Until& until, const std::function<bool()>& answered) override;
  bool open() const override { return !closed_; }

 private:
  void start_process();
  void read_all(const std::stop_token& stop);
  bool take_output(const std::stop_token& stop);  // false: it has ended
  void take_errors();
  void close(const std::string& why);
  [[noreturn]] void throw_closed();
  std::string last_words();
  void end_process();

  const ServerConfig& config_;
  Receiver receiver_;
  pid_t pid_ = -1;
  int input_ = -1, output_ = -1, errors_ = -1;
  std::mutex send_mutex_, errors_mutex_;
  std::string errors_text_, why_;  // why_: it is closed
  std::atomic<bool> closed_ = false;
  struct Output;
  std::unique_ptr<Output> out_;
  std::jthread reader_;  // last
};

}  // namespace quern::mcp
