// safetensors: 8 bytes header length, a JSON header {name: {dtype, shape, data_offsets}}, raw little-endian data.
// Files are memory-mapped: a tensor is a window of the page cache until it is converted. Every field of the header is
// checked before use; an error names the file, the tensor and the field. A folder may hold one file, or shards listed
// by model.safetensors.index.json.
#pragma once
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quern/tensor/tensor.h"

namespace quern {

class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::filesystem::path& path);
  struct Entry {
    DType dtype;
    Shape shape;
    size_t begin, end;  // in the file
  };
  const std::map<std::string, Entry>& entries() const { return entries_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  const std::filesystem::path& path() const;
  Tensor tensor(const std::string& name) const;  // shares the mapping; misaligned data is copied

 private:
  std::shared_ptr<class MappedFile> file_;
  std::map<std::string, Entry> entries_;
  std::map<std::string, std::string> metadata_;
};

// A checkpoint's tensors by name: a folder's, or any others that somebody can read.
class TensorFolder {
 public:
  struct Entry {
    std::string_view type;  // as stored, for people
    Shape shape;
    int64_t bytes;
    std::function<Tensor()> read;
  };
  explicit TensorFolder(const std::filesystem::path& folder);
  // `where` names the source in messages.
  TensorFolder(std::filesystem::path where, std::map<std::string, Entry> entries)
      : where_(std::move(where)), entries_(std::move(entries)) {}
  bool contains(const std::string& name) const { return entries_.count(name) > 0; }
  Tensor tensor(const std::string& name) const;
  const Entry& entry(const std::string& name) const;
  std::vector<std::string> names() const;
  std::vector<std::string> unread() const;                                          // never asked for by tensor()
  int64_t bytes() const;                                                            // of all tensors
  const std::map<std::string, std::string>& metadata() const { return metadata_; }  // of model.safetensors

 private:
  std::filesystem::path where_;
  std::map<std::string, Entry> entries_;
  std::map<std::string, std::string> metadata_;
  mutable std::set<std::string> read_;
};

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

// Writes one file (through a sibling and a rename).
void save_safetensors(const std::filesystem::path& path, const NamedTensors& tensors,
                      const std::map<std::string, std::string>& metadata = {});
// Writes model.safetensors, or shards of at most `shard_bytes` and their index.
void save_tensor_folder(const std::filesystem::path& folder, const NamedTensors& tensors,
                        int64_t shard_bytes = int64_t{5} << 30);

}  // namespace quern
