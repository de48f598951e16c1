// CSV and TSV as JSON lines, an object of strings a row (RFC 4180, and what Python's csv module writes): quoted cells hold
// separators, line ends and doubled quotes; the first row names the columns; \n, \r\n and \r end rows; a byte order mark is left
// out. A row that is none (another number of cells, a quote that nothing closes within `max_row` bytes) becomes a line
// that begins with kBadCsvRow and says why. After an unclosed quote, reading goes on with the next line of the file, so
// that one stray quote loses one row.
#pragma once
#include <cstddef>
#include <filesystem>
#include <memory>

#include "quern/corpus/bytes/byte_stream.h"

namespace quern::corpus {

constexpr char kBadCsvRow = '!';

std::unique_ptr<ByteStream> csv_as_json(std::unique_ptr<ByteStream> csv, const std::filesystem::path& file,
                                        char separator, size_t max_row);

}  // namespace quern::corpus
