// Removes lines or paragraphs that occurred earlier anywhere in the corpus: a Bloom filter records what was seen, in
// the order of the inputs. A piece is compared by its words (text normalizer slimpajama); pieces shorter than
// `shortest` words are always kept. A document of which nothing is left is dropped. With unit `ngram`, a document is
// removed if at least `share` of its n-grams were seen earlier, as in DCLM's filter, and then adds nothing. Hashes are
// computed on all threads and looked up in order by one: the result does not depend on threads. Memory: the filter;
// its blocks are one cache line. Cost: one cache miss per piece or n-gram.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "quern/corpus/run/scan.h"

namespace quern::corpus {

// One cache line a key, eight bits in it, of a 64-bit hash. At `n` keys in `bits` the chance of a false answer is
// about that of an ordinary filter of 8 hashes, a little more.
class BlockedBloom {
 public:
  explicit BlockedBloom(uint64_t bytes);  // rounded down to cache lines
  bool insert(uint64_t hash);             // true: it was there, or so it looks
  bool holds(uint64_t hash) const;
  double false_positive_rate() const;  // as full as it is now
  uint64_t bytes() const { return words_.size() * 8; }

 private:
  std::vector<uint64_t> words_;
};

enum class RepeatUnit { line, paragraph, ngram };
RepeatUnit parse_repeat_unit(const std::string& s);

struct RepeatConfig {
  RepeatUnit unit = RepeatUnit::paragraph;
  int shortest = 5;    // words of a line or paragraph
  int n = 13;          // words of an n-gram
  double share = 0.8;  // of a document's n-grams
  uint64_t memory = uint64_t{256} << 20;
  int level = 3;
  uint64_t shard_bytes = uint64_t{1} << 30;
};
struct RepeatReport {
  ScanReport scan;
  uint64_t kept = 0, dropped = 0, changed = 0;       // documents
  uint64_t pieces = 0, repeated = 0, bytes_cut = 0;  // pieces or n-grams looked up, seen before; text that went
  double false_positive_rate = 0;                    // at the end
  std::vector<std::string> files;
  Json json() const;
};

// finish(report): the last thing before the run is forgotten.
RepeatReport drop_repeats(const Inputs& inputs, const ScanOptions& o, const RepeatConfig& c,
                          const std::filesystem::path& out, const ScanProgress& progress = {},
                          const std::function<void(const RepeatReport&)>& finish = {});

}  // namespace quern::corpus
