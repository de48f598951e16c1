// JSON-RPC 2.0 as the Model Context Protocol uses it: requests, notifications and responses, read strictly and written.
// An id is a string or an integer; params and results are objects.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "quern/base/error.h"
#include "quern/base/json.h"

namespace quern::mcp {

constexpr size_t kMaxMessageBytes = size_t{16} << 20;

enum class RpcCode : int64_t {
  parse_error = -32700,
  invalid_request = -32600,
  method_not_found = -32601,
  invalid_params = -32602,
  internal_error = -32603,
  busy = -32000,
  resource_not_found = -32002,
  header_mismatch = -32020,
  unsupported_version = -32022,
};

// An error that the other side is told, or has told, in a response.
class RpcError : public Error {
 public:
  RpcError(RpcCode c, const std::string& message, Json more = {})
      : RpcError(static_cast<int64_t>(c), message, std::move(more)) {}
  RpcError(int64_t c, const std::string& message, Json more = {}) : Error(message), code(c), data(std::move(more)) {}
  bool is(RpcCode c) const { return code == static_cast<int64_t>(c); }
  int64_t code;
  Json data;
};

struct Message {
  enum class Kind { request, notification, response };
  Kind kind = Kind::notification;
  Json id = {};                        // of requests and responses; null: the other side could not read ours
  std::string method = {};             // of requests and notifications
  Json params = Json::object();        // likewise
  Json result = {};                    // of a response that is no error
  std::optional<RpcError> error = {};  // of a response
};

// Throws RpcError: what it says goes back to the sender.
Json parse_text(std::string_view text);  // JSON of a line or a body
Message read_message(const Json& j);
Json id_of(const Json& j);  // of a message that may be malformed; null where it has none

Json request_json(const Json& id, const std::string& method, Json params);
Json notification_json(const std::string& method, Json params);
Json result_json(const Json& id, Json result);
Json error_json(const Json& id, const RpcError& e);

}  // namespace quern::mcp
