// Sequence packing by best-fit-decreasing: whole documents into rows of at most `width` tokens (Ding et al.,
// 2404.10830). Longest first, each into the fullest row that still has room, else into a new one. Rows are found by
// remaining room in a segment tree: O(N log width). No document is ever cut.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace quern::data {

struct RowPacking {
  std::vector<int64_t> documents;  // row after row; within a row longest first
  std::vector<int64_t> begin;      // [rows + 1] into documents
  int64_t tokens = 0, width = 0;

  int64_t rows() const { return static_cast<int64_t>(begin.size()) - 1; }
  std::span<const int64_t> row(int64_t r) const {
    const size_t b = static_cast<size_t>(begin[static_cast<size_t>(r)]);
    return {documents.data() + b, static_cast<size_t>(begin[static_cast<size_t>(r) + 1]) - b};
  }
  double fill_ratio() const;  // of the places there are, how many hold a token
  int64_t max_documents() const;
};

// Lengths 1 … width; documents of length 0 are left out. Throws Error naming the first that is longer.
RowPacking pack_best_fit(std::span<const int64_t> lengths, int64_t width);

}  // namespace quern::data
