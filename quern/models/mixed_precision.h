// Mixed precision of a quantized model: which matrices of a 4-bit model are stored in 8 bits, within a budget of bytes.
// Matrices are judged in groups: a matrix alone, the experts of a layer together. The sensitivity of a group g is
//     KL(p ‖ p_g), the mean over the tokens of a text,
// p from the bf16 model, p_g from the same model with g alone in 4 bits. Groups go to 8 bits in the order of sensitivity
// per byte that this adds; one that no longer fits is passed over. Cost: one pass over the text, and one packing of the
// bf16 model, per group; tokens × vocabulary × 4 bytes for p.
// Without a text the order is by kind (default_rank).
#pragma once
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "quern/kernels/quant/quant_format.h"
#include "quern/models/model.h"
#include "quern/nn/registry.h"
#include "quern/tensor/tensor.h"

namespace quern::models {

// What a quantized folder of a model would hold, in the order in which the model prepacks.
struct QuantizedShape {
  struct Matrix {
    std::string name;
    int64_t n, k;
    kernels::QuantFormat format;  // as the model asks for it
  };
  std::vector<Matrix> matrices;
  std::vector<std::pair<std::string, Shape>> plain;  // parameters that stay as they are
  int64_t weights() const;                           // of all matrices
  int64_t bytes() const;                             // of all matrices in their formats
};
// `model` has no values, and is of no further use.
QuantizedShape quantized_shape(Model& model, const kernels::QuantFormat& body, const kernels::QuantFormat& head);
// A bound of what model.safetensors takes beside tensors: its header.
int64_t header_bytes(const QuantizedShape& shape);

struct MatrixGroup {
  std::string name;
  std::vector<size_t> matrices;    // of the shape
  int64_t weights = 0, added = 0;  // bytes that 8 bits take more; less than 0 for a few columns, which q4 pads
  std::optional<double> kl;        // nats per token, where measured
  bool raised = false;             // goes to 8 bits
};
// Groups of the matrices that the shape has in `low`.
std::vector<MatrixGroup> matrix_groups(const QuantizedShape& shape, const kernels::QuantFormat& low);

struct SensitivityOptions {
  kernels::QuantFormat body, head;     // of the 4-bit model
  std::span<const int32_t> text = {};  // in documents of 512 tokens
  std::function<void(const MatrixGroup&)> progress = {};
};
// Measures every group of the model in `from`.
void measure_sensitivity(const nn::Registry& registry, const std::filesystem::path& from, const SensitivityOptions& o,
                         std::vector<MatrixGroup>& groups);

// Lower goes to 8 bits first: matrices that many others depend on and that are small (Mamba's dt and x projections,
// adapters, routers), then the first and the last eighth of the layers, then the rest; small ones first.
int default_rank(const std::string& name, int64_t layers);

// Throws Error where no choice of formats fits.
void check_budget(const QuantizedShape& shape, const std::vector<MatrixGroup>& groups, int64_t budget);
// Raises groups within `budget` bytes of all matrices, and sets the formats in the shape.
void raise_groups(QuantizedShape& shape, std::vector<MatrixGroup>& groups, int64_t budget);

}  // namespace quern::models
