// For tests of reshaping: small tensors saved as a checkpoint, rewritten, and read again.
#pragma once
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "quern/base/mmap.h"
#include "quern/comm/in_process.h"
#include "quern/train/checkpoint/test_state.h"
#include "quern/train/reshape/reshape.h"

namespace quern::train::checkpoint_test {

namespace fs = std::filesystem;

using Named = std::vector<std::tuple<std::string, std::string, Tensor>>;  // name, role, tensor

inline Tensor iota(Shape shape, double start = 0) {
  Tensor t = Tensor::empty(std::move(shape), DType::f32);
  for (int64_t i = 0; i < t.size(); ++i) t.data<float>()[i] = static_cast<float>(start + static_cast<double>(i));
  return t;
}

inline void save(const fs::path& dir, const Named& tensors, int ranks = 2) {
  comm::run_ranks(ranks, [&](comm::Communicator& c) {
    CheckpointWriter w(c, dir, {.chunk_bytes = 64});
    std::vector<TensorPiece> pieces;
    for (const auto& [name, role, t] : tensors) pieces.push_back(flat_share(name, role, t, c));
    w.save(9, pieces, state_of(9));
    w.wait();
  });
}

// The result of a rewrite, by "name/role".
inline std::map<std::string, Tensor> rewritten(const nn::Registry& registry, const Named& tensors,
                                               const std::string& toml, int64_t chunk = 48) {
  const Scratch s;
  save(s.path / "a", tensors);
  write_file(s.path / "rules.toml", toml);
  const ReshapeReport r = reshape(registry, s.path / "a", s.path / "b",
                                  {.ranks = 3, .rewrite = s.path / "rules.toml", .chunk_bytes = chunk});
  const CheckpointReader reader(r.to);
  EXPECT_EQ(reader.state(), state_of(9));
  EXPECT_EQ(r.tensors_out, static_cast<int64_t>(reader.tensors().size()));
  std::map<std::string, Tensor> out;
  for (const StoredTensor& t : reader.tensors()) out[t.name + "/" + t.role] = reader.read(t.name, t.role);
  return out;
}

inline void expect_equal(const std::map<std::string, Tensor>& found, const std::map<std::string, Tensor>& want) {
  std::vector<std::string> a, b;
  for (const auto& [name, t] : found) a.push_back(name);
  for (const auto& [name, t] : want) b.push_back(name);
  ASSERT_EQ(a, b);
  for (const auto& [name, t] : want) {
    EXPECT_EQ(found.at(name).shape(), t.shape()) << name;
    EXPECT_TRUE(same_bits(found.at(name), t.clone())) << name;
  }
}

inline Tensor step(double v) { return Tensor::full({1}, DType::i64, v); }

}  // namespace quern::train::checkpoint_test
