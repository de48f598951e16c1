// Reading and writing JSON-RPC messages.
#include "quern/mcp/protocol/message.h"

namespace quern::mcp {
namespace {

[[noreturn]] void invalid(const std::string& what) { throw RpcError(RpcCode::invalid_request, what); }

bool good_id(const Json& id) { return id.is_string() || id.is_int(); }

RpcError read_error(const Json& e) {
  const Json *code = e.find("code"), *message = e.find("message"), *data = e.find("data");
  if (!code || !code->is_int() || !message || !message->is_string())
    invalid("error: expected an object with an integer code and a message");
  return {code->as_int(), message->as_string(), data ? *data : Json()};
}

Json frame() {
  Json j = Json::object();
  j.set("jsonrpc", "2.0");
  return j;
}

}  // namespace

Json parse_text(std::string_view text) {
  if (text.size() > kMaxMessageBytes)
    throw RpcError(RpcCode::parse_error, fmt::format("a message of more than {} bytes", kMaxMessageBytes));
  try {
    return Json::parse(text, "the message");
  } catch (const Error& e) {
    throw RpcError(RpcCode::parse_error, e.what());
  }
}

Json id_of(const Json& j) {
  const Json* id = j.find("id");
  return id && good_id(*id) ? *id : Json();
}

Message read_message(const Json& j) {
  if (!j.is_object()) invalid("expected a JSON-RPC 2.0 object");
  const Json *version = j.find("jsonrpc"), *id = j.find("id"), *method = j.find("method"), *params = j.find("params"),
             *result = j.find("result"), *error = j.find("error");
  if (!version || *version != Json("2.0")) invalid("jsonrpc: expected \"2.0\"");
  if (id && !good_id(*id) && !(id->is_null() && error)) invalid("id: expected a string or an integer");
  Message m;
  if (id) m.id = *id;
  if (method) {
    if (!method->is_string() || method->as_string().empty()) invalid("method: expected a name");
    if (result || error) invalid("expected a method, a result or an error, and only one of them");
    if (params && !params->is_object()) invalid("params: expected an object");
    m.kind = id ? Message::Kind::request : Message::Kind::notification;
    m.method = method->as_string();
    if (params) m.params = *params;
    return m;
  }
  if (!id || (result != nullptr) == (error != nullptr))
    invalid("expected a method, or an id with either a result or an error");
  m.kind = Message::Kind::response;
  if (error)
    m.error = read_error(*error);
  else if (result->is_object())
    m.result = *result;
  else
    invalid("result: expected an object");
  return m;
}

Json request_json(const Json& id, const std::string& method, Json params) {
  Json j = frame();
  j.set("id", id), j.set("method", method), j.set("params", std::move(params));
  return j;
}

Json notification_json(const std::string& method, Json params) {
  Json j = frame();
  j.set("method", method), j.set("params", std::move(params));
  return j;
}

Json result_json(const Json& id, Json result) {
  Json j = frame();
  j.set("id", id), j.set("result", std::move(result));
  return j;
}

Json error_json(const Json& id, const RpcError& e) {
  Json j = frame(), error = Json::object();
  error.set("code", e.code), error.set("message", e.what());
  if (!e.data.is_null()) error.set("data", e.data);
  j.set("id", id), j.set("error", std::move(error));
  return j;
}

}  // namespace quern::mcp
