// Per-token rows in buffers that double; recurrent parts as tensors that are replaced. A rewind swaps these with the
// saved ones.
#include "quern/mixers/state.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "quern/base/page_block.h"

namespace quern::mixers {
namespace {

constexpr int64_t kFirstRows = 64;  // capacity of a fresh per-token part; it doubles from there
// Room reserved in one part: from here on a block of its own, on huge pages.
constexpr int64_t kOwnBlock = int64_t{2} << 20;
// Room reserved in all smaller ones: from here on pages that cost nothing until rows are written there.
constexpr int64_t kOnPages = int64_t{64} << 10;
constexpr int64_t kAlign = 64;

// n rows, [n, …], as `make` lays out a shape. Of [heads, d] the rows of one head lie behind each other: attention
// walks the cache head by head, and a walk in the order of memory is one that hardware fetches ahead.
template <class Make>
Tensor rows_made(int64_t n, const StatePart& p, const Make& make) {
  Shape s = p.shape;
  s.insert(s.begin() + (p.shape.size() > 1), n);
  Tensor t = make(std::move(s));
  return p.shape.size() > 1 ? t.swap_dims(0, 1) : t;
}

Tensor empty_rows(int64_t n, const StatePart& p) {
  return rows_made(n, p, [&](Shape s) { return Tensor::empty(std::move(s), p.dtype); });
}

int64_t aligned_bytes(int64_t n, const StatePart& p) {
  const int64_t bytes = n * element_count(p.shape) * dtype_size(p.dtype);
  return (bytes + kAlign - 1) / kAlign * kAlign;
}

}  // namespace

int64_t StateSpec::bytes_per_token() const {
  int64_t n = 0;
  for (const StatePart& p : parts)
    if (p.per_token) n += element_count(p.shape) * dtype_size(p.dtype);
  return n;
}

int64_t StateSpec::fixed_bytes() const {
  int64_t n = 0;
  for (const StatePart& p : parts)
    if (!p.per_token) n += element_count(p.shape) * dtype_size(p.dtype);
  return n;
}

SequenceState::SequenceState(std::vector<StateSite> sites) : sites_(std::move(sites)) {
  for (const StateSite& s : sites_) {
    slots_.emplace_back(s.spec.parts.size());
    for (size_t i = 0; i < s.spec.parts.size(); ++i)
      if (const StatePart& p = s.spec.parts[i]; !p.per_token)
        slots_.back()[i].buffer = Tensor::zeros(p.shape, p.dtype);
  }
}

int SequenceState::index_of(int site, std::string_view part) const {
  const std::vector<StatePart>& parts = sites_[static_cast<size_t>(site)].spec.parts;
  for (size_t i = 0; i < parts.size(); ++i)
    if (parts[i].name == part) return static_cast<int>(i);
  QUERN_CHECK(false, "site {} keeps no part '{}'", site, part);
  return -1;
}

Tensor& SequenceState::fixed(int site, int part) {
  QUERN_CHECK(!sites_[site].spec.parts[part].per_token);
  return slots_[site][part].buffer;
}

const Tensor& SequenceState::fixed(int site, int part) const {
  return const_cast<SequenceState*>(this)->fixed(site, part);
}

Tensor SequenceState::append(int site, int part, int64_t n) {
  const StatePart& p = sites_[site].spec.parts[part];
  QUERN_CHECK(p.per_token);
  Slot& s = slots_[site][part];
  int64_t capacity = s.buffer.defined() ? s.buffer.dim(0) : 0;
  if (s.count + n > capacity) move_rows(s, empty_rows(std::max({s.count + n, 2 * capacity, kFirstRows}), p));
  s.count += n;
  return s.buffer.narrow(0, s.count - n, n);
}

void SequenceState::move_rows(Slot& s, Tensor grown) {
  if (s.count > 0) grown.narrow(0, 0, s.count).copy_from(s.buffer.narrow(0, 0, s.count));
  s.buffer = std::move(grown);
}

void SequenceState::reserve(int64_t rows) {
  std::vector<std::pair<Slot*, const StatePart*>> small;
  int64_t bytes = 0;
  for (size_t i = 0; i < slots_.size(); ++i)
    for (size_t k = 0; k < slots_[i].size(); ++k) {
      const StatePart& p = sites_[i].spec.parts[k];
      Slot& s = slots_[i][k];
      if (!p.per_token || rows <= (s.buffer.defined() ? s.buffer.dim(0) : 0)) continue;
      if (const int64_t size = aligned_bytes(rows, p); size >= kOwnBlock)
        move_rows(s, empty_rows(rows, p));
      else
        small.emplace_back(&s, &p), bytes += size;
    }
  if (bytes < kOnPages) {
    for (const auto& [s, p] : small) move_rows(*s, empty_rows(rows, *p));
    return;
  }
  const std::shared_ptr<void> block = page_block(static_cast<size_t>(bytes));
  auto* at = static_cast<std::byte*>(block.get());
  for (const auto& [s, p] : small) {
    move_rows(*s, rows_made(rows, *p, [&, part = p](Shape shape) {
      return Tensor::external(at, std::move(shape), part->dtype, block);
    }));
    at += aligned_bytes(rows, *p);
  }
}

Tensor SequenceState::rows(int site, int part) const {
  const Slot& s = slots_[site][part];
  return s.buffer.defined() ? s.buffer.narrow(0, 0, s.count) : empty_rows(0, sites_[site].spec.parts[part]);
}

SequenceState SequenceState::fork() const {
  SequenceState f;
  f.sites_ = sites_;
  f.length_ = length_;
  for (size_t i = 0; i < slots_.size(); ++i) {
    f.slots_.emplace_back(slots_[i].size());
    for (size_t k = 0; k < slots_[i].size(); ++k) {
      const Slot& from = slots_[i][k];
      Slot& to = f.slots_.back()[k];
      to.count = from.count;
      if (const StatePart& p = sites_[i].spec.parts[k]; !p.per_token)
        to.buffer = from.buffer.clone();
      else if (from.count > 0)
        to.buffer = empty_rows(from.count, p), to.buffer.copy_from(from.buffer.narrow(0, 0, from.count));
    }
  }
  return f;
}

void SequenceState::truncate(int64_t length) {
  QUERN_CHECK(length >= 0 && length <= length_, "truncate({}) of {}", length, length_);
  if (length == length_) return;
  if (length == 0) {
    *this = SequenceState(std::move(sites_));
    return;
  }
  for (size_t i = 0; i < slots_.size(); ++i)
    for (size_t k = 0; k < slots_[i].size(); ++k) {
      const StatePart& p = sites_[i].spec.parts[k];
      if (!p.per_token)
        fail("state part '{}' of layer {} cannot be truncated to {} tokens: restore a snapshot instead", p.name,
             sites_[i].layer, length);
      slots_[i][k].count -= length_ - length;
    }
  length_ = length;
}

void SequenceState::mark(SequenceState& into) const {
  QUERN_CHECK(into.slots_.size() == slots_.size());
  for (size_t i = 0; i < slots_.size(); ++i)
    for (size_t k = 0; k < slots_[i].size(); ++k)
      if (!sites_[i].spec.parts[k].per_token) into.slots_[i][k].buffer.copy_from(slots_[i][k].buffer);
  into.length_ = length_;
}

void SequenceState::rewind(SequenceState& mark) {
  QUERN_CHECK(mark.length_ <= length_ && mark.slots_.size() == slots_.size(), "rewind({}) of {}", mark.length_,
              length_);
  for (size_t i = 0; i < slots_.size(); ++i)
    for (size_t k = 0; k < slots_[i].size(); ++k) {
      if (sites_[i].spec.parts[k].per_token)
        slots_[i][k].count -= length_ - mark.length_;
      else
        std::swap(slots_[i][k].buffer, mark.slots_[i][k].buffer);
    }
  std::swap(length_, mark.length_);
}

int64_t SequenceState::bytes() const {
  int64_t n = 0;
  for (size_t i = 0; i < slots_.size(); ++i)
    for (size_t k = 0; k < slots_[i].size(); ++k) {
      const StatePart& p = sites_[i].spec.parts[k];
      n += (p.per_token ? slots_[i][k].count : 1) * element_count(p.shape) * dtype_size(p.dtype);
    }
  return n;
}

}  // namespace quern::mixers
