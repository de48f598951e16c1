// Test helper: a small training state whose every element is a formula of (tensor, role, index, salt), and the pieces
// that a rank of n holds of it: ZeRO shards, experts by box with ZeRO shards inside, one bf16 copy written by rank 0.
#pragma once
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "quern/base/rng.h"
#include "quern/train/checkpoint/reader.h"
#include "quern/train/checkpoint/writer.h"

namespace quern::train::checkpoint_test {

struct TestTensor {
  std::string name, role;
  DType dtype;
  Shape shape;
  enum Range { flat, experts, root } cut;
};

inline std::vector<TestTensor> parts(int64_t rows = 37) {
  return {{"embed", "weight", DType::bf16, {rows, 5}, TestTensor::root},
          {"embed", "master", DType::f32, {rows, 5}, TestTensor::flat},
          {"embed", "m", DType::f32, {rows, 5}, TestTensor::flat},
          {"embed", "v", DType::f32, {rows, 5}, TestTensor::flat},
          {"embed", "step", DType::i64, {1}, TestTensor::flat},
          {"experts", "master", DType::f32, {4, 6, 10}, TestTensor::experts},
          {"experts", "muon_m", DType::f32, {4, 6, 10}, TestTensor::experts},
          {"norm", "master", DType::f64, {3}, TestTensor::flat},
          {"none", "master", DType::f32, {0, 4}, TestTensor::flat},
          {"scalar", "master", DType::f32, {}, TestTensor::flat}};
}

// The whole tensor; bits are any (so NaNs with payloads too).
inline Tensor expected(const TestTensor& p, uint64_t salt) {
  Tensor t = Tensor::empty(p.shape, p.dtype);
  uint64_t stream = salt;
  for (char c : p.name + "/" + p.role) stream = stream * 31 + static_cast<uint64_t>(c);
  const Rng rng(5, stream);
  auto* b = static_cast<uint8_t*>(t.raw());
  for (int64_t i = 0; i < t.bytes(); ++i) b[i] = static_cast<uint8_t>(rng.bits(static_cast<uint64_t>(i)) >> 40);
  return t;
}

inline Piece piece_of(const TestTensor& p, int rank, int ranks) {
  const int64_t n = element_count(p.shape);
  if (p.cut == TestTensor::root) return rank == 0 ? Piece::whole(p.shape) : Piece::flat(p.shape, 0, 0);
  if (p.cut == TestTensor::flat || ranks == 1) {
    const comm::Range c = comm::even_range(n, ranks, rank);
    return Piece::flat(p.shape, c.begin, c.end);
  }
  // Two groups of ranks share the experts, unevenly: one to the first, three to the second.
  const bool second = rank % 2 == 1;
  const int members = second ? ranks / 2 : (ranks + 1) / 2;
  Piece b{{second ? 1 : 0, 0, 0}, {second ? 3 : 1, p.shape[1], p.shape[2]}, 0, 0};
  const comm::Range c = comm::even_range(element_count(b.shape), members, rank / 2);
  b.begin = c.begin, b.end = c.end;
  return b;
}

inline Tensor cut(const TestTensor& p, const Tensor& whole, const Piece& piece) {
  Tensor t = Tensor::empty({piece.size()}, p.dtype);
  copy_common(p.shape, piece, static_cast<std::byte*>(t.raw()), Piece::whole(p.shape),
              static_cast<const std::byte*>(whole.raw()), dtype_size(p.dtype));
  return t;
}

inline std::vector<TensorPiece> pieces_of(int rank, int ranks, uint64_t salt, int64_t rows = 37) {
  std::vector<TensorPiece> out;
  for (const TestTensor& p : parts(rows)) {
    const Piece piece = piece_of(p, rank, ranks);
    out.push_back({p.name, p.role, p.shape, piece, cut(p, expected(p, salt), piece)});
  }
  return out;
}

inline bool same_bits(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.size() == b.size() &&
         (a.size() == 0 || std::memcmp(a.raw(), b.raw(), static_cast<size_t>(a.bytes())) == 0);
}

inline Json state_of(int64_t step) {
  Json j = Json::object();
  j.set("step", step), j.set("rng", "0123"), j.set("consumed", 1.5);
  return j;
}

inline void expect_holds(const std::filesystem::path& folder, uint64_t salt, int64_t rows = 37) {
  const CheckpointReader r(folder);
  ASSERT_EQ(r.tensors().size(), parts(rows).size());
  for (const TestTensor& p : parts(rows))
    EXPECT_TRUE(same_bits(r.read(p.name, p.role), expected(p, salt))) << folder << " " << p.name << " " << p.role;
}

class Scratch {
 public:
  Scratch() {
    std::string name = (std::filesystem::temp_directory_path() / "quern-checkpoint-XXXXXX").string();
    QUERN_CHECK(::mkdtemp(name.data()) != nullptr);
    path = name;
  }
  ~Scratch() {
    std::error_code e;
    std::filesystem::remove_all(path, e);
  }
  std::filesystem::path path;
};

}  // namespace quern::train::checkpoint_test
