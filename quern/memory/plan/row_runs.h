// A set of rows as runs: ascending, disjoint, and no two of them touch. A month of a conversation is one run, however
// many turns it has, so that selecting it costs a search and not a pass over the table.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace quern::memory {

struct RowRun {
  uint32_t lo = 0, hi = 0;  // [lo, hi)
  bool operator==(const RowRun&) const = default;
};

class RowRuns {
 public:
  RowRuns() = default;
  static RowRuns below(size_t rows);                  // 0 to rows - 1
  static RowRuns of(std::span<const uint32_t> rows);  // ascending
  static RowRuns joined(std::vector<RowRun> runs);    // in any order, and they may overlap
  void add(size_t lo, size_t hi);                     // [lo, hi), not before the last run's beginning
  const std::vector<RowRun>& runs() const { return runs_; }
  bool empty() const { return runs_.empty(); }
  size_t size() const;  // rows; linear in the runs
  uint32_t front() const { return runs_.front().lo; }
  uint32_t back() const { return runs_.back().hi - 1; }
  bool contains(uint32_t row) const;
  std::vector<uint32_t> rows() const;
  RowRuns places(size_t first, size_t last) const;  // the first-th row to the last-th one, counted from 0
  RowRuns operator&(const RowRuns& other) const;
  RowRuns operator|(const RowRuns& other) const;
  RowRuns operator-(const RowRuns& other) const;
  bool operator==(const RowRuns&) const = default;
  template <class F>
  void each(F&& f) const {
    for (const RowRun& r : runs_)
      for (uint32_t row = r.lo; row < r.hi; ++row) f(row);
  }
  template <class F>
  RowRuns where(F&& f) const {  // row by row
    RowRuns out;
    each([&](uint32_t row) {
      if (f(row)) out.add(row, row + size_t{1});
    });
    return out;
  }

 private:
  std::vector<RowRun> runs_;
};

}  // namespace quern::memory
