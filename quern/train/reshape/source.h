// Lazily computed logical tensors: a source returns any box of its tensor, dense and row-major, and asks other sources
// for what it needs. An architecture rewrite is a graph of sources; no tensor is ever materialized as a whole.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "quern/train/checkpoint/reader.h"

namespace quern::train {

class TensorSource {
 public:
  TensorSource(Shape shape, DType dtype) : shape_(std::move(shape)), dtype_(dtype) {}
  virtual ~TensorSource() = default;
  const Shape& shape() const { return shape_; }
  DType dtype() const { return dtype_; }
  int64_t element() const { return dtype_size(dtype_); }
  virtual void read(const Shape& offset, const Shape& box, std::byte* out) const = 0;

 private:
  Shape shape_;
  DType dtype_;
};
using Source = std::shared_ptr<const TensorSource>;

Source stored(std::shared_ptr<const CheckpointReader> reader, const StoredTensor& t);
Source box_of(Source base, Shape offset, Shape shape);
Source concatenated(std::vector<Source> parts, int axis);
Source permuted(Source base, std::vector<int64_t> axes);  // axis d of the result is axis axes[d] of the base
Source with_axis(Source base, int axis);                  // a new axis of extent 1
Source without_axis(Source base, int axis, int64_t index);
Source gathered(Source base, int axis, std::vector<int64_t> index);  // slice i is the base's slice index[i]
Source zeros(Shape shape, DType dtype);
Source mean_along(Source base, int axis, int64_t extent);  // every slice is the mean of the base's slices

// In the slices along `axis` that `which` names, x becomes x·(1 + noise·N(0, 1)): a function of seed and position.
Source noisy(Source base, int axis, std::vector<bool> which, double noise, uint64_t seed);

// Tests and small tensors: all of it.
Tensor read_all(const TensorSource& s);

}  // namespace quern::train
