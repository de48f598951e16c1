// Rows in buffers that double, fixed parts as tensors that are replaced; a mark is gone back to by changing places.
#include "quern/mixers/state.h"

#include <algorithm>
#include <utility>

namespace quern {
namespace {

constexpr int64_t kFirstRows = 64;  // capacity of a fresh per-token part; it doubles from there

// n rows, [n, …]. Of [heads, d] the rows of one head lie behind each other: attention walks the cache head by head,
// and a walk in the order of memory is one that hardware fetches ahead.
Tensor empty_rows(int64_t n, const StatePart& p) {
  Shape s = p.shape;
  s.insert(s.begin() + (p.shape.size() > 1), n);
  Tensor t = Tensor::empty(std::move(s), p.dtype);
  return p.shape.size() > 1 ? t.swap_dims(0, 1) : t;
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
  if (s.count + n > capacity) grow(s, p, std::max({s.count + n, 2 * capacity, kFirstRows}));
  s.count += n;
  return s.buffer.narrow(0, s.count - n, n);
}

void SequenceState::grow(Slot& s, const StatePart& p, int64_t capacity) {
  Tensor grown = empty_rows(capacity, p);
  if (s.count > 0) grown.narrow(0, 0, s.count).copy_from(s.buffer.narrow(0, 0, s.count));
  s.buffer = grown;
}

void SequenceState::reserve(int64_t rows) {
  for (size_t i = 0; i < slots_.size(); ++i)
    for (size_t k = 0; k < slots_[i].size(); ++k) {
      const StatePart& p = sites_[i].spec.parts[k];
      Slot& s = slots_[i][k];
      if (p.per_token && rows > (s.buffer.defined() ? s.buffer.dim(0) : 0)) grow(s, p, rows);
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
        fail("state part '{}' of layer {} cannot be cut back to {} tokens: restore a snapshot instead", p.name,
             sites_[i].layer, length);
      slots_[i][k].count -= length_ - length;
    }
  length_ = length;
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

}  // namespace quern
