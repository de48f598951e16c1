// Sequential bytes of an input file or of standard input: uncompressed, or decompressed from gzip, zstd, xz or bzip2
// (recognized by content, not by name), and the zstd writer. Decompression holds one window, however large the file expands; a zstd window above 128
// MiB is refused.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace quern::corpus {

class ByteStream {
 public:
  virtual ~ByteStream() = default;
  virtual size_t read(char* to, size_t n) = 0;  // 0 at the end; throws Error when the file is cut short or damaged
  // file_hash() of the file as it lies there, once read() has come to its end; nothing when nobody counted.
  virtual std::optional<uint64_t> hash() const { return std::nullopt; }
};

enum class FileHash { skip, compute };
std::unique_ptr<ByteStream> bytes_in_memory(std::string_view bytes);  // which must live as long
std::unique_ptr<ByteStream> open_bytes(const std::filesystem::path& file, FileHash hash = FileHash::skip);

// Standard input or a named pipe, which can be read once: what was read of it to see what it is comes first.
struct OpenPipe {
  int descriptor = -1;
  std::string begun;
  bool taken = false;                                              // by read_pipe
  OpenPipe(const std::filesystem::path& path, size_t look_ahead);  // "-": standard input
  ~OpenPipe();
  OpenPipe(const OpenPipe&) = delete;
  OpenPipe& operator=(const OpenPipe&) = delete;
};
std::unique_ptr<ByteStream> read_pipe(std::shared_ptr<OpenPipe> pipe, const std::filesystem::path& name,
                                      FileHash hash = FileHash::skip);
bool is_pipe(const std::filesystem::path& path);  // "-", or a file that is no regular one
// Of compressed bytes, as many as `begun` holds.
std::string unpacked_beginning(const std::string& begun);

// For open_bytes, one source file a format.
std::unique_ptr<ByteStream> decompress_gzip(std::unique_ptr<ByteStream> packed, std::filesystem::path file);
std::unique_ptr<ByteStream> decompress_bzip2(std::unique_ptr<ByteStream> packed, std::filesystem::path file);
std::unique_ptr<ByteStream> decompress_xz(std::unique_ptr<ByteStream> packed, std::filesystem::path file);
std::unique_ptr<ByteStream> decompress_zstd(std::unique_ptr<ByteStream> packed, std::filesystem::path file);

// Packs into FILE.part<pid> and renames when closed; an object that dies unclosed leaves nothing.
class ZstdWriter {
 public:
  ZstdWriter(std::filesystem::path file, int level);
  ~ZstdWriter();
  ZstdWriter(const ZstdWriter&) = delete;
  ZstdWriter& operator=(const ZstdWriter&) = delete;
  void write(std::string_view bytes);                            // bytes to be packed
  void write_frame(std::string_view packed, uint64_t unpacked);  // a whole frame that zstd_frame made
  void close();
  uint64_t bytes_in() const;
  uint64_t bytes_out() const;

 private:
  struct State;
  std::unique_ptr<State> s_;
};

// `bytes` as one frame of its own, appended to `out`: frames behind each other are one file, whoever packed them.
void zstd_frame(std::string_view bytes, int level, std::string& out);

}  // namespace quern::corpus
