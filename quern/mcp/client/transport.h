// How messages reach an MCP server and come back. What comes is handed to the receiver, on any thread.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "quern/base/json.h"
#include "quern/mcp/client/client_error.h"

namespace quern::mcp {

struct Receiver {
  std::function<void(const std::string& text)> message;     // JSON of one message, not yet read
  std::function<void(const std::string& why)> closed = {};  // nothing more comes
};

class Transport {
 public:
  virtual ~Transport() = default;
  virtual void start() {}  // from now on the receiver is called
  // Over HTTP it returns when the server has answered; `answered` says that what was asked has come. Throws ClientError.
  virtual void send(const Json& message, const Until& until, const std::function<bool()>& answered) = 0;
  virtual void set_version(const std::string& /*version*/) {}
  virtual bool open() const = 0;
};

}  // namespace quern::mcp
