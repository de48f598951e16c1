// CheckpointReader: reads a committed checkpoint piece by piece under any sharding. Files are memory-mapped; a
// requested piece is intersected with the stored chunks and only common runs are copied, so no rank holds more than it
// asked for. A chunk's checksum is verified at its first access; a damaged, short or missing file is an Error that
// names file and tensor. Reading is thread-safe.
#pragma once
#include <atomic>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "quern/base/json.h"
#include "quern/base/mmap.h"
#include "quern/train/checkpoint/format.h"

namespace quern::train {

class CheckpointReader {
 public:
  explicit CheckpointReader(const std::filesystem::path& step_folder);
  ~CheckpointReader();
  CheckpointReader(CheckpointReader&&) noexcept;

  const std::filesystem::path& folder() const { return folder_; }
  int64_t step() const { return commit_.step; }
  const Json& state() const { return state_; }
  const std::vector<StoredTensor>& tensors() const { return tensors_; }
  const StoredTensor* find(const std::string& name, const std::string& role) const;  // null when absent

  // The elements of a piece, in its order. Throws Error when the tensor is absent.
  Tensor read(const std::string& name, const std::string& role, const Piece& piece) const;
  Tensor read(const std::string& name, const std::string& role) const;  // all of it
  void read_into(const StoredTensor& t, const Piece& piece, std::span<std::byte> out) const;
  const StoredTensor& at(const std::string& name, const std::string& role) const;

  void verify() const;  // every checksum

 private:
  void open_file(const std::string& name, int64_t bytes);
  std::string holders(const std::string& file) const;  // "tensor 'a' (m) and 3 more"
  const std::byte* checked(const StoredTensor& t, size_t chunk) const;

  std::filesystem::path folder_;
  CheckpointCommit commit_;
  Json state_;
  std::vector<StoredTensor> tensors_;
  std::map<std::pair<std::string, std::string>, size_t> place_;
  std::map<std::string, std::unique_ptr<MappedFile>> files_;
  std::vector<std::unique_ptr<std::atomic<bool>[]>> good_;  // a flag a chunk
};

}  // namespace quern::train
