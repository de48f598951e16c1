// Writes GGUF, version 3: metadata in the order it was set, then tensors, read one at a time as they are written. What
// gguf.h reads back.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "quern/tensor/gguf_blocks.h"
#include "quern/tensor/tensor.h"

namespace quern {

class GgufWriter {
 public:
  using Value = std::variant<uint32_t, float, bool, std::string, std::vector<int32_t>, std::vector<float>,
                             std::vector<std::string>>;
  void set(std::string key, Value v) { metadata_.emplace_back(std::move(key), std::move(v)); }
  // A tensor of this shape, converted from whatever `read` gives to f32, f16, bf16 or q8_0 (rows of whole blocks).
  void add(std::string name, Shape shape, GgufType type, std::function<Tensor()> read);
  size_t tensors() const { return tensors_.size(); }
  // Throws Error when the file cannot be written, or a tensor has another shape than was announced.
  void write(const std::filesystem::path& file) const;

 private:
  struct Entry {
    std::string name;
    Shape shape;
    GgufType type;
    std::function<Tensor()> read;
  };
  std::vector<std::pair<std::string, Value>> metadata_;
  std::vector<Entry> tensors_;
};

}  // namespace quern
