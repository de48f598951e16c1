#include "quern/recall/store/chunk_vectors.h"

#include <array>
#include <cstring>

#include "quern/recall/store/segment.h"

namespace quern::recall {
namespace {

constexpr std::string_view kMagic = "QRNRVEC1";
constexpr size_t kHead = 32;

size_t matrix_begin(size_t rows) { return (kHead + rows * sizeof(uint64_t) + 63) / 64 * 64; }

}  // namespace

uint64_t vector_key(std::string_view text) { return content_check(std::as_bytes(std::span(text))); }

void write_chunk_vectors(const std::filesystem::path& path, std::span<const uint64_t> keys, const Tensor& rows) {
  Tensor blob = Tensor::empty({0}, DType::u8);
  if (!keys.empty()) blob = kernels::QuantLinear::pack(rows, kernels::WeightFormat::q8).blob();
  std::vector<std::byte> head(matrix_begin(keys.size()));
  const std::array<uint64_t, 2> shape{keys.size(), static_cast<uint64_t>(rows.dim(1))};
  std::memcpy(head.data(), kMagic.data(), kMagic.size());
  std::memcpy(head.data() + 8, shape.data(), sizeof(shape));
  std::memcpy(head.data() + kHead, keys.data(), keys.size_bytes());
  const std::span<const std::byte> matrix(static_cast<const std::byte*>(blob.raw()),
                                          static_cast<size_t>(blob.bytes()));
  const uint64_t check = content_check(std::span(head).subspan(kHead)) ^ content_check(matrix);
  std::memcpy(head.data() + 24, &check, sizeof(check));
  const std::span<const std::byte> pieces[] = {head, matrix};
  write_durably(path, pieces);
}

ChunkVectors::ChunkVectors(const std::filesystem::path& path, int64_t width)
    : file_(std::make_shared<MappedFile>(path)) {
  const auto bytes = file_->bytes();
  std::array<uint64_t, 3> head{};
  if (bytes.size() >= kHead) std::memcpy(head.data(), bytes.data() + 8, sizeof(head));
  const auto [rows, columns, check] = head;
  if (bytes.size() < kHead || std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0 ||
      columns != static_cast<uint64_t>(width) || rows > bytes.size() / sizeof(uint64_t) ||
      bytes.size() < matrix_begin(rows))
    fail("{}: not the vectors of this index", path.string());
  const size_t begin = matrix_begin(rows);
  if ((content_check(bytes.subspan(kHead, begin - kHead)) ^ content_check(bytes.subspan(begin))) != check)
    fail("{}: damaged", path.string());
  keys_ = {reinterpret_cast<const uint64_t*>(bytes.data() + kHead), static_cast<size_t>(rows)};
  for (size_t i = 0; i < keys_.size(); ++i) row_of_.emplace(keys_[i], static_cast<uint32_t>(i));
  if (rows == 0) return;
  const Tensor blob =
      Tensor::external(bytes.data() + begin, {static_cast<int64_t>(bytes.size() - begin)}, DType::u8, file_);
  matrix_ =
      kernels::QuantLinear::view(blob, static_cast<int64_t>(rows), width, kernels::WeightFormat::q8, path.string());
}

std::vector<float> ChunkVectors::cosines(const Tensor& question) const {
  std::vector<float> out(keys_.size());
  if (out.empty()) return out;
  Arena& scratch = thread_arena();
  Arena::Scope scope(scratch);
  const auto n = static_cast<int64_t>(out.size());
  matrix_.apply(question.view<const float, 2>(), {}, {out.data(), {1, n}, {n, 1}}, scratch);
  return out;
}

bool ChunkVectors::copy_row(uint64_t key, std::span<float> out) const {
  const auto at = row_of_.find(key);
  if (at == row_of_.end()) return false;
  matrix_.row(at->second, {out.data(), {static_cast<int64_t>(out.size())}, {1}});
  return true;
}

}  // namespace quern::recall
