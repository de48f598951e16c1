// xz decompression; the only file that includes lzma.h. A file may be several concatenated streams.
#include <lzma.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "quern/base/error.h"
#include "quern/corpus/bytes/byte_stream.h"

namespace quern::corpus {
namespace {

constexpr uint64_t kMemory = uint64_t{512} << 20;  // a dictionary of -9 takes 65 MiB

const char* problem_of(lzma_ret code) {
  switch (code) {
    case LZMA_MEMLIMIT_ERROR:
      return "its dictionary is larger than 512 MiB";
    case LZMA_OPTIONS_ERROR:
      return "options that this version does not know";
    case LZMA_FORMAT_ERROR:
      return "not an xz stream";
    default:
      return "a checksum or a code is wrong";
  }
}

class XzReader : public ByteStream {
 public:
  XzReader(std::unique_ptr<ByteStream> packed, std::filesystem::path file)
      : packed_(std::move(packed)), file_(std::move(file)), buffer_(size_t{1} << 17), out_(size_t{1} << 17) {
    QUERN_CHECK(lzma_stream_decoder(&z_, kMemory, LZMA_CONCATENATED) == LZMA_OK);
  }
  ~XzReader() override { lzma_end(&z_); }
  XzReader(const XzReader&) = delete;
  XzReader& operator=(const XzReader&) = delete;

  std::optional<uint64_t> hash() const override { return packed_->hash(); }
  size_t read(char* to, size_t n) override {
    while (out_at_ == out_end_) {
      if (code_ == LZMA_STREAM_END) return 0;
      if (code_ == LZMA_BUF_ERROR) fail("{} is cut short: it ends inside an xz stream", file_.string());
      if (code_ != LZMA_OK) fail("{}: damaged xz data: {}", file_.string(), problem_of(code_));
      unpack();
    }
    n = std::min(n, out_end_ - out_at_);
    std::memcpy(to, out_.data() + out_at_, n);
    out_at_ += n;
    return n;
  }

 private:
  // Always into the same room: what the library writes before it finds damage hangs on that.
  void unpack() {
    z_.next_out = reinterpret_cast<uint8_t*>(out_.data());
    z_.avail_out = out_.size();
    if (z_.avail_in == 0 && !ended_) {
      z_.next_in = buffer_.data();
      z_.avail_in = packed_->read(reinterpret_cast<char*>(buffer_.data()), buffer_.size());
      ended_ = z_.avail_in == 0;
    }
    code_ = lzma_code(&z_, ended_ ? LZMA_FINISH : LZMA_RUN);
    out_at_ = 0, out_end_ = out_.size() - z_.avail_out;
  }
  std::unique_ptr<ByteStream> packed_;
  std::filesystem::path file_;
  std::vector<uint8_t> buffer_;
  lzma_stream z_ = LZMA_STREAM_INIT;
  lzma_ret code_ = LZMA_OK;
  std::vector<char> out_;
  size_t out_at_ = 0, out_end_ = 0;
  bool ended_ = false;
};

}  // namespace

std::unique_ptr<ByteStream> decompress_xz(std::unique_ptr<ByteStream> packed, std::filesystem::path file) {
  return std::make_unique<XzReader>(std::move(packed), std::move(file));
}

}  // namespace quern::corpus
