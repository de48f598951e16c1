// Parquet metadata in Thrift's compact protocol: the footer that names columns, row groups and the positions of their
// chunks, and the header of every page. Reading checks every length against the available bytes. Only flat columns are
// written.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quern/corpus/io/parquet_time.h"

namespace quern::corpus::parquet {

enum class Type : int32_t { boolean, int32, int64, int96, float32, float64, bytes, fixed };
enum class Codec : int32_t { none, snappy, gzip, lzo, brotli, lz4, zstd, lz4_raw };
enum class Encoding : int32_t {
  plain = 0,
  plain_dictionary = 2,
  rle = 3,
  delta_numbers = 5,
  delta_lengths = 6,
  delta_texts = 7,
  rle_dictionary = 8,
  byte_split = 9
};
enum class PageType : int32_t { data, index, dictionary, data_v2 };
constexpr int32_t kNoConversion = -1, kUtf8 = 0, kMapGroup = 1, kMapKeyValue = 2, kListGroup = 3, kEnum = 4,
                  kDecimal = 5, kDate = 6, kTimeMillis = 7, kTimeMicros = 8, kTimestampMillis = 9,
                  kTimestampMicros = 10, kUint8 = 11, kUint32 = 13, kUint64 = 14, kJson = 19;

// A column, or what lies in a nested one.
struct ColumnSchema {
  std::string name;
  Type type = Type::bytes;
  int32_t converted = kNoConversion;
  bool optional = false, repeated = false;
  std::vector<ColumnSchema> children = {};  // of a group
  int def = 0, rep = 0;  // levels at which it is there: optional and repeated ones, and repeated ones, down to it
  size_t leaves = 1;     // chunks a row group has of it
  TimeForm time = {};    // of integers
  bool text = false;     // bytes that are said to be text
};
struct ChunkInfo {
  Type type = Type::bytes;
  Codec codec = Codec::none;
  int64_t values = 0, data_at = 0, dictionary_at = -1, packed = 0, unpacked = 0;
};
struct GroupInfo {
  int64_t rows = 0;
  std::vector<ChunkInfo> chunks;  // of every leaf, in order
};
struct FileInfo {
  std::vector<ColumnSchema> columns;  // of the top level
  std::vector<GroupInfo> groups;
  int64_t rows = 0;
};
struct PageInfo {
  PageType type = PageType::data;
  int64_t unpacked = 0, packed = 0, values = 0;
  int32_t encoding = 0, level_encoding = 3;
  int64_t level_bytes = 0, repetition_bytes = 0;  // of v2
  bool values_packed = true;
  std::optional<uint32_t> checksum = {};  // of the bytes behind the header
};

FileInfo read_footer(std::string_view file, const std::string& name);  // all of the file; throws Error naming it
// The page header at the beginning of `bytes`; `used` becomes its length.
PageInfo read_page_header(std::string_view bytes, size_t& used, const std::string& name);

std::string footer_bytes(const FileInfo& info);  // the footer alone, without length and magic
std::string page_header_bytes(const PageInfo& page);

}  // namespace quern::corpus::parquet
