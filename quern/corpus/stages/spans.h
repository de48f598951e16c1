// Stretches of `window` words and more that stood before, anywhere, cut out of every document (arXiv 2107.06499's
// substrings): of equal stretches the first in the order of the inputs stays. What a suffix array finds by sorting
// all ends of the text is found here by sorting the 64-bit hashes of all windows of that many words, which lie in a
// file: 12 bytes a word on disk, one bit a word in memory, and the memory for sorting. Two readings of the inputs.
// Words are runs without white space, as they stand. Up to 2^32 words.
#pragma once
#include "quern/corpus/stages/repeats.h"

namespace quern::corpus {

struct SpanConfig {
  int window = 50;
  uint64_t memory = uint64_t{512} << 20;
  int level = 3;
  uint64_t shard_bytes = uint64_t{1} << 30;
};

// pieces: windows; repeated: those cut out.
RepeatReport drop_repeated_spans(const Inputs& inputs, const ScanOptions& o, const SpanConfig& c,
                                 const std::filesystem::path& out, const ScanProgress& progress = {});

}  // namespace quern::corpus
