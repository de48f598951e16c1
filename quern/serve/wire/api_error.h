// Errors caused by the client's request, as API clients expect them: HTTP status, type, field and message.
#pragma once
#include <string>

#include "quern/base/error.h"
#include "quern/base/json.h"

namespace quern::serve {

struct ApiError : Error {
  int status = 400;
  std::string type = "invalid_request_error", code, param;
  double retry_seconds = 0;  // until the same request may be let in; 0: nothing is known of that
  explicit ApiError(const std::string& message) : Error(message) {}
  ApiError(int s, std::string t, std::string c, const std::string& message)
      : Error(message), status(s), type(std::move(t)), code(std::move(c)) {}
};

template <class... A>
[[noreturn]] void bad_field(const std::string& param, fmt::format_string<A...> f, A&&... a) {
  ApiError e(fmt::format("{}: {}", param, fmt::format(f, std::forward<A>(a)...)));
  e.param = param;
  throw e;
}

inline Json error_json(const ApiError& e) {
  Json j = Json::object(), body = Json::object();
  auto or_null = [](const std::string& s) { return s.empty() ? Json() : Json(s); };
  body.set("message", e.what()), body.set("type", e.type);
  body.set("param", or_null(e.param)), body.set("code", or_null(e.code));
  j.set("error", std::move(body));
  return j;
}

}  // namespace quern::serve
