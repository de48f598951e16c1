#include "quern/corpus/lz4.h"

#include <algorithm>
#include <cstdint>

#include "quern/base/error.h"

namespace quern::corpus {
namespace {

constexpr size_t kLeastCopy = 4;

// Puts one block behind what is in `out`; copies reach no further back than the block's own beginning.
void unpack_block(std::string_view in, size_t size, std::string& out) {
  const size_t base = out.size();
  size_t at = 0;
  const auto byte = [&] {
    if (at >= in.size()) fail("damaged LZ4 data: it ends early");
    return static_cast<unsigned char>(in[at++]);
  };
  const auto length = [&](size_t n) {  // fifteen: bytes follow, the last of them below 255
    if (n != 15) return n;
    while (true) {
      const size_t more = byte();
      n += more;
      if (n > size + 15) fail("damaged LZ4 data: more than {} bytes", size);
      if (more != 255) return n;
    }
  };
  if (size == 0 && in.empty()) return;
  while (true) {
    const unsigned char token = byte();
    const size_t literals = length(token >> 4);
    if (literals > in.size() - at) fail("damaged LZ4 data: literals longer than the rest");
    if (literals > size - (out.size() - base)) fail("damaged LZ4 data: more than {} bytes", size);
    out.append(in, at, literals);
    at += literals;
    if (at == in.size()) break;  // the last sequence has no copy
    const size_t low = byte(), back = low | static_cast<size_t>(byte()) << 8;
    const size_t n = length(token & 15) + kLeastCopy, have = out.size() - base;
    if (back == 0 || back > have) fail("damaged LZ4 data: a copy from {} bytes back, of {}", back, have);
    if (n > size - have) fail("damaged LZ4 data: more than {} bytes", size);
    if (back >= n)
      out.append(out, out.size() - back, n);
    else
      for (size_t i = 0; i < n; ++i) out.push_back(out[out.size() - back]);
  }
  if (out.size() - base != size) fail("damaged LZ4 data: {} bytes, expected {}", out.size() - base, size);
}

uint32_t big_endian(std::string_view s, size_t at) {
  uint32_t v = 0;
  for (size_t i = 0; i < 4; ++i) v = v << 8 | static_cast<unsigned char>(s[at + i]);
  return v;
}

// Whether the sizes of blocks lead from the beginning to the end, and to as many bytes.
bool has_sizes(std::string_view in, size_t size) {
  uint64_t unpacked = 0;
  size_t at = 0;
  while (in.size() - at >= 8) {
    unpacked += big_endian(in, at);
    const uint64_t packed = big_endian(in, at + 4);
    at += 8;
    if (packed > in.size() - at) return false;
    at += packed;
  }
  return at == in.size() && unpacked == size;
}

}  // namespace

void unpack_lz4(std::string_view packed, size_t size, std::string& out) {
  out.clear();
  out.reserve(std::min(size, packed.size() * 255 + 16));
  unpack_block(packed, size, out);
}

void unpack_lz4_sized(std::string_view packed, size_t size, std::string& out) {
  if (!has_sizes(packed, size)) return unpack_lz4(packed, size, out);
  out.clear();
  out.reserve(std::min(size, packed.size() * 255 + 16));
  for (size_t at = 0; at < packed.size();) {
    const size_t unpacked = big_endian(packed, at), n = big_endian(packed, at + 4);
    unpack_block(packed.substr(at + 8, n), unpacked, out);
    at += 8 + n;
  }
}

}  // namespace quern::corpus
