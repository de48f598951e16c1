// Snappy raw format decompression: a length, then literals and copies from earlier output. Every field is checked; a
// violation is an Error. Cost: one copy per tag.
#pragma once
#include <string>
#include <string_view>

namespace quern::corpus {

// `most`: bytes the result may have.
void decompress_snappy(std::string_view packed, size_t maximum, std::string& out);

}  // namespace quern::corpus
