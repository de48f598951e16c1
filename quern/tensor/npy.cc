// NumPy's .npy, version 1.0: magic, header length, a Python dict literal padded to 64 bytes, raw little-endian data.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "quern/base/mmap.h"
#include "quern/tensor/tensor.h"

namespace quern {

void save_npy(const std::string& path, const Tensor& t) {
  Tensor c = (t.dtype() == DType::bf16 ? t.to(DType::f32) : t).contiguous_copy_if_needed();
  const char* descr = c.dtype() == DType::f32   ? "<f4"
                      : c.dtype() == DType::f64 ? "<f8"
                      : c.dtype() == DType::i32 ? "<i4"
                      : c.dtype() == DType::i64 ? "<i8"
                                                : nullptr;
  if (!descr) fail("{}: .npy output of type {} is not supported", path, dtype_name(c.dtype()));
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", descr,
                                   fmt::join(c.shape(), ", "), c.rank() == 1 ? "," : "");
  header.append((64 - (10 + header.size() + 1) % 64) % 64, ' ');
  header += '\n';
  std::string out("\x93NUMPY\x01\x00", 8);
  out += static_cast<char>(header.size() & 255);
  out += static_cast<char>(header.size() >> 8);
  out += header;
  out.append(static_cast<const char*>(c.raw()), static_cast<size_t>(c.bytes()));
  write_file(path, out);
}

Tensor load_npy(const std::string& path) {
  std::string s = read_file(path);
  if (s.size() < 10 || s.compare(0, 6, "\x93NUMPY") != 0) fail("{}: not an .npy file", path);
  bool wide = s[6] != 1;
  size_t start = wide ? 12 : 10;
  if (s.size() < start) fail("{}: truncated header", path);
  size_t n = static_cast<uint8_t>(s[8]) | static_cast<size_t>(static_cast<uint8_t>(s[9])) << 8;
  if (wide)
    n |= static_cast<size_t>(static_cast<uint8_t>(s[10])) << 16 | static_cast<size_t>(static_cast<uint8_t>(s[11]))
                                                                      << 24;
  if (s.size() < start + n) fail("{}: truncated header", path);
  std::string h = s.substr(start, n);
  DType t = h.find("'<f4'") != h.npos   ? DType::f32
            : h.find("'<f8'") != h.npos ? DType::f64
            : h.find("'<i4'") != h.npos ? DType::i32
            : h.find("'<i8'") != h.npos ? DType::i64
                                        : DType::boolean;
  if (t == DType::boolean || h.find("True") != h.npos)
    fail("{}: expected little-endian f4, f8, i4 or i8 in C order", path);
  size_t open = h.find('('), close = h.find(')');
  if (open == h.npos || close == h.npos) fail("{}: header has no shape", path);
  Shape shape;
  for (size_t i = open + 1; i < close;) {
    char* end = nullptr;
    long long v = std::strtoll(h.c_str() + i, &end, 10);
    size_t at = static_cast<size_t>(end - h.c_str());
    if (at == i) break;
    shape.push_back(v);
    i = h.find(',', at);
    if (i == h.npos) break;
    ++i;
  }
  if (static_cast<int64_t>(s.size() - start - n) != element_count(shape) * dtype_size(t))
    fail("{}: data does not match shape {}", path, to_string(shape));
  Tensor r = Tensor::empty(shape, t);
  std::memcpy(r.raw(), s.data() + start + n, static_cast<size_t>(r.bytes()));
  return r;
}

}  // namespace quern
