// ASCII letters in lower case; all other bytes as they are.
#pragma once
#include <string>
#include <string_view>

namespace quern::text {

inline std::string ascii_lowercase(std::string_view s) {
  std::string out(s);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  return out;
}

}  // namespace quern::text
