// gzip decompression and raw deflate. A file may be several concatenated gzip members, as Common Crawl's are.
#include "quern/corpus/bytes/deflate.h"

#include <zlib.h>

#include <algorithm>
#include <string>
#include <vector>

#include "quern/base/error.h"
#include "quern/corpus/bytes/byte_stream.h"
#include "quern/corpus/bytes/crc32.h"

namespace quern::corpus {
namespace {

class GzipReader : public ByteStream {
 public:
  GzipReader(std::unique_ptr<ByteStream> packed, std::filesystem::path file)
      : packed_(std::move(packed)), file_(std::move(file)), buffer_(size_t{1} << 17) {
    QUERN_CHECK(inflateInit2(&z_, 15 + 16) == Z_OK);
  }
  ~GzipReader() override { inflateEnd(&z_); }
  GzipReader(const GzipReader&) = delete;
  GzipReader& operator=(const GzipReader&) = delete;

  std::optional<uint64_t> hash() const override { return packed_->hash(); }
  size_t read(char* to, size_t n) override {
    if (!damage_.empty()) fail("{}: damaged gzip data: {}", file_.string(), damage_);
    n = std::min(n, size_t{1} << 30);
    z_.next_out = reinterpret_cast<Bytef*>(to);
    z_.avail_out = static_cast<uInt>(n);
    while (z_.avail_out == n) {
      if (z_.avail_in == 0 && !refill()) {
        if (between_) return 0;
        fail("{} is cut short: it ends inside a gzip member", file_.string());
      }
      if (between_) {  // another member, or padding behind the last
        if (skip_zeros()) continue;
        if (members_ > 0) inflateReset(&z_);
        between_ = false;
      }
      const int code = inflate(&z_, Z_NO_FLUSH);
      if (code == Z_STREAM_END) {
        between_ = true;
        ++members_;
      } else if (code != Z_OK && code != Z_BUF_ERROR) {
        damage_ = z_.msg ? z_.msg : "unknown";
        if (z_.avail_out < n) break;  // what came before it first
        fail("{}: damaged gzip data: {}", file_.string(), damage_);
      }
    }
    return n - z_.avail_out;
  }

 private:
  bool refill() {
    const size_t got = packed_->read(reinterpret_cast<char*>(buffer_.data()), buffer_.size());
    z_.next_in = buffer_.data();
    z_.avail_in = static_cast<uInt>(got);
    return got > 0;
  }
  bool skip_zeros() {
    while (members_ > 0 && z_.avail_in > 0 && *z_.next_in == 0) ++z_.next_in, --z_.avail_in;
    return z_.avail_in == 0;
  }

  std::unique_ptr<ByteStream> packed_;
  std::filesystem::path file_;
  std::vector<unsigned char> buffer_;
  z_stream z_{};
  bool between_ = true;
  std::string damage_;
  int64_t members_ = 0;
};

}  // namespace

std::unique_ptr<ByteStream> decompress_gzip(std::unique_ptr<ByteStream> packed, std::filesystem::path file) {
  return std::make_unique<GzipReader>(std::move(packed), std::move(file));
}

Unpacked inflate_some(std::string_view packed, size_t maximum, std::string& out) {
  constexpr size_t kPiece = size_t{64} << 10;
  constexpr int kGzipOrZlib = 15 + 32, kRaw = -15;
  const auto byte = [&](size_t i) { return i < packed.size() ? static_cast<unsigned char>(packed[i]) : 0; };
  const bool gzip = byte(0) == 0x1F && byte(1) == 0x8B;
  const bool zlib = (byte(0) & 0x0F) == 8 && (byte(0) << 8 | byte(1)) % 31 == 0;
  z_stream z{};
  QUERN_CHECK(inflateInit2(&z, gzip || zlib ? kGzipOrZlib : kRaw) == Z_OK);
  const std::unique_ptr<z_stream, int (*)(z_stream*)> end(&z, inflateEnd);
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  z.avail_in = static_cast<uInt>(packed.size());
  out.clear();
  while (true) {
    const size_t have = out.size(), room = std::min(kPiece, maximum - have);
    out.resize(have + room);
    z.next_out = reinterpret_cast<Bytef*>(out.data() + have);
    z.avail_out = static_cast<uInt>(room);
    const int code = inflate(&z, Z_NO_FLUSH);
    out.resize(have + room - z.avail_out);
    if (code == Z_STREAM_END) {
      if (z.avail_in < 2 || z.next_in[0] != 0x1F || z.next_in[1] != 0x8B) return Unpacked::whole;
      inflateReset(&z);
    } else if (code != Z_OK && code != Z_BUF_ERROR) {
      return Unpacked::damaged;
    } else if (out.size() == maximum) {
      return Unpacked::too_long;
    } else if (z.avail_in == 0 && z.avail_out > 0) {
      return Unpacked::cut;
    }
  }
}

struct Deflater::State {
  z_stream z = {};
  ~State() { deflateEnd(&z); }
};

Deflater::Deflater(int window_bits, int level) : state_(std::make_unique<State>()) {
  constexpr int kMemory = 8;
  QUERN_CHECK(deflateInit2(&state_->z, level, Z_DEFLATED, -window_bits, kMemory, Z_DEFAULT_STRATEGY) == Z_OK);
}

Deflater::~Deflater() = default;

int64_t Deflater::compressed(std::span<const unsigned char> bytes) {
  z_stream& z = state_->z;
  unsigned char out[4096];
  int64_t n = 0;
  z.next_in = const_cast<unsigned char*>(bytes.data()), z.avail_in = static_cast<uInt>(bytes.size());
  do {
    z.next_out = out, z.avail_out = sizeof out;
    deflate(&z, Z_SYNC_FLUSH);
    n += static_cast<int64_t>(sizeof out - z.avail_out);
  } while (z.avail_out == 0);
  return n;
}

uint32_t crc32_of(std::string_view bytes) {
  return static_cast<uint32_t>(::crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

}  // namespace quern::corpus
