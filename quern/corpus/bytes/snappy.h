// Decompresses Snappy's raw format with libsnappy. Damaged data is an Error; a size that is too large, or that the
// data cannot reach, is refused before memory is taken for it.
#pragma once
#include <string>
#include <string_view>

namespace quern::corpus {

// `most`: bytes the result may have.
void decompress_snappy(std::string_view packed, size_t maximum, std::string& out);

}  // namespace quern::corpus
