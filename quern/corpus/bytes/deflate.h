// Deflate in memory: bodies of web pages, and how well bytes compress: each piece is flushed, so its size is known at
// once.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace quern::corpus {

enum class Unpacked { whole, cut, damaged, too_long };
// gzip (of any number of members), zlib or raw deflate, told by the first bytes, up to `maximum` bytes; `out` has what came
// before the end.
Unpacked inflate_some(std::string_view packed, size_t maximum, std::string& out);

class Deflater {
 public:
  Deflater(int window_bits, int level);
  ~Deflater();
  int64_t compressed(std::span<const unsigned char> bytes);  // bytes that come out, with the marks of the flush

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace quern::corpus
