// Matrices of a fastText model file, plain or product-quantized, and the reader of its bytes, which checks every length.
#pragma once
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "quern/base/error.h"

namespace quern::corpus {

class FastTextBytes {
 public:
  FastTextBytes(std::string_view b, const std::string& name) : b_(b), name_(name) {}
  [[noreturn]] void bad(const std::string& why) const { fail("{}: damaged fastText model: {}", name_, why); }
  template <class T>
  T take() {
    T v;
    std::memcpy(&v, raw(sizeof(T)).data(), sizeof(T));
    return v;
  }
  bool flag() { return take<uint8_t>() != 0; }
  std::string_view raw(size_t n) {
    if (n > b_.size()) bad("it ends early");
    const std::string_view r = b_.substr(0, n);
    b_.remove_prefix(n);
    return r;
  }
  std::string word() {
    const size_t end = b_.find('\0');
    if (end == b_.npos) bad("a word is not terminated");
    std::string w(b_.substr(0, end));
    b_.remove_prefix(end + 1);
    return w;
  }
  template <class T>
  std::vector<T> array(uint64_t n) {
    if (n > b_.size() / sizeof(T)) bad("a table is longer than the file");
    std::vector<T> v(n);
    std::memcpy(v.data(), raw(n * sizeof(T)).data(), n * sizeof(T));
    return v;
  }
  bool at_end() const { return b_.empty(); }

 private:
  std::string_view b_;
  const std::string& name_;
};

struct FastTextQuantizer {  // a row as codes of its parts
  int32_t dim = 0, parts = 0, width = 0, last_width = 0;
  std::vector<float> centroids;
  void read(FastTextBytes& in) {
    dim = in.take<int32_t>(), parts = in.take<int32_t>(), width = in.take<int32_t>(), last_width = in.take<int32_t>();
    if (dim < 1 || parts < 1 || width < 1 || last_width < 1 || last_width > width ||
        int64_t{parts - 1} * width + last_width != dim)
      in.bad("quantized parts do not add up to the row");
    centroids = in.array<float>(static_cast<uint64_t>(dim) * 256);
  }
  const float* centroid(int part, uint8_t code) const {
    if (part == parts - 1) return centroids.data() + int64_t{part} * 256 * width + int64_t{code} * last_width;
    return centroids.data() + (int64_t{part} * 256 + code) * width;
  }
};

struct FastTextTable {
  int64_t rows = 0, columns = 0;
  std::vector<float> data;  // or quantized:
  bool quantized = false, norms = false;
  std::vector<uint8_t> codes, norm_codes;
  FastTextQuantizer parts, norm_parts;

  void read(FastTextBytes& in) {  // as `quantized` says
    norms = quantized && in.flag();
    rows = in.take<int64_t>(), columns = in.take<int64_t>();
    if (rows < 0 || columns < 1 || columns > 100000 || rows > int64_t{1} << 40) in.bad("a table of an odd size");
    if (!quantized) {
      data = in.array<float>(static_cast<uint64_t>(rows) * static_cast<uint64_t>(columns));
      return;
    }
    const auto n = in.take<int32_t>();
    if (n < 0) in.bad("a negative number of codes");
    codes = in.array<uint8_t>(static_cast<uint64_t>(n));
    parts.read(in);
    if (parts.dim != columns || int64_t{parts.parts} * rows != n)
      in.bad("the number of codes does not match the rows");
    if (!norms) return;
    norm_codes = in.array<uint8_t>(static_cast<uint64_t>(rows));
    norm_parts.read(in);
    if (norm_parts.dim != 1) in.bad("a norm has more than one number");
  }
  // f(column, value) over the row.
  template <class F>
  void row(int64_t r, F&& f) const {
    if (!quantized) {
      const float* p = data.data() + r * columns;
      for (int64_t c = 0; c < columns; ++c) f(c, p[c]);
      return;
    }
    const float norm = norms ? norm_parts.centroid(0, norm_codes[static_cast<size_t>(r)])[0] : 1.0f;
    const uint8_t* code = codes.data() + r * parts.parts;
    for (int m = 0; m < parts.parts; ++m) {
      const float* centroid = parts.centroid(m, code[m]);
      const int n = m == parts.parts - 1 ? parts.last_width : parts.width;
      for (int k = 0; k < n; ++k) f(int64_t{m} * parts.width + k, norm * centroid[k]);
    }
  }
};

}  // namespace quern::corpus
