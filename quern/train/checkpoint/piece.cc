#include "quern/train/checkpoint/piece.h"

#include <algorithm>
#include <cstring>

namespace quern::train {
namespace {

Shape row_major(const Shape& s) {
  Shape st(s.size());
  int64_t n = 1;
  for (size_t i = s.size(); i-- > 0;) st[i] = n, n *= s[i];
  return st;
}

}  // namespace

Piece Piece::box(Shape offset, Shape shape) {
  const int64_t n = element_count(shape);
  return {std::move(offset), std::move(shape), 0, n};
}
Piece Piece::flat(const Shape& tensor, int64_t begin, int64_t end) {
  return {Shape(tensor.size(), 0), tensor, begin, end};
}

std::string to_string(const Piece& p) {
  std::string s;
  for (size_t d = 0; d < p.shape.size(); ++d)
    s += fmt::format("{}[{}, {})", d ? "×" : "", p.offset[d], p.offset[d] + p.shape[d]);
  return p.is_box() ? s : fmt::format("{}, elements {}…{}", s, p.begin, p.end);
}

std::string piece_complaint(const Piece& p, const Shape& tensor) {
  if (p.shape.size() != tensor.size() || p.offset.size() != tensor.size())
    return fmt::format("a box of rank {} and offset of rank {} in a tensor {}", p.shape.size(), p.offset.size(),
                       to_string(tensor));
  for (size_t d = 0; d < tensor.size(); ++d)
    if (p.offset[d] < 0 || p.shape[d] < 0 || p.offset[d] > tensor[d] || p.shape[d] > tensor[d] - p.offset[d])
      return fmt::format("box at {} of {} does not lie in the tensor {}", to_string(p.offset), to_string(p.shape),
                         to_string(tensor));
  if (p.begin < 0 || p.end < p.begin || p.end > element_count(p.shape))
    return fmt::format("elements {}…{} of a box of {}", p.begin, p.end, element_count(p.shape));
  return "";
}

Runs::Runs(const Piece& p, const Shape& tensor) : piece_(p), strides_(row_major(tensor)), inner_(p.shape.size()) {
  length_ = 1;
  bool full = true;  // all axes behind inner_ are covered from end to end
  while (inner_ > 0 && full) {
    --inner_;
    length_ *= p.shape[inner_];
    full = p.shape[inner_] == tensor[inner_];
  }
  const bool none = p.size() == 0;
  first_ = none ? 0 : p.begin / length_;
  last_ = none ? 0 : (p.end - 1) / length_ + 1;
}

Runs::Run Runs::operator[](int64_t i) const {
  const int64_t run = first_ + i;
  const int64_t from = std::max(piece_.begin, run * length_), to = std::min(piece_.end, (run + 1) * length_);
  int64_t at = from - run * length_, rest = run;
  for (size_t d = piece_.shape.size(); d-- > 0;) {
    int64_t c = piece_.offset[d];
    if (d < inner_) c += rest % piece_.shape[d], rest /= piece_.shape[d];
    at += c * strides_[d];
  }
  return {at, from - piece_.begin, to - from};
}

int64_t Runs::find(int64_t at) const {
  int64_t lo = 0, hi = count();
  while (lo < hi) {
    const int64_t mid = lo + (hi - lo) / 2;
    const Run r = (*this)[mid];
    if (r.at + r.size > at)
      hi = mid;
    else
      lo = mid + 1;
  }
  return lo;
}

namespace {

// f(local in x, local in y, elements) for every run of elements that both hold, until it returns false.
template <class F>
void each_common(const Shape& tensor, const Piece& p, const Piece& q, F&& f) {
  const Runs a(p, tensor), b(q, tensor);
  if (a.count() == 0 || b.count() == 0) return;
  for (int64_t i = a.find(b[0].at), j = b.find(a[0].at); i < a.count() && j < b.count();) {
    const Runs::Run x = a[i], y = b[j];
    const int64_t begin = std::max(x.at, y.at), end = std::min(x.at + x.size, y.at + y.size);
    if (begin < end) {
      if (!f(x.local + begin - x.at, y.local + begin - y.at, end - begin)) return;
      if (x.at + x.size <= end) ++i;
      if (y.at + y.size <= end) ++j;
    } else if (x.at + x.size <= y.at) {
      i = a.find(y.at);
    } else {
      j = b.find(x.at);
    }
  }
}

}  // namespace

bool pieces_meet(const Shape& tensor, const Piece& a, const Piece& b) {
  bool met = false;
  each_common(tensor, a, b, [&](int64_t, int64_t, int64_t) {
    met = true;
    return false;
  });
  return met;
}

int64_t copy_common(const Shape& tensor, const Piece& to, std::byte* dst, const Piece& from, const std::byte* src,
                    int64_t element_bytes) {
  int64_t copied = 0;
  each_common(tensor, to, from, [&](int64_t x, int64_t y, int64_t n) {
    std::memcpy(dst + x * element_bytes, src + y * element_bytes, static_cast<size_t>(n * element_bytes));
    copied += n;
    return true;
  });
  return copied;
}

std::vector<Piece> boxes_of(const Piece& p) {
  std::vector<Piece> out;
  const Shape st = row_major(p.shape);
  const size_t rank = p.shape.size();
  for (int64_t at = p.begin; at < p.end;) {
    // The outermost axis along which a whole slab begins here and fits.
    size_t axis = 0;
    while (axis < rank && (at % st[axis] != 0 || at + st[axis] > p.end)) ++axis;
    if (axis == rank) {  // a scalar
      out.push_back(Piece::box(p.offset, p.shape));
      break;
    }
    Piece b{p.offset, p.shape, 0, 0};
    int64_t rest = at;
    for (size_t d = 0; d <= axis; ++d) {
      b.offset[d] = p.offset[d] + rest / st[d];
      rest %= st[d];
      b.shape[d] = 1;
    }
    const int64_t in_axis = at / st[axis] % p.shape[axis];
    b.shape[axis] = std::min(p.shape[axis] - in_axis, (p.end - at) / st[axis]);
    b.end = element_count(b.shape);
    at += b.end;
    out.push_back(std::move(b));
  }
  return out;
}

}  // namespace quern::train
