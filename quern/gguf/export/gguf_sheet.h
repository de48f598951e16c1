// A .gguf file in the making: metadata under the architecture's own prefix, and the tensors of a model taken by their
// Hugging Face names. Every tensor is taken once; one that nobody takes has no place in the file.
#pragma once
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "quern/models/model.h"
#include "quern/tensor/gguf_writer.h"

namespace quern::gguf {

class GgufSheet {
 public:
  // Tensors are read from `weights` through the model while the file is written: both must live until then.
  GgufSheet(models::Model& model, const TensorFolder& weights, std::string arch, GgufType matrices);

  const std::string& arch() const { return arch_; }
  void own(const std::string& key, GgufWriter::Value v) { writer_.set(arch_ + "." + key, std::move(v)); }
  void count(const std::string& key, int64_t v) { own(key, static_cast<uint32_t>(v)); }
  void real(const std::string& key, double v) { own(key, static_cast<float>(v)); }
  void set(const std::string& key, GgufWriter::Value v) { writer_.set(key, std::move(v)); }

  using Change = std::function<Tensor(const Tensor&)>;
  bool has(const std::string& hf) const { return parameters_.count(hf) > 0; }
  const Shape& shape(const std::string& hf) const { return parameters_.at(hf)->shape; }
  void take(const std::string& hf, const std::string& name) { take(hf, name, shape(hf), {}); }
  void take(const std::string& hf, const std::string& name, Shape shape, Change change);
  void take_both(const std::string& hf, const std::string& name);  // weight, and bias where there is one
  // The upper and the lower half of the rows, [gate ‖ up].
  void take_halves(const std::string& hf, const std::string& above, const std::string& below);
  // Of every head the first `rotary` rows with rotary pairs as neighbors.
  void take_rotated(const std::string& hf, const std::string& name, int64_t heads, int64_t rotary);
  // Runs of rows (elements of a vector), each by its factor.
  using Factors = std::vector<std::pair<int64_t, double>>;
  void take_scaled(const std::string& hf, const std::string& name, const Factors& rows);
  void add(const std::string& name, const Tensor& f32);  // a tensor that the model does not have
  // Throws Error naming a tensor that nobody took.
  const GgufWriter& finished() const;

 private:
  void put(const std::string& name, Shape shape, std::function<Tensor()> read);

  models::Model& model_;
  const TensorFolder& weights_;
  std::string arch_;
  GgufType matrices_;
  std::map<std::string, grad::Parameter*> parameters_;
  std::set<std::string> taken_;
  GgufWriter writer_;
};

}  // namespace quern::gguf
