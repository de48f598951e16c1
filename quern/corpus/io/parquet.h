// Parquet reader and writer. Reading returns a file as JSON lines, one per row, so that later stages see one format:
// texts, integers, numbers and booleans, alone or in groups, lists and maps; plain, dictionary, RLE, delta and
// byte-stream-split encodings; pages of both versions; uncompressed or compressed with snappy, gzip, LZ4 or zstd. Columns
// with 96-bit, fixed-length or decimal values are skipped and reported. One page per column is in memory. Writing stores
// documents as ParquetRow, compressed with zstd.
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "quern/corpus/bytes/byte_stream.h"

namespace quern::corpus {

// A row that lies in a damaged part of the file is a line that begins with kDamagedParquetRow and says why; reading goes on with
// the next row group. Bytes that are not said to be text and are not UTF-8 become {"base64": "…"}.
constexpr char kDamagedParquetRow = '!';
// A row whose lists make it longer than `max_row` bytes is a line that is cut, and longer than that all the same.
std::unique_ptr<ByteStream> open_parquet(const std::filesystem::path& file, uint64_t max_row = uint64_t{64} << 20);
std::vector<std::string> parquet_columns_left_out(const std::filesystem::path& file);

// Columns of a document. An empty one is null, but for source and text.
struct ParquetRow {
  std::string_view id, source, url, date, language;
  std::optional<double> language_score;
  std::string_view text, members;  // members: all of the document but its text, as one JSON object
};

// Rows of one file; row groups of about `group_bytes` of text.
class ParquetWriter {
 public:
  ParquetWriter(std::filesystem::path file, int level, uint64_t group_bytes = uint64_t{64} << 20);
  ~ParquetWriter();  // unclosed: nothing stays
  ParquetWriter(const ParquetWriter&) = delete;
  ParquetWriter& operator=(const ParquetWriter&) = delete;
  void add(const ParquetRow& row);
  void close();
  uint64_t text_bytes() const;

 private:
  struct State;
  std::unique_ptr<State> s_;
};

}  // namespace quern::corpus
