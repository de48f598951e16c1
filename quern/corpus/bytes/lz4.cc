#include "quern/corpus/bytes/lz4.h"

#include <lz4.h>

#include <algorithm>
#include <cstdint>
#include <limits>

#include "quern/base/error.h"

namespace quern::corpus {
namespace {

constexpr size_t kMaxRatio = 255;  // no byte of a block stands for more
constexpr size_t kMaxInt = std::numeric_limits<int>::max();

// liblz4 takes an offset of 0, which the format forbids, and writes zeros for it. `in` is sound in all else.
bool has_zero_offset(std::string_view in) {
  size_t at = 0;
  const auto byte = [&] { return static_cast<size_t>(static_cast<unsigned char>(in[at++])); };
  const auto length = [&](size_t n) {  // fifteen: bytes follow, the last of them below 255
    for (size_t more = n == 15 ? 255 : 0; more == 255;) n += more = byte();
    return n;
  };
  while (true) {
    const size_t token = byte();
    at += length(token >> 4);
    if (at == in.size()) return false;  // the last sequence has no copy
    if ((byte() | byte()) == 0) return true;
    length(token & 15);
  }
}

// Appends the text of one block to `out`, at most `most` bytes. What is wrong with the block, or nothing.
std::string unpack_block(std::string_view in, size_t maximum, std::string& out) {
  if (in.empty()) return "";
  if (in.size() > kMaxInt) return fmt::format("a block of {} bytes", in.size());
  const size_t base = out.size(), room = std::min({maximum, in.size() * kMaxRatio, kMaxInt});
  out.resize(base + room);
  const int n =
      LZ4_decompress_safe(in.data(), out.data() + base, static_cast<int>(in.size()), static_cast<int>(room));
  out.resize(base + static_cast<size_t>(std::max(n, 0)));
  if (n >= 0) return has_zero_offset(in) ? "a copy from 0 bytes back" : "";
  return fmt::format("invalid at byte {} of {}, or more than {} bytes", -int64_t{n} - 1, in.size(), maximum);
}

std::string unpack_whole(std::string_view in, size_t size, std::string& out) {
  out.clear();
  std::string wrong = unpack_block(in, size, out);
  return !wrong.empty() || out.size() == size ? wrong : fmt::format("{} bytes, expected {}", out.size(), size);
}

uint32_t big_endian(std::string_view s, size_t at) {
  uint32_t v = 0;
  for (size_t i = 0; i < 4; ++i) v = v << 8 | static_cast<unsigned char>(s[at + i]);
  return v;
}

// Sizes of texts, each followed by the pieces it was packed in, each behind its packed size. False when the sizes do
// not lead from the beginning to the end and to as many bytes.
bool unpack_pieces(std::string_view in, size_t size, std::string& out) {
  out.clear();
  out.reserve(std::min(size, in.size() * kMaxRatio));
  const auto number = [&](size_t& n) {
    if (in.size() < 4) return false;
    n = big_endian(in, 0);
    in.remove_prefix(4);
    return true;
  };
  while (!in.empty()) {
    size_t text = 0, packed = 0;
    if (!number(text) || text > size - out.size()) return false;
    for (const size_t end = out.size() + text; out.size() < end;) {
      const size_t before = out.size();
      if (!number(packed) || packed > in.size() || !unpack_block(in.substr(0, packed), end - before, out).empty())
        return false;
      if (out.size() == before) return false;
      in.remove_prefix(packed);
    }
  }
  return out.size() == size;
}

}  // namespace

void decompress_lz4(std::string_view packed, size_t size, std::string& out) {
  if (const std::string wrong = unpack_whole(packed, size, out); !wrong.empty()) fail("damaged LZ4 data: {}", wrong);
}

void decompress_lz4_sized(std::string_view packed, size_t size, std::string& out) {
  if (size == 0) return out.clear();  // an empty page, however it is written
  if (unpack_pieces(packed, size, out)) return;
  if (const std::string wrong = unpack_whole(packed, size, out); !wrong.empty())
    fail("damaged LZ4 data: no sized blocks; read as one block: {}", wrong);
}

}  // namespace quern::corpus
