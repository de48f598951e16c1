// Raw deflate, for whoever asks how well bytes compress: each piece is flushed, so its size is known at once.
#pragma once
#include <cstdint>
#include <memory>
#include <span>

namespace quern::corpus {

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
