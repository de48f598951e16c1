// The vectors of one segment's rows, in int8 with a scale per row, in a file beside the segment that is memory-mapped.
// Searched by a flat scan: one product of a matrix and a vector. A row is found again by the hash of its text, so that
// merging segments encodes nothing twice.
//
//   "QRNRVEC1" u64 rows, u64 width, u64 check of the rest; per row u64 hash of its text; at a multiple of 64 the
//   quantized matrix (kernels/quant, q8)
#pragma once
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "quern/base/mmap.h"
#include "quern/kernels/quant/quant_linear.h"

namespace quern::recall {

uint64_t vector_key(std::string_view text);
void write_chunk_vectors(const std::filesystem::path& path, std::span<const uint64_t> keys, const Tensor& rows_ND);

class ChunkVectors {
 public:
  ChunkVectors(const std::filesystem::path& path, int64_t width);  // throws Error on a damaged file
  int64_t rows() const { return static_cast<int64_t>(keys_.size()); }
  std::vector<float> cosines(const Tensor& question_1D) const;  // of every row
  bool copy_row(uint64_t key, std::span<float> out) const;      // false: no such row

 private:
  std::shared_ptr<MappedFile> file_;
  std::span<const uint64_t> keys_;
  std::unordered_map<uint64_t, uint32_t> row_of_;
  kernels::QuantLinear matrix_;  // undefined without rows
};

}  // namespace quern::recall
