#include "quern/train/reshape/source.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <numeric>

#include "quern/base/rng.h"

namespace quern::train {
namespace {

int64_t product(const Shape& s, size_t begin, size_t end) {
  int64_t n = 1;
  for (size_t d = begin; d < end; ++d) n *= s[d];
  return n;
}

Shape with(Shape s, int axis, int64_t extent) {
  s[static_cast<size_t>(axis)] = extent;
  return s;
}
Shape inserted(Shape s, int axis, int64_t value) {
  s.insert(s.begin() + axis, value);
  return s;
}
Shape erased(Shape s, int axis) {
  s.erase(s.begin() + axis);
  return s;
}

// Reads a box of `part` into the slab [at, at + n) along `axis` of a dense box.
void read_slab(const TensorSource& part, const Shape& offset, const Shape& piece, int axis, int64_t at,
               const Shape& box, std::byte* out) {
  const auto a = static_cast<size_t>(axis);
  const int64_t outer = product(box, 0, a), inner = product(box, a + 1, box.size()) * part.element();
  const int64_t n = piece[a];
  if (outer == 1) return part.read(offset, piece, out + at * inner);
  std::vector<std::byte> dense(static_cast<size_t>(outer * n * inner));
  part.read(offset, piece, dense.data());
  for (int64_t o = 0; o < outer; ++o)
    std::memcpy(out + (o * box[a] + at) * inner, dense.data() + o * n * inner, static_cast<size_t>(n * inner));
}

class Stored : public TensorSource {
 public:
  Stored(std::shared_ptr<const CheckpointReader> r, const StoredTensor& t)
      : TensorSource(t.shape, t.dtype), reader_(std::move(r)), tensor_(t) {}
  void read(const Shape& offset, const Shape& box, std::byte* out) const override {
    const Piece p = Piece::box(offset, box);
    reader_->read_into(tensor_, p, {out, static_cast<size_t>(p.size() * element())});
  }

 private:
  std::shared_ptr<const CheckpointReader> reader_;
  const StoredTensor& tensor_;  // the reader's
};

class Box : public TensorSource {
 public:
  Box(Source base, Shape offset, Shape shape)
      : TensorSource(std::move(shape), base->dtype()), base_(std::move(base)), offset_(std::move(offset)) {}
  void read(const Shape& offset, const Shape& box, std::byte* out) const override {
    Shape at = offset;
    for (size_t d = 0; d < at.size(); ++d) at[d] += offset_[d];
    base_->read(at, box, out);
  }

 private:
  Source base_;
  Shape offset_;
};

class Concatenated : public TensorSource {
 public:
  Concatenated(std::vector<Source> parts, int axis, int64_t extent)
      : TensorSource(with(parts[0]->shape(), axis, extent), parts[0]->dtype()),
        parts_(std::move(parts)),
        axis_(axis) {}
  void read(const Shape& offset, const Shape& box, std::byte* out) const override {
    const auto a = static_cast<size_t>(axis_);
    int64_t start = 0;
    for (const Source& p : parts_) {
      const int64_t end = start + p->shape()[a];
      const int64_t from = std::max(start, offset[a]), to = std::min(end, offset[a] + box[a]);
      if (from < to)
        read_slab(*p, with(offset, axis_, from - start), with(box, axis_, to - from), axis_, from - offset[a], box,
                  out);
      start = end;
    }
  }

 private:
  std::vector<Source> parts_;
  int axis_;
};

class Permuted : public TensorSource {
 public:
  Permuted(Source base, Shape shape, std::vector<int64_t> axes)
      : TensorSource(std::move(shape), base->dtype()), base_(std::move(base)), axes_(std::move(axes)) {}
  void read(const Shape& offset, const Shape& box, std::byte* out) const override {
    const size_t rank = box.size();
    Shape at(rank), extent(rank), stride(rank);
    for (size_t d = 0; d < rank; ++d) at[static_cast<size_t>(axes_[d])] = offset[d];
    for (size_t d = 0; d < rank; ++d) extent[static_cast<size_t>(axes_[d])] = box[d];
    for (size_t d = 0; d < rank; ++d)  // of result axis d in the dense box of the base
      stride[d] = product(extent, static_cast<size_t>(axes_[d]) + 1, rank) * element();
    const int64_t n = element_count(box);
    std::vector<std::byte> dense(static_cast<size_t>(n * element()));
    base_->read(at, extent, dense.data());
    Shape c(rank, 0);
    for (int64_t i = 0; i < n; ++i) {
      int64_t from = 0;
      for (size_t d = 0; d < rank; ++d) from += c[d] * stride[d];
      std::memcpy(out + i * element(), dense.data() + from, static_cast<size_t>(element()));
      for (size_t d = rank; d-- > 0 && ++c[d] == box[d];) c[d] = 0;
    }
  }

