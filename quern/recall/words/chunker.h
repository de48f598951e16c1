// Splits texts into chunks, the units of retrieval, as byte ranges. Every byte that is not white space lies in exactly
// one chunk, chunks ascend, and none begins or ends with white space; a chunk longer than max_words is split between
// words.
//   sentence  ends with . ! ? … (and closing quotes) before white space, or at a blank line; "Mr. X", "e.g. this" and
//             "J. S. Mill" stay whole
//   line      one per line                words  windows of max_words words
//   code      paragraphs of lines: a new one at an unindented line after a blank line, or at max_words
// Cost: linear.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace quern::recall {

enum class ChunkUnit { sentence, line, words, code };
struct ChunkOptions {
  ChunkUnit unit = ChunkUnit::sentence;
  int64_t max_words = 64;
};
struct Chunk {
  uint64_t begin, end;
  bool operator==(const Chunk&) const = default;
};

// Appends the chunks of text; `base` is added to their offsets.
void append_chunks(std::string_view text, const ChunkOptions& options, uint64_t base, std::vector<Chunk>& out);
std::vector<Chunk> chunk_text(std::string_view text, const ChunkOptions& options = {});
ChunkUnit chunk_unit(std::string_view name);  // throws Error
std::string_view name_of(ChunkUnit unit);

}  // namespace quern::recall
