// Parquet reader and writer. Reading returns the flat columns of a file as JSON lines, one per row, so that later
// stages see one format: texts, integers, numbers and booleans; plain, dictionary, RLE, delta and byte-stream-split
// encodings; pages of both versions; uncompressed or compressed with snappy, gzip, LZ4 or zstd. Nested, repeated,
// 96-bit, fixed-length and decimal columns are skipped and reported. One page per column is in memory. Writing stores
// documents as rows of (id, source, text, members), compressed with zstd.
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "quern/corpus/bytes/byte_stream.h"

namespace quern::corpus {

std::unique_ptr<ByteStream> open_parquet(const std::filesystem::path& file);
std::vector<std::string> parquet_columns_left_out(const std::filesystem::path& file);

// Rows of one file; row groups of about `group_bytes` of text.
class ParquetWriter {
 public:
  ParquetWriter(std::filesystem::path file, int level, uint64_t group_bytes = uint64_t{64} << 20);
  ~ParquetWriter();  // unclosed: nothing stays
  ParquetWriter(const ParquetWriter&) = delete;
  ParquetWriter& operator=(const ParquetWriter&) = delete;
  // members: the other members of the document as one JSON object; empty: none.
  void add(uint64_t id, std::string_view source, std::string_view text, std::string_view members);
  void close();
  uint64_t text_bytes() const;

 private:
  struct State;
  std::unique_ptr<State> s_;
};

}  // namespace quern::corpus
