// Test helper: one folder of tests/goldens, and comparing a model with it.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "quern/models/checkpoint.h"
#include "quern/nn/builtin_registry.h"

namespace quern {

struct Golden {
  explicit Golden(const std::string& name);
  std::filesystem::path folder;
  std::vector<int32_t> tokens, rows;
  Tensor logits;  // [rows, V]
  bool has_gradients() const { return std::filesystem::exists(folder / "grads.safetensors"); }
};

std::unique_ptr<models::Model> load_golden(const Golden& g, DType dtype, bool pack);

// Largest |a − b| over the rows, relative to the largest |b|.
double relative_error(const Tensor& a, const Tensor& b);

// Logit rows of the first n tokens, computed whole; then the largest relative error against the golden rows < n.
double logit_error(models::Model& model, const Golden& g, int64_t n);

// Mean next-token cross-entropy of the first `tokens` golden tokens and its gradients against torch autograd's:
// returns the worst relative error over parameters (relative to the parameter's largest gradient) and its name.
struct GradientError {
  double worst = 0, loss = 0;
  std::string name;
};
GradientError gradient_error(models::Model& model, const Golden& g, int64_t tokens, bool bf16 = false,
                             bool recompute = false);

}  // namespace quern
