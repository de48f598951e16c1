// Parquet in and out. In: the flat columns of a file as JSON lines, a row a line, so that everything behind reads one
// form: texts, integers, numbers and booleans, plain, by dictionary, in runs, as differences or with their bytes
// apart, pages of both versions, packed by snappy, gzip, LZ4, zstd or not at all. Columns that are nested, repeated,
// of 96 bits, of fixed length or decimal are left out and told. One page a column is in memory. Out: documents as
// rows of (id, source, text, members), packed by zstd.
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "quern/corpus/io/byte_stream.h"

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
