// Decompresses LZ4 blocks with liblz4. Data that is damaged, or whose text is not `size` bytes long, is an Error; a
// size that the data cannot reach is refused before memory is taken for it.
#pragma once
#include <string>
#include <string_view>

namespace quern::corpus {

// One block. `size`: bytes of the text.
void decompress_lz4(std::string_view packed, size_t size, std::string& out);

// As Hadoop writes it: the size of a text, then one block or several that make it up, each behind its packed size,
// and so on (sizes are big-endian, four bytes). A single block without sizes, as some others write, is taken too.
void decompress_lz4_sized(std::string_view packed, size_t size, std::string& out);

}  // namespace quern::corpus
