// Sorting of records by keys that are spread evenly, as hashes are: in place into 256 buckets by the first eight bits of the
// key, each of these by the next eight, until a few records are left to compare. Keys that are not even are sorted too, only
// not faster. (More buckets at once are slower: what is written to must stay in the nearest cache.)
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace quern::corpus {

template <class Record>
class EvenKeySort {
 public:
  explicit EvenKeySort(uint64_t ranges) : ranges_(ranges) {}

  void operator()(std::span<Record> r, int digit = 0) const {
    constexpr size_t kFew = 256;
    if (r.size() <= kFew || digit == 8) {
      std::sort(r.begin(), r.end(), [](const Record& a, const Record& b) {
        const uint64_t ka = a.key, kb = b.key;
        return ka != kb ? ka < kb : a.document < b.document;
      });
      return;
    }
    const auto bucket = [&](const Record& x) { return static_cast<uint8_t>(x.key * ranges_ >> (56 - 8 * digit)); };
    std::array<size_t, 256> end{}, next{};
    for (const Record& x : r) ++end[bucket(x)];
    for (size_t b = 0, sum = 0; b < 256; ++b) {
      next[b] = sum;
      end[b] = sum += end[b];
    }
    for (size_t b = 0; b < 256; ++b) {
      while (next[b] < end[b]) {
        Record x = r[next[b]];
        for (size_t home = bucket(x); home != b; home = bucket(x)) std::swap(x, r[next[home]++]);
        r[next[b]++] = x;
      }
    }
    for (size_t b = 0, begin = 0; b < 256; begin = end[b++]) (*this)(r.subspan(begin, end[b] - begin), digit + 1);
  }

 private:
  uint64_t ranges_;
};

// By key, then by document. `ranges`: the keys all lie in one of so many even ranges of the 2^64.
template <class Record>
void sort_even_keys(std::vector<Record>& r, uint64_t ranges = 1) {
  EvenKeySort<Record> sort(ranges);
  sort(r);
}

}  // namespace quern::corpus
