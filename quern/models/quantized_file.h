// Quantized model folders: matrices are stored in the layout the kernels read, made by `quern quantize`. The folder
// holds config.json (with quantization_config, quant_method "quern"), the tokenizer's files and one model.safetensors:
//   packed.00000 …   u8, the blobs of kernels/quant/quant_layout.h in the order in which the model prepacks
//   everything else  as ordinary tensors under the model's own names (norms, convolutions, routers, biases)
//   __metadata__     quern.packed.version "1"; quern.packed: JSON {scheme, head, matrices: [{name, n, k, scheme}],
//                    parameters: [names that live in packed blobs]}; a matrix has its own format, which in mixed
//                    precision is another than the body's
// Loading memory-maps the file and uses the blobs in place.
#pragma once
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "quern/base/json.h"
#include "quern/kernels/quant/error_feedback.h"
#include "quern/nn/weight_prepacking.h"
#include "quern/tensor/safetensors.h"

namespace quern::models {

constexpr const char* kQuantizedVersion = "1";

Json to_json(const kernels::QuantFormat& s);
kernels::QuantFormat quant_format_from_json(const Json& j, const std::string& where);

// Hands out the blobs of a folder in the order they were recorded; what the model asks for must be what is there.
class QuantizedReader : public nn::PrepackHook {
 public:
  // Null when config.json names no packed form of ours; throws Error when it does and the file is not whole. The
  // weights, model.safetensors of `folder`, must outlive the reader.
  static std::unique_ptr<QuantizedReader> open(const std::filesystem::path& folder, const Json& config,
                                               const TensorFolder& weights);

  kernels::QuantFormat body() const { return body_; }
  kernels::QuantFormat head() const { return head_; }
  std::map<std::string, int64_t> matrices_by_format() const;
  bool covers(const std::string& parameter) const { return parameters_.count(parameter) > 0; }
  void finish() const;  // throws Error unless every blob was asked for

  kernels::PrepackedWeight matrix(const std::string& name, int64_t n, int64_t k, const kernels::QuantFormat& s,
                                  const std::function<Tensor()>& plain) override;
  bool stored() const override { return true; }

 private:
  QuantizedReader(std::string where, const TensorFolder& weights) : where_(std::move(where)), weights_(weights) {}
  struct Entry {
    std::string name;
    int64_t n, k;
    kernels::QuantFormat scheme;
  };
  std::string where_;  // model.safetensors
  const TensorFolder& weights_;
  kernels::QuantFormat body_, head_;
  std::vector<Entry> entries_;
  std::set<std::string> parameters_;
  size_t next_ = 0;
};

// Quantizes what a model packs, and keeps it for save(). `formats`: of every matrix, in order; empty: as the model asks.
class QuantizationRecorder : public nn::PrepackHook {
 public:
  struct Row {  // one matrix of the report
    std::string name;
    int64_t n, k, bytes;
    kernels::QuantFormat scheme;
    double error;                        // root of Σ(w − W)² / Σ w²
    std::optional<double> output_error;  // of Σ E[(x·(w − W))²] / Σ E[(x·w)²], where inputs are known
  };
  using Inputs = std::function<kernels::InputFactor(size_t i)>;  // of the i-th matrix, asked for in order
  explicit QuantizationRecorder(Inputs inputs, std::function<void(const Row&)> report,
                                std::vector<kernels::QuantFormat> formats = {})
      : inputs_(std::move(inputs)), report_(std::move(report)), formats_(std::move(formats)) {}

  kernels::PrepackedWeight matrix(const std::string& name, int64_t n, int64_t k, const kernels::QuantFormat& s,
                                  const std::function<Tensor()>& plain) override;
  bool leaves_dense() const override { return true; }
  // plain: parameters kept as they are; parameters: the names of those that were packed.
  void save(const std::filesystem::path& file, const NamedTensors& plain, const std::vector<std::string>& parameters,
            const kernels::QuantFormat& body, const kernels::QuantFormat& head) const;

 private:
  Inputs inputs_;
  std::function<void(const Row&)> report_;
  std::vector<kernels::QuantFormat> formats_;
  std::vector<std::pair<Row, Tensor>> packed_;
};

// Packs in bf16 what would be quantized and watches the inputs of matrices, some at a time.
class QuantizationCalibrator : public nn::PrepackHook {
 public:
  kernels::PrepackedWeight matrix(const std::string& name, int64_t n, int64_t k, const kernels::QuantFormat& s,
                                  const std::function<Tensor()>& plain) override;
  // From now on watches the matrices from `first` whose sums fit into `bytes`, one at least. Returns the next one.
  size_t watch(size_t first, int64_t bytes);
  kernels::InputSquares take(size_t i) { return std::exchange(*seen_[i].sums, kUnwatched); }

 private:
  static inline const kernels::InputSquares kUnwatched = {{}, -1};
  struct Seen {
    int64_t k;
    std::shared_ptr<kernels::InputSquares> sums;
  };
  std::vector<Seen> seen_;
};

}  // namespace quern::models
