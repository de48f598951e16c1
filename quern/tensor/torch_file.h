// State dicts written by torch.save: .bin, .pt and .pth files, as zip archives (PyTorch 1.6 and later) and in the form
// before that. Files are memory-mapped as safetensors are: a tensor whose elements lie in order and aligned is a window
// of the page cache. Views with offsets and strides, and tensors that share a storage, are followed; a view whose
// elements are not in order is copied. The pickle inside is read as data (quern/tensor/pickle.h): nothing is executed.
// The state dict is the object itself, or what it has under one of state_dict, model_state_dict, model and module. What
// DistributedDataParallel and torch.compile put before every name ("module.", "_orig_mod.") is taken off.
#pragma once
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "quern/tensor/tensor.h"

namespace quern {

class TorchFile {
 public:
  explicit TorchFile(const std::filesystem::path& path);
  // The bytes of a file called `path`, kept alive by `owner`.
  TorchFile(std::filesystem::path path, std::span<const std::byte> bytes, std::shared_ptr<const void> owner);

  struct Entry {
    std::string_view type;  // as stored, for people
    DType dtype;            // as read: i16 becomes i32
    Shape shape, strides;   // strides count elements
    size_t begin, end;      // the first element and past the last one, in the file
  };
  const std::map<std::string, Entry>& entries() const { return entries_; }
  const std::filesystem::path& path() const { return path_; }
  Tensor tensor(const std::string& name) const;

 private:
  std::filesystem::path path_;
  std::span<const std::byte> bytes_;
  std::shared_ptr<const void> owner_;
  std::map<std::string, Entry> entries_;
};

}  // namespace quern
