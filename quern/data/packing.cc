#include "quern/data/packing.h"

#include <algorithm>
#include <numeric>

#include "quern/base/error.h"

namespace quern::data {
namespace {

// Rows by what is left in them: lists per amount, and a tree that finds the smallest sufficient amount in use.
class Rooms {
 public:
  explicit Rooms(int64_t width) {
    while (leaves_ < width + 1) leaves_ *= 2;
    used_.assign(static_cast<size_t>(2 * leaves_), false);
    first_.assign(static_cast<size_t>(width + 1), -1);
  }
  void add(int64_t row, int64_t left) {
    if (static_cast<int64_t>(next_.size()) <= row) next_.resize(static_cast<size_t>(row) + 1, -1);
    next_[static_cast<size_t>(row)] = first_[static_cast<size_t>(left)];
    first_[static_cast<size_t>(left)] = row;
    set(left, true);
  }
  // Takes out a row with at least `need` left, as little more as possible; left tells how much. −1: there is none.
  int64_t take(int64_t need, int64_t& left) {
    left = at_least(need);
    if (left < 0) return -1;
    const int64_t row = first_[static_cast<size_t>(left)];
    first_[static_cast<size_t>(left)] = next_[static_cast<size_t>(row)];
    if (first_[static_cast<size_t>(left)] < 0) set(left, false);
    return row;
  }

 private:
  void set(int64_t leaf, bool used) {
    size_t at = static_cast<size_t>(leaves_ + leaf);
    used_[at] = used;
    while (at > 1) {
      at /= 2;
      used_[at] = used_[2 * at] || used_[2 * at + 1];
    }
  }
  int64_t at_least(int64_t leaf) const {
    size_t at = static_cast<size_t>(leaves_ + leaf);
    if (used_[at]) return leaf;
    for (; at > 1; at /= 2)
      if (at % 2 == 0 && used_[at + 1]) {
        ++at;
        while (at < static_cast<size_t>(leaves_)) at = used_[2 * at] ? 2 * at : 2 * at + 1;
        return static_cast<int64_t>(at) - leaves_;
      }
    return -1;
  }
  int64_t leaves_ = 1;
  std::vector<bool> used_;
  std::vector<int64_t> first_, next_;
};

}  // namespace

double RowPacking::fill_ratio() const {
  return rows() == 0 ? 0 : static_cast<double>(tokens) / (static_cast<double>(rows()) * static_cast<double>(width));
}

int64_t RowPacking::max_documents() const {
  int64_t most = 0;
  for (int64_t r = 0; r < rows(); ++r) most = std::max(most, static_cast<int64_t>(row(r).size()));
  return most;
}

RowPacking pack_best_fit(std::span<const int64_t> lengths, int64_t width) {
  if (width < 1) fail("packing: width {}, expected 1 or more", width);
  std::vector<int64_t> count(static_cast<size_t>(width) + 2), order(lengths.size());  // counting sort, longest first
  for (size_t i = 0; i < lengths.size(); ++i) {
    if (lengths[i] < 0 || lengths[i] > width)
      fail("packing: document {} has {} tokens, more than the width {}; trim documents first, they are never cut", i,
           lengths[i], width);
    ++count[static_cast<size_t>(width - lengths[i]) + 1];
  }
  std::partial_sum(count.begin(), count.end(), count.begin());
  for (size_t i = 0; i < lengths.size(); ++i)
    order[static_cast<size_t>(count[static_cast<size_t>(width - lengths[i])]++)] = static_cast<int64_t>(i);

  RowPacking p;
  p.width = width;
  Rooms rooms(width);
  std::vector<int64_t> row_of(lengths.size(), -1), sizes;
  for (int64_t i : order) {
    const int64_t n = lengths[static_cast<size_t>(i)];
    if (n == 0) continue;
    int64_t left = 0, row = rooms.take(n, left);
    if (row < 0) row = static_cast<int64_t>(sizes.size()), left = width, sizes.push_back(0);
    row_of[static_cast<size_t>(i)] = row;
    ++sizes[static_cast<size_t>(row)];
    p.tokens += n;
    if (left > n) rooms.add(row, left - n);
  }
  p.begin.assign(sizes.size() + 1, 0);
  std::partial_sum(sizes.begin(), sizes.end(), p.begin.begin() + 1);
  p.documents.resize(static_cast<size_t>(p.begin.back()));
  std::vector<int64_t> at(p.begin.begin(), p.begin.end() - 1);
  for (int64_t i : order)
    if (int64_t row = row_of[static_cast<size_t>(i)]; row >= 0)
      p.documents[static_cast<size_t>(at[static_cast<size_t>(row)]++)] = i;
  return p;
}

}  // namespace quern::data
