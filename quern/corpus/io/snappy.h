// Snappy's raw format, unpacking only: a length, then literals and copies from what was unpacked before. Every field
// is checked; what does not fit is an Error. Cost: a copy a tag.
#pragma once
#include <string>
#include <string_view>

namespace quern::corpus {

// `most`: bytes the result may have.
void unpack_snappy(std::string_view packed, size_t most, std::string& out);

}  // namespace quern::corpus
