// Collects the tensors of a GGUF file under the names and in the shapes of a Hugging Face folder. Nothing is read
// before somebody asks for it; matrices in blocks of bits or in f16 are then unpacked to `unpacked` (f32 or bf16).
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "quern/tensor/gguf.h"
#include "quern/tensor/safetensors.h"

namespace quern::gguf {

class GgufTensors {
 public:
  GgufTensors(std::shared_ptr<const GgufFile> file, DType unpacked) : file_(std::move(file)), unpacked_(unpacked) {}
  const GgufFile& file() const { return *file_; }
  bool has(const std::string& name) const { return file_->entries().count(name) > 0; }
  const Shape& shape(const std::string& name) const { return entry(name).shape; }

  using Change = std::function<Tensor(const Tensor&)>;
  // The file's tensor `name` under the name `hf`, changed by `change` where there is one; `shape` is then the result's.
  void add(const std::string& hf, const std::string& name);
  void add(const std::string& hf, const std::string& name, Shape shape, Change change);
  // Two tensors of one shape, the first above the second along their rows: [gate ‖ up].
  void add_stacked(const std::string& hf, const std::string& above, const std::string& below);
  // Rows (elements of a bias) of `heads` heads whose rotary pairs are neighbors in the file, put back in halves: of
  // every head the first `rotary` rows,  file row 2j + s  =  row s·rotary/2 + j here.
  void add_rotated(const std::string& hf, const std::string& name, int64_t heads, int64_t rotary);
  void skip(const std::string& name) { used_.insert(name); }
  // Those that nobody added keep their names, so that whoever loads the model reports them.
  TensorFolder folder() &&;

 private:
  const GgufFile::Entry& entry(const std::string& name) const;
  Tensor read(const std::string& name) const;
  void put(const std::string& hf, const GgufFile::Entry& stored, Shape shape, int64_t bytes,
           std::function<Tensor()> read);

  std::shared_ptr<const GgufFile> file_;
  DType unpacked_;
  std::map<std::string, TensorFolder::Entry> entries_;
  std::set<std::string> used_;
};

}  // namespace quern::gguf
