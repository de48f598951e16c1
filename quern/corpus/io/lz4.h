// LZ4 block decompression: literals and copies from earlier output. Every length is checked; a violation is an Error.
// Cost: one copy per sequence.
#pragma once
#include <string>
#include <string_view>

namespace quern::corpus {

// `size`: bytes the result has.
void decompress_lz4(std::string_view packed, size_t size, std::string& out);

// As Hadoop writes it: a size of text, then one block or several that make it up, each behind its packed size, and so
// on (sizes are big-endian, four bytes). A single block without sizes, as some others write, is taken too.
void decompress_lz4_sized(std::string_view packed, size_t size, std::string& out);

}  // namespace quern::corpus
