// Sorting of records by keys that are spread evenly, as hashes are: in place into buckets of a few records each by the first
// bits of the key, one pass, then every bucket by itself. Keys that are not even are sorted too, only not faster.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

namespace quern::corpus {

// By key, then by document. `ranges`: the keys all lie in one of so many even ranges of the 2^64.
template <class Record>
void sort_even_keys(std::vector<Record>& r, uint64_t ranges = 1) {
  const auto before = [](const Record& a, const Record& b) {
    const uint64_t ka = a.key, kb = b.key;
    return ka != kb ? ka < kb : a.document < b.document;
  };
  constexpr size_t kInBucket = 16;
  constexpr int kMaxBits = 16;  // more buckets than fit a cache cost more than what is left to sort
  const int bits = std::min(kMaxBits, static_cast<int>(std::bit_width(r.size() / kInBucket)));
  if (bits < 2) {
    std::sort(r.begin(), r.end(), before);
    return;
  }
  const auto bucket = [&](const Record& x) { return static_cast<size_t>(x.key * ranges >> (64 - bits)); };
  const size_t buckets = size_t{1} << bits;
  std::vector<size_t> end(buckets), next(buckets);
  for (const Record& x : r) ++end[bucket(x)];
  for (size_t b = 0, sum = 0; b < buckets; ++b) {
    next[b] = sum;
    end[b] = sum += end[b];
  }
  for (size_t b = 0; b < buckets; ++b) {
    while (next[b] < end[b]) {
      Record x = r[next[b]];
      for (size_t home = bucket(x); home != b; home = bucket(x)) std::swap(x, r[next[home]++]);
      r[next[b]++] = x;
    }
    const auto first = r.begin() + static_cast<ptrdiff_t>(b == 0 ? 0 : end[b - 1]);
    std::sort(first, r.begin() + static_cast<ptrdiff_t>(end[b]), before);
  }
}

}  // namespace quern::corpus