 private:
  Source base_;
  std::vector<int64_t> axes_;
};

class WithAxis : public TensorSource {
 public:
  WithAxis(Source base, int axis)
      : TensorSource(inserted(base->shape(), axis, 1), base->dtype()), base_(std::move(base)), axis_(axis) {}
  void read(const Shape& offset, const Shape& box, std::byte* out) const override {
    base_->read(erased(offset, axis_), erased(box, axis_), out);
  }

 private:
  Source base_;
  int axis_;
};

class WithoutAxis : public TensorSource {
 public:
  WithoutAxis(Source base, int axis, int64_t index)
      : TensorSource(erased(base->shape(), axis), base->dtype()),
        base_(std::move(base)),
        axis_(axis),
        index_(index) {}
  void read(const Shape& offset, const Shape& box, std::byte* out) const override {
    base_->read(inserted(offset, axis_, index_), inserted(box, axis_, 1), out);
  }

 private:
  Source base_;
  int axis_;
  int64_t index_;
};

class Gathered : public TensorSource {
 public:
  Gathered(Source base, int axis, std::vector<int64_t> index)
      : TensorSource(with(base->shape(), axis, static_cast<int64_t>(index.size())), base->dtype()),
        base_(std::move(base)),
        axis_(axis),
        index_(std::move(index)) {}
  void read(const Shape& offset, const Shape& box, std::byte* out) const override {
    const auto a = static_cast<size_t>(axis_);
    for (int64_t i = 0; i < box[a];) {  // neighbors in the base are read together
      const int64_t first = index_[static_cast<size_t>(offset[a] + i)];
      int64_t n = 1;
      while (i + n < box[a] && index_[static_cast<size_t>(offset[a] + i + n)] == first + n) ++n;
      read_slab(*base_, with(offset, axis_, first), with(box, axis_, n), axis_, i, box, out);
      i += n;
    }
  }

 private:
  Source base_;
  int axis_;
  std::vector<int64_t> index_;
};

class Zeros : public TensorSource {
 public:
  using TensorSource::TensorSource;
  void read(const Shape&, const Shape& box, std::byte* out) const override {
    std::memset(out, 0, static_cast<size_t>(element_count(box) * element()));
  }
};

class MeanAlong : public TensorSource {
 public:
  MeanAlong(Source base, int axis, int64_t extent)
      : TensorSource(with(base->shape(), axis, extent), base->dtype()), base_(std::move(base)), axis_(axis) {}
  void read(const Shape& offset, const Shape& box, std::byte* out) const override {
    std::call_once(once_, [&] { mean_ = mean(); });
    const auto a = static_cast<size_t>(axis_);
    const Shape at = with(offset, axis_, 0), one = with(box, axis_, 1);
    Tensor slice = mean_;
    for (size_t d = 0; d < box.size(); ++d) slice = slice.narrow(static_cast<int>(d), at[d], one[d]);
    slice = slice.clone();
    const int64_t outer = product(box, 0, a), inner = product(box, a + 1, box.size()) * element();
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t i = 0; i < box[a]; ++i)
        std::memcpy(out + (o * box[a] + i) * inner, static_cast<const std::byte*>(slice.raw()) + o * inner,
                    static_cast<size_t>(inner));
  }

 private:
  Tensor mean() const {
    const Shape slice = with(base_->shape(), axis_, 1);
    const int64_t n = base_->shape()[static_cast<size_t>(axis_)];
    const Tensor sum = Tensor::zeros(slice, DType::f64), x = Tensor::empty(slice, dtype());
    for (int64_t i = 0; i < n; ++i) {
      base_->read(with(Shape(slice.size(), 0), axis_, i), slice, static_cast<std::byte*>(x.raw()));
      const Tensor wide = x.to(DType::f64);
      for (int64_t e = 0; e < sum.size(); ++e) sum.data<double>()[e] += wide.data<double>()[e];
    }
    for (int64_t e = 0; e < sum.size(); ++e) sum.data<double>()[e] /= static_cast<double>(std::max<int64_t>(1, n));
    return sum.to(dtype());
  }
  Source base_;
  int axis_;
  mutable std::once_flag once_;
  mutable Tensor mean_;  // [.., 1, ..]
};

class Noisy : public TensorSource {
 public:
  Noisy(Source base, int axis, std::vector<bool> which, double noise, uint64_t seed)
      : TensorSource(base->shape(), base->dtype()),
        base_(std::move(base)),
        axis_(axis),
        which_(std::move(which)),
        noise_(noise),
        rng_(seed) {}
  void read(const Shape& offset, const Shape& box, std::byte* out) const override {
    base_->read(offset, box, out);
    const Tensor raw = Tensor::external(out, box, dtype(), nullptr);
    const Tensor wide = raw.to(DType::f64).clone();
    const size_t rank = box.size(), a = static_cast<size_t>(axis_);
    Shape c(rank, 0);
    for (int64_t i = 0; i < wide.size(); ++i) {
      if (which_[static_cast<size_t>(offset[a] + c[a])]) {
        int64_t at = 0;
        for (size_t d = 0; d < rank; ++d) at = at * shape()[d] + offset[d] + c[d];
        Rng r = rng_;
        r.set_counter(2 * static_cast<uint64_t>(at));
        wide.data<double>()[i] *= 1 + noise_ * r.normal();
      }
      for (size_t d = rank; d-- > 0 && ++c[d] == box[d];) c[d] = 0;
    }
    raw.copy_from(wide);
  }

