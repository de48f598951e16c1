// zstd compression and decompression; the only file that includes zstd.h. A file may be several concatenated frames.
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

#include "quern/base/error.h"
#include "quern/corpus/bytes/byte_buffer.h"
#include "quern/corpus/bytes/byte_stream.h"

namespace quern::corpus {
namespace {

constexpr int kWindowLog = 27;

class ZstdReader : public ByteStream {
 public:
  ZstdReader(std::unique_ptr<ByteStream> packed, std::filesystem::path file)
      : packed_(std::move(packed)),
        file_(std::move(file)),
        stream_(ZSTD_createDStream()),
        buffer_(size_t{1} << 17),
        room_(size_t{1} << 17) {
    QUERN_CHECK(stream_ != nullptr);
    ZSTD_DCtx_setParameter(stream_, ZSTD_d_windowLogMax, kWindowLog);
  }
  ~ZstdReader() override { ZSTD_freeDStream(stream_); }
  ZstdReader(const ZstdReader&) = delete;
  ZstdReader& operator=(const ZstdReader&) = delete;

  std::optional<uint64_t> hash() const override { return packed_->hash(); }
  size_t read(char* to, size_t n) override {
    while (out_at_ == out_end_) {
      if (ended_ && between_) return 0;
      unpack();
    }
    n = std::min(n, out_end_ - out_at_);
    std::memcpy(to, room_.data() + out_at_, n);
    out_at_ += n;
    return n;
  }

 private:
  // Always into the same room: what the library writes before it finds damage hangs on that.
  void unpack() {
    if (in_.pos == have_ && !ended_) {
      have_ = packed_->read(buffer_.data(), buffer_.size());
      in_ = {buffer_.data(), 0, 0};
      ended_ = have_ == 0;
    }
    // A block a step: one that is damaged takes none of those before with it.
    in_.size = std::min(have_, in_.pos + std::max<size_t>(wanted_, 1));
    if (ended_ && between_) return;
    ZSTD_outBuffer out{room_.data(), room_.size(), 0};
    const size_t before = in_.pos;
    const size_t left = ZSTD_decompressStream(stream_, &out, &in_);
    if (ZSTD_isError(left)) fail("{}: damaged zstd data: {}", file_.string(), ZSTD_getErrorName(left));
    between_ = left == 0, wanted_ = left;
    out_at_ = 0, out_end_ = out.pos;
    if (ended_ && out.pos == 0 && in_.pos == before && !between_)
      fail("{} is cut short: it ends inside a zstd frame", file_.string());
  }
  std::unique_ptr<ByteStream> packed_;
  std::filesystem::path file_;
  ZSTD_DStream* stream_;
  std::vector<char> buffer_, room_;
  size_t out_at_ = 0, out_end_ = 0;
  ZSTD_inBuffer in_{nullptr, 0, 0};
  size_t have_ = 0, wanted_ = 0;  // bytes in the buffer; that the next step takes
  bool ended_ = false, between_ = true;
};

}  // namespace

std::unique_ptr<ByteStream> decompress_zstd(std::unique_ptr<ByteStream> packed, std::filesystem::path file) {
  return std::make_unique<ZstdReader>(std::move(packed), std::move(file));
}

struct ZstdWriter::State {
  std::filesystem::path file, part;
  std::FILE* out = nullptr;
  ZSTD_CCtx* c = nullptr;
  std::vector<char> buffer;
  uint64_t in = 0, written = 0;
  bool open_frame = false;

  void put(const void* data, size_t n) {
    if (std::fwrite(data, 1, n, out) != n) fail("cannot write {}: {}", part.string(), std::strerror(errno));
    written += n;
  }
  void feed(std::string_view bytes, ZSTD_EndDirective end) {
    ZSTD_inBuffer from{bytes.data(), bytes.size(), 0};
    while (true) {
      ZSTD_outBuffer to{buffer.data(), buffer.size(), 0};
      const size_t left = ZSTD_compressStream2(c, &to, &from, end);
      QUERN_CHECK(!ZSTD_isError(left), "{}", ZSTD_getErrorName(left));
      put(buffer.data(), to.pos);
      if (end == ZSTD_e_continue ? from.pos == from.size : left == 0) break;
    }
  }
  void end_frame() {
    if (open_frame) feed({}, ZSTD_e_end);
    open_frame = false;
  }
};

ZstdWriter::ZstdWriter(std::filesystem::path file, int level) : s_(std::make_unique<State>()) {
  s_->file = std::move(file);
  s_->part = s_->file;
  s_->part += fmt::format(".part{}", ::getpid());
  s_->out = std::fopen(s_->part.c_str(), "wb");
  if (!s_->out) fail("cannot write {}: {}", s_->part.string(), std::strerror(errno));
  s_->c = ZSTD_createCCtx();
  QUERN_CHECK(s_->c != nullptr);
  ZSTD_CCtx_setParameter(s_->c, ZSTD_c_compressionLevel, level);
  ZSTD_CCtx_setParameter(s_->c, ZSTD_c_checksumFlag, 1);
  s_->buffer.resize(ZSTD_CStreamOutSize());
}

ZstdWriter::~ZstdWriter() {
  ZSTD_freeCCtx(s_->c);
  if (s_->out) {
    std::fclose(s_->out);
    std::remove(s_->part.c_str());
  }
}

void ZstdWriter::write(std::string_view bytes) {
  if (bytes.empty()) return;
  s_->open_frame = true;
  s_->in += bytes.size();
  s_->feed(bytes, ZSTD_e_continue);
}

void ZstdWriter::write_frame(std::string_view packed, uint64_t unpacked) {
  s_->end_frame();
  s_->in += unpacked;
  s_->put(packed.data(), packed.size());
}

void ZstdWriter::close() {
  s_->end_frame();
  if (s_->written == 0) s_->feed({}, ZSTD_e_end);  // an empty file is one empty frame
  std::FILE* f = std::exchange(s_->out, nullptr);
  const bool ok = std::fflush(f) == 0 && ::fsync(::fileno(f)) == 0;
  if (std::fclose(f) != 0 || !ok || std::rename(s_->part.c_str(), s_->file.c_str()) != 0) {
    const int e = errno;
    std::remove(s_->part.c_str());
    fail("cannot write {}: {}", s_->file.string(), std::strerror(e));
  }
}

uint64_t ZstdWriter::bytes_in() const { return s_->in; }
uint64_t ZstdWriter::bytes_out() const { return s_->written; }

void zstd_frame(std::string_view bytes, int level, std::string& out) {
  struct Context {
    ZSTD_CCtx* c = ZSTD_createCCtx();
    ByteBuffer packed;
    ~Context() { ZSTD_freeCCtx(c); }
  };
  thread_local Context context;
  QUERN_CHECK(context.c != nullptr);
  ZSTD_CCtx_setParameter(context.c, ZSTD_c_compressionLevel, level);
  ZSTD_CCtx_setParameter(context.c, ZSTD_c_checksumFlag, 1);
  const size_t room = ZSTD_compressBound(bytes.size());
  context.packed.clear();
  char* to = context.packed.grow(room);
  const size_t n = ZSTD_compress2(context.c, to, room, bytes.data(), bytes.size());
  QUERN_CHECK(!ZSTD_isError(n), "{}", ZSTD_getErrorName(n));
  out.append(to, n);
}

}  // namespace quern::corpus
