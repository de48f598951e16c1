// MinHash sketch of one document: normalized tokens, one 64-bit hash per shingle (a window of k tokens), the
// signature's rows, and the hash that identifies exact duplicates. A SketchMaker reuses its buffers: no allocation
// once they have grown. Cost: see text_normalizer.h and minhash.h; the hashes take about 3 ns per token.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/base/config.h"
#include "quern/corpus/bytes/hashing.h"
#include "quern/corpus/sketch/bands.h"
#include "quern/corpus/sketch/permutations.h"
#include "quern/corpus/text/text_normalizer.h"

namespace quern::corpus {

enum class RowFamily { datasketch, murmur, one_permutation };

struct SketchConfig {
  TextNormalizer text_normalizer = TextNormalizer::zyda1;
  int shingle = 13;  // tokens: words, or code points of raw text
  RowFamily family = RowFamily::one_permutation;
  int rows = 128;
  uint32_t seed = 1;
  bool short_as_one = false;  // a text of fewer tokens is one shingle (raw), not none
  Json json() const;
};

const char* text_normalizer_name(TextNormalizer n);
const char* family_name(RowFamily f);

struct Sketch {
  std::span<const uint64_t> shingles;  // in order, repeats kept
  std::span<const uint32_t> rows;
  ContentHash content;  // of the joined tokens; of the text as it is when there are no shingles
};

class SketchMaker {
 public:
  explicit SketchMaker(const SketchConfig& config);
  const Sketch& make(std::string_view utf8);  // valid until the next call
  const Tokens& tokens() const { return tokens_; }
  // Without the rows: for comparing sets.
  std::span<const uint64_t> shingles(std::string_view utf8);

 private:
  void hash_shingles();
  void fill_rows();
  SketchConfig config_;
  Permutations permutations_;
  std::vector<uint32_t> seeds_, begin_, end_, low_, rows_;
  std::vector<uint64_t> shingles_, ring_;
  uint64_t oldest_factor_ = 0;
  Tokens tokens_;
  std::string scratch_;
  Sketch sketch_;
};

}  // namespace quern::corpus
