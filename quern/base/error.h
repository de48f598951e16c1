// Two families of errors (after faiss): QUERN_CHECK is a bug of the program and aborts with location and values;
// quern::Error is a mistake of the user or the environment (file, config, request, disk) and is thrown. A message says
// what was expected, what was found, and which field or flag to change.
#pragma once
#include <fmt/format.h>

#include <stdexcept>
#include <string>

namespace quern {

class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

template <class... A>
[[noreturn]] void fail(fmt::format_string<A...> f, A&&... a) {
  throw Error(fmt::format(f, std::forward<A>(a)...));
}

[[noreturn]] void check_failed(const char* condition, const char* file, int line, const std::string& detail);

}  // namespace quern

#define QUERN_CHECK(cond, ...)                                                             \
  do {                                                                                     \
    if (!(cond)) [[unlikely]]                                                              \
      ::quern::check_failed(#cond, __FILE__, __LINE__, ::quern::detail_text(__VA_ARGS__)); \
  } while (0)

namespace quern {
inline std::string detail_text() { return {}; }
template <class... A>
std::string detail_text(fmt::format_string<A...> f, A&&... a) {
  return fmt::format(f, std::forward<A>(a)...);
}
}  // namespace quern
