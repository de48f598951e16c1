#include "quern/models/model.h"

#include "quern/base/error.h"

namespace quern::models {

Tensor read_checked(const TensorFolder& folder, const std::string& name, const Shape& shape) {
  Tensor t = folder.tensor(name);
  if (t.shape() != shape)
    fail("tensor '{}', shape: config.json asks for {}, the checkpoint holds {}", name, to_string(shape),
         to_string(t.shape()));
  if (t.dtype() == DType::f8e4m3 && folder.contains(name + "_scale"))
    return dequantize_fp8(t, folder.tensor(name + "_scale"), name);
  return t;
}

Tensor dequantize_fp8(const Tensor& q, const Tensor& scale, const std::string& name) {
  int64_t cols = q.rank() == 0 ? 1 : q.dim(-1), rows = cols == 0 ? 0 : q.size() / cols;
  if (scale.size() != rows && scale.size() != 1)
    fail("tensor '{}_scale', shape: expected one scale for each of {} rows, found {}", name, rows,
         to_string(scale.shape()));
  Tensor s = scale.to(DType::f32).contiguous_copy_if_needed(), out = q.to(DType::f32);
  float* p = out.data<float>();
  for (int64_t r = 0; r < rows; ++r) {
    float k = s.data<float>()[scale.size() == 1 ? 0 : r];
    for (int64_t c = 0; c < cols; ++c) p[r * cols + c] *= k;
  }
  return out;
}

Tensor Model::read(const TensorFolder& folder, const std::string& name, const grad::Parameter& p) const {
  if (!folder.contains(name))
    for (const std::string& other : other_names(name))
      if (folder.contains(other)) return read_checked(folder, other, p.shape);
  return read_checked(folder, name, p.shape);
}

}  // namespace quern::models
