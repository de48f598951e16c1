// CSV and TSV as JSON lines behind their places (csv_place), an object of strings a row (RFC 4180, and what Python's csv module writes): quoted cells hold
// separators, line ends and doubled quotes; the first row names the columns; \n, \r\n and \r end rows; a byte order mark is left
// out. A row that is none (another number of cells, a quote that nothing closes within `max_row` bytes) becomes a line
// that begins with kBadCsvRow and says why. After an unclosed quote, reading goes on with the next line of the file, so
// that one stray quote loses one row.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string_view>

#include "quern/corpus/bytes/byte_stream.h"

namespace quern::corpus {

constexpr char kBadCsvRow = '!';
constexpr char kFindSeparator =
    '\0';  // the one of , ; tab | that the first row has most of, outside of quotes; else ,

// What stands before every row but a blank one: the line of the file that it begins in, and the separator.
struct CsvPlace {
  uint64_t line = 0;  // 0: a blank row
  char separator = ',';
  size_t bytes = 0;  // of the place itself
};
CsvPlace csv_place(std::string_view row);

std::unique_ptr<ByteStream> csv_as_json(std::unique_ptr<ByteStream> csv, const std::filesystem::path& file,
                                        char separator, size_t max_row);

}  // namespace quern::corpus
