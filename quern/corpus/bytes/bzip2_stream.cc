// bzip2 decompression; the only file that includes bzlib.h. A file may be several concatenated streams, as pbzip2 writes.
#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "quern/base/error.h"
#include "quern/corpus/bytes/byte_stream.h"
#ifdef QUERN_BZIP2
#include <bzlib.h>
#endif

namespace quern::corpus {
#ifdef QUERN_BZIP2
namespace {

class Bzip2Reader : public ByteStream {
 public:
  Bzip2Reader(std::unique_ptr<ByteStream> packed, std::filesystem::path file)
      : packed_(std::move(packed)), file_(std::move(file)), buffer_(size_t{1} << 17), out_(size_t{1} << 17) {
    begin();
  }
  ~Bzip2Reader() override { BZ2_bzDecompressEnd(&z_); }
  Bzip2Reader(const Bzip2Reader&) = delete;
  Bzip2Reader& operator=(const Bzip2Reader&) = delete;

  std::optional<uint64_t> hash() const override { return packed_->hash(); }
  size_t read(char* to, size_t n) override {
    while (out_at_ == out_end_) {
      if (damaged_) fail("{}: damaged bzip2 data", file_.string());
      if (z_.avail_in == 0 && !full_ && !refill()) {
        if (between_) return 0;
        fail("{} is cut short: it ends inside a bzip2 stream", file_.string());
      }
      unpack();
    }
    n = std::min(n, out_end_ - out_at_);
    std::memcpy(to, out_.data() + out_at_, n);
    out_at_ += n;
    return n;
  }

 private:
  void begin() {
    bz_stream fresh{};
    fresh.next_in = z_.next_in, fresh.avail_in = z_.avail_in;
    z_ = fresh;
    QUERN_CHECK(BZ2_bzDecompressInit(&z_, 0, 0) == BZ_OK);
    between_ = false;
  }
  // Always into the same room: what the library writes before it finds damage hangs on that.
  void unpack() {
    if (between_) {  // another stream
      BZ2_bzDecompressEnd(&z_);
      begin();
    }
    z_.next_out = out_.data();
    z_.avail_out = static_cast<unsigned>(out_.size());
    const int code = BZ2_bzDecompress(&z_);
    between_ = code == BZ_STREAM_END;
    damaged_ = code != BZ_OK && !between_;
    out_at_ = 0, out_end_ = out_.size() - z_.avail_out;
    full_ = z_.avail_out == 0 && !between_;
  }
  bool refill() {
    const size_t got = packed_->read(buffer_.data(), buffer_.size());
    z_.next_in = buffer_.data();
    z_.avail_in = static_cast<unsigned>(got);
    return got > 0;
  }

  std::unique_ptr<ByteStream> packed_;
  std::filesystem::path file_;
  std::vector<char> buffer_, out_;
  size_t out_at_ = 0, out_end_ = 0;
  bz_stream z_{};
  bool between_ = true, damaged_ = false, full_ = false;  // full_: more may come out without more going in
};

}  // namespace

std::unique_ptr<ByteStream> decompress_bzip2(std::unique_ptr<ByteStream> packed, std::filesystem::path file) {
  return std::make_unique<Bzip2Reader>(std::move(packed), std::move(file));
}
#else
std::unique_ptr<ByteStream> decompress_bzip2(std::unique_ptr<ByteStream>, std::filesystem::path file) {
  fail("{} is compressed with bzip2, which this build of Quern cannot read: decompress it first with bunzip2",
       file.string());
}
#endif

}  // namespace quern::corpus
