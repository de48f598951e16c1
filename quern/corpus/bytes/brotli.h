// Decompresses a Brotli stream (RFC 7932) with libbrotlidec. Damaged data is an Error, and so is a result of more than
// `maximum` bytes; memory grows with what is really there.
#pragma once
#include <string>
#include <string_view>

#include "quern/corpus/bytes/deflate.h"

namespace quern::corpus {

void decompress_brotli(std::string_view packed, size_t maximum, std::string& out);

// The same for bytes of the web, of which what came before the end is still good.
Unpacked decompress_some_brotli(std::string_view packed, size_t maximum, std::string& out);

}  // namespace quern::corpus
