// Addresses of mail and of machines.
//   e-mail  letters, digits and . _ % + - before the @ (no leading, trailing or double dot), then labels of letters,
//           digits and - separated by dots, the last of two letters or more
//   IPv4    four numbers of 0 to 255 without leading zeros, separated by dots, with neither a digit nor a dot and a
//           digit before or after (1.2.3.4.5 is a version)
//   IPv6    the written forms of RFC 4291, in the public range 2000::/3 without what RFC 6890 sets aside in it
#pragma once
#include <string_view>

namespace quern::corpus {

struct TextRange {
  size_t begin = 0, end = 0;
  bool empty() const { return end == begin; }
};

// Around s[at] == '@', beginning no earlier than `from`; empty when there is none.
TextRange email_at(std::string_view s, size_t at, size_t from);
// Beginning at s[at], a digit without one before it.
TextRange public_ipv4_at(std::string_view s, size_t at);
TextRange public_ipv6_at(std::string_view s, size_t at);

}  // namespace quern::corpus
