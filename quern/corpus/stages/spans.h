// Exact-substring deduplication (arXiv 2107.06499): removes spans of at least `window` words that occurred earlier
// anywhere in the corpus; of equal spans the first in the order of the inputs is kept. Instead of a suffix array, the
// 64-bit hashes of all windows of that many words are sorted; they lie in a file: 12 bytes per word on disk, one bit
// per word in memory, and the memory for sorting. Two passes over the inputs. Words are runs without white space,
// unchanged. Up to 2^40 words.
#pragma once
#include "quern/corpus/stages/repeats.h"

namespace quern::corpus {

struct SpanConfig {
  int window = 50;
  uint64_t memory = uint64_t{512} << 20;
  int level = 3;
  uint64_t shard_bytes = uint64_t{1} << 30;
  uint64_t first_word = 0;  // number of the corpus's first word: tests count beyond 2^32 by it
};

// pieces: windows; repeated: those cut out.
RepeatReport drop_repeated_spans(const Inputs& inputs, const ScanOptions& o, const SpanConfig& c,
                                 const std::filesystem::path& out, const ScanProgress& progress = {},
                                 const std::function<void(const RepeatReport&)>& finish = {});

}  // namespace quern::corpus
