// GGUF, versions 2 and 3, little-endian: magic, counts, typed metadata, a directory of tensors, aligned raw data. The
// file is memory-mapped. Everything before the data is checked before use; an error names the file, the key or tensor,
// and the field.
#pragma once
#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "quern/base/json.h"
#include "quern/tensor/gguf_blocks.h"
#include "quern/tensor/tensor.h"

namespace quern {

class GgufFile {
 public:
  explicit GgufFile(const std::filesystem::path& path);
  struct Entry {
    GgufType type;
    Shape shape;        // outermost extent first, as everywhere here; the file has them the other way round
    size_t begin, end;  // in the file
  };
  const std::map<std::string, Entry>& entries() const { return entries_; }
  const std::map<std::string, Json>& metadata() const { return metadata_; }
  const std::filesystem::path& path() const;
  // f32, f16 and bf16 share the mapping (misaligned data is copied); q8_0, q4_k and q6_k become f32.
  Tensor tensor(const std::string& name) const;

 private:
  std::shared_ptr<class MappedFile> file_;
  std::map<std::string, Entry> entries_;
  std::map<std::string, Json> metadata_;
};

}  // namespace quern
