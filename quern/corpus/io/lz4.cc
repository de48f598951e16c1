#include "quern/corpus/io/lz4.h"

#include <algorithm>
#include <cstdint>

#include "quern/base/error.h"

namespace quern::corpus {
namespace {

constexpr size_t kMinCopy = 4;

// Puts one block behind what is in `out`, at most `most` bytes; copies reach no further back than the block's own
// beginning. What is wrong with it, or nothing.
std::string unpack_block(std::string_view in, size_t maximum, std::string& out) {
  const size_t base = out.size();
  size_t at = 0;
  bool early = false;
  const auto byte = [&]() -> size_t {
    if (at < in.size()) return static_cast<unsigned char>(in[at++]);
    early = true;
    return 0;
  };
  const auto length = [&](size_t n) {  // fifteen: bytes follow, the last of them below 255
    for (size_t more = n == 15 ? 255 : 0; more == 255 && n <= maximum + 15;) n += more = byte();
    return n;
  };
  if (in.empty()) return "";
  while (true) {
    const size_t token = byte(), literals = length(token >> 4);
    if (early) return "it ends early";
    if (literals > in.size() - at) return "literals longer than the rest";
    if (literals > maximum - (out.size() - base)) return fmt::format("more than {} bytes", maximum);
    out.append(in, at, literals);
    at += literals;
    if (at == in.size()) return "";  // the last sequence has no copy
    const size_t low = byte(), back = low | byte() << 8;
    const size_t n = length(token & 15) + kMinCopy, have = out.size() - base;
    if (early) return "it ends early";
    if (back == 0 || back > have) return fmt::format("a copy from {} bytes back, of {}", back, have);
    if (n > maximum - have) return fmt::format("more than {} bytes", maximum);
    if (back >= n)
      out.append(out, out.size() - back, n);
    else
      for (size_t i = 0; i < n; ++i) out.push_back(out[out.size() - back]);
  }
}

std::string unpack_whole(std::string_view in, size_t size, std::string& out) {
  out.clear();
  out.reserve(std::min(size, in.size() * 255 + 16));
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
  out.reserve(std::min(size, in.size() * 255 + 16));
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
    fail("damaged LZ4 data: no pieces behind their sizes; as one block {}", wrong);
}

}  // namespace quern::corpus
