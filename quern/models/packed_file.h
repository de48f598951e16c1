// Packed folders: a model whose matrices are kept in the form the kernels read, made by `quern quantize`. The folder
// holds config.json (with quantization_config, quant_method "quern"), the tokenizer's files and one
// model.safetensors:
//   packed.00000 …   u8, the blobs of kernels/quant/quant_layout.h in the order in which the model packs
//   everything else  as ordinary tensors under the model's own names (norms, convolutions, routers, biases)
//   __metadata__     quern.packed.version "1"; quern.packed: JSON {scheme, head, matrices: [{name, n, k, scheme}],
//                    parameters: [names that live in packed blobs]}
// Loading maps the file and uses the blobs in place.
#pragma once
#include <filesystem>
#include <memory>
#include <optional>
#include <set>

#include "quern/base/json.h"
#include "quern/nn/packing.h"
#include "quern/tensor/safetensors.h"

namespace quern {

constexpr const char* kPackedVersion = "1";

Json to_json(const WeightScheme& s);
WeightScheme scheme_from_json(const Json& j, const std::string& where);

// Hands out the blobs of a folder in the order they were recorded; what the model asks for must be what is there.
class PackedReader : public PackHook {
 public:
  // Null when config.json names no packed form of ours; throws Error when it does and the file is not whole. The
  // weights, model.safetensors of `folder`, must outlive the reader.
  static std::unique_ptr<PackedReader> open(const std::filesystem::path& folder, const Json& config,
                                            const TensorFolder& weights);

  WeightScheme body() const { return body_; }
  WeightScheme head() const { return head_; }
  bool covers(const std::string& parameter) const { return parameters_.count(parameter) > 0; }
  void finish() const;  // throws Error unless every blob was asked for

  kernels::PackedWeight matrix(const std::string& name, int64_t n, int64_t k, const WeightScheme& s,
                               const std::function<Tensor()>& plain) override;
  bool stored() const override { return true; }

 private:
  PackedReader(std::string where, const TensorFolder& weights) : where_(std::move(where)), weights_(weights) {}
  struct Entry {
    std::string name;
    int64_t n, k;
    WeightScheme scheme;
  };
  std::string where_;  // model.safetensors
  const TensorFolder& weights_;
  WeightScheme body_, head_;
  std::vector<Entry> entries_;
  std::set<std::string> parameters_;
  size_t next_ = 0;
};

// Quantises what a model packs, and keeps it for save().
class PackedRecorder : public PackHook {
 public:
  struct Row {  // one matrix of the report
    std::string name;
    int64_t n, k, bytes;
    WeightScheme scheme;
    double error;  // root of Σ(w − W)² / Σ w²
  };
  // importance: mean x² of every input channel of the i-th matrix, or nothing.
  explicit PackedRecorder(std::vector<std::vector<float>> importance, std::function<void(const Row&)> report)
      : importance_(std::move(importance)), report_(std::move(report)) {}

  kernels::PackedWeight matrix(const std::string& name, int64_t n, int64_t k, const WeightScheme& s,
                               const std::function<Tensor()>& plain) override;
  bool leaves_dense() const override { return true; }
  // plain: parameters kept as they are; parameters: the names of those that were packed.
  void save(const std::filesystem::path& file, const NamedTensors& plain, const std::vector<std::string>& parameters,
            const WeightScheme& body, const WeightScheme& head) const;

 private:
  std::vector<std::vector<float>> importance_;
  std::function<void(const Row&)> report_;
  std::vector<std::pair<Row, Tensor>> packed_;
};

// Packs in bf16 what would be quantised and watches the inputs of every matrix.
class PackedCalibrator : public PackHook {
 public:
  kernels::PackedWeight matrix(const std::string& name, int64_t n, int64_t k, const WeightScheme& s,
                               const std::function<Tensor()>& plain) override;
  std::vector<std::vector<float>> importance() const;  // empty where no row passed

 private:
  std::vector<std::shared_ptr<kernels::InputSquares>> seen_;
};

}  // namespace quern