 private:
  Source base_;
  int axis_;
  std::vector<bool> which_;
  double noise_;
  Rng rng_;
};

void check_axis(const TensorSource& s, int axis) {
  QUERN_CHECK(axis >= 0 && axis < static_cast<int>(s.shape().size()), "axis {} of {}", axis, to_string(s.shape()));
}

}  // namespace

Source stored(std::shared_ptr<const CheckpointReader> reader, const StoredTensor& t) {
  return std::make_shared<Stored>(std::move(reader), t);
}

Source box_of(Source base, Shape offset, Shape shape) {
  const std::string wrong = piece_complaint(Piece::box(offset, shape), base->shape());
  QUERN_CHECK(wrong.empty(), "{}", wrong);
  return std::make_shared<Box>(std::move(base), std::move(offset), std::move(shape));
}

Source concatenated(std::vector<Source> parts, int axis) {
  QUERN_CHECK(!parts.empty());
  int64_t extent = 0;
  for (const Source& p : parts) {
    check_axis(*p, axis);
    QUERN_CHECK(p->dtype() == parts[0]->dtype() && with(p->shape(), axis, 0) == with(parts[0]->shape(), axis, 0),
                "{} and {} along axis {}", to_string(p->shape()), to_string(parts[0]->shape()), axis);
    extent += p->shape()[static_cast<size_t>(axis)];
  }
  return std::make_shared<Concatenated>(std::move(parts), axis, extent);
}

Source permuted(Source base, std::vector<int64_t> axes) {
  Shape shape;
  for (int64_t a : axes) {
    check_axis(*base, static_cast<int>(a));
    shape.push_back(base->shape()[static_cast<size_t>(a)]);
  }
  QUERN_CHECK(shape.size() == base->shape().size());
  return std::make_shared<Permuted>(std::move(base), std::move(shape), std::move(axes));
}

Source with_axis(Source base, int axis) {
  QUERN_CHECK(axis >= 0 && axis <= static_cast<int>(base->shape().size()));
  return std::make_shared<WithAxis>(std::move(base), axis);
}

Source without_axis(Source base, int axis, int64_t index) {
  check_axis(*base, axis);
  QUERN_CHECK(index >= 0 && index < base->shape()[static_cast<size_t>(axis)]);
  return std::make_shared<WithoutAxis>(std::move(base), axis, index);
}

Source gathered(Source base, int axis, std::vector<int64_t> index) {
  check_axis(*base, axis);
  for (int64_t i : index) QUERN_CHECK(i >= 0 && i < base->shape()[static_cast<size_t>(axis)], "slice {}", i);
  return std::make_shared<Gathered>(std::move(base), axis, std::move(index));
}

Source zeros(Shape shape, DType dtype) { return std::make_shared<Zeros>(std::move(shape), dtype); }

Source mean_along(Source base, int axis, int64_t extent) {
  check_axis(*base, axis);
  return std::make_shared<MeanAlong>(std::move(base), axis, extent);
}

Source noisy(Source base, int axis, std::vector<bool> which, double noise, uint64_t seed) {
  check_axis(*base, axis);
  QUERN_CHECK(static_cast<int64_t>(which.size()) == base->shape()[static_cast<size_t>(axis)]);
  return std::make_shared<Noisy>(std::move(base), axis, std::move(which), noise, seed);
}

Tensor read_all(const TensorSource& s) {
  Tensor t = Tensor::empty(s.shape(), s.dtype());
  s.read(Shape(s.shape().size(), 0), s.shape(), static_cast<std::byte*>(t.raw()));
  return t;
}

}  // namespace quern::train
