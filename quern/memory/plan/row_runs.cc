#include "quern/memory/plan/row_runs.h"

#include <algorithm>

#include "quern/base/error.h"

namespace quern::memory {

RowRuns RowRuns::below(size_t rows) {
  RowRuns out;
  out.add(0, rows);
  return out;
}

RowRuns RowRuns::of(std::span<const uint32_t> rows) {
  RowRuns out;
  for (const uint32_t r : rows) out.add(r, r + size_t{1});
  return out;
}

RowRuns RowRuns::joined(std::vector<RowRun> runs) {
  std::sort(runs.begin(), runs.end(), [](const RowRun& a, const RowRun& b) { return a.lo < b.lo; });
  RowRuns out;
  for (const RowRun& r : runs) out.add(r.lo, r.hi);
  return out;
}

void RowRuns::add(size_t lo, size_t hi) {
  if (lo >= hi) return;
  if (!runs_.empty() && lo <= runs_.back().hi) {
    QUERN_CHECK(lo >= runs_.back().lo);
    runs_.back().hi = std::max(runs_.back().hi, static_cast<uint32_t>(hi));
  } else {
    runs_.push_back({static_cast<uint32_t>(lo), static_cast<uint32_t>(hi)});
  }
}

size_t RowRuns::size() const {
  size_t n = 0;
  for (const RowRun& r : runs_) n += r.hi - r.lo;
  return n;
}

bool RowRuns::contains(uint32_t row) const {
  const auto after = std::upper_bound(runs_.begin(), runs_.end(), row,
                                      [](uint32_t wanted, const RowRun& r) { return wanted < r.lo; });
  return after != runs_.begin() && row < std::prev(after)->hi;
}

std::vector<uint32_t> RowRuns::rows() const {
  std::vector<uint32_t> out;
  out.reserve(size());
  each([&](uint32_t row) { out.push_back(row); });
  return out;
}

RowRuns RowRuns::places(size_t first, size_t last) const {
  RowRuns out;
  size_t before = 0;
  for (const RowRun& r : runs_) {
    const size_t n = r.hi - r.lo, lo = std::max(first, before), hi = std::min(last + 1, before + n);
    if (lo < hi) out.add(r.lo + (lo - before), r.lo + (hi - before));
    before += n;
  }
  return out;
}

RowRuns RowRuns::operator&(const RowRuns& other) const {
  RowRuns out;
  for (auto a = runs_.begin(), b = other.runs_.begin(); a != runs_.end() && b != other.runs_.end();) {
    out.add(std::max(a->lo, b->lo), std::min(a->hi, b->hi));
    if (a->hi < b->hi)
      ++a;
    else
      ++b;
  }
  return out;
}

RowRuns RowRuns::operator|(const RowRuns& other) const {
  RowRuns out;
  auto a = runs_.begin(), b = other.runs_.begin();
  while (a != runs_.end() || b != other.runs_.end()) {
    const bool mine = b == other.runs_.end() || (a != runs_.end() && a->lo <= b->lo);
    const RowRun& next = mine ? *a++ : *b++;
    out.add(next.lo, next.hi);
  }
  return out;
}

RowRuns RowRuns::operator-(const RowRuns& other) const {
  RowRuns out;
  auto b = other.runs_.begin();
  for (const RowRun& r : runs_) {
    uint32_t lo = r.lo;
    while (b != other.runs_.end() && b->hi <= lo) ++b;
    for (auto gone = b; gone != other.runs_.end() && gone->lo < r.hi; ++gone) {
      out.add(lo, std::max(lo, gone->lo));
      lo = std::max(lo, gone->hi);
    }
    out.add(lo, r.hi);
  }
  return out;
}

}  // namespace quern::memory
