// The shape of a model in the numbers that cost time and memory: its matrix products, parameters and activations,
// counted for each family as its layers are built.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace quern::plan {

enum class Family { llama, zaya, zamba2 };
std::string_view family_name(Family f);
Family parse_family(std::string_view name);  // throws Error naming what exists

struct ModelShape {
  Family family = Family::llama;
  int64_t vocab = 512, width = 256, layers = 8;
  int64_t n_head = 4, n_head_kv = 2, head_dim = 64, ffn = 640;
  int64_t experts = 0, router = 0;                                   // zaya
  int64_t state = 0, invocations = 0, blocks = 0, adapter_rank = 0;  // zamba2
};

// A shape of the family with the proportions of its published models: heads, feed-forward width, experts and states
// follow from width and layers.
ModelShape proportioned(Family family, int64_t width, int64_t layers, int64_t vocab);

struct Product {  // y[T, n] = x[T, k] · Wᵀ
  const char* part;
  int64_t n = 0, k = 0;
  int64_t stored = 1;      // matrices of this shape that the model has
  double per_token = 1;    // of them that a token meets in a forward pass
  bool embedding = false;  // optimized by AdamW
};
std::vector<Product> products(const ModelShape& s);

int64_t parameters(const ModelShape& s);
double active_parameters(const ModelShape& s);                 // that a token meets, the output head included
int64_t matrix_parameters(const ModelShape& s);                // optimized by Muon
double matmul_flops(const ModelShape& s);                      // of one token in a forward pass
double attention_flops(const ModelShape& s, int64_t context);  // of one token of a causal context, forward

// Bytes of f32 activations kept for the backward pass per token.
double activation_bytes(const ModelShape& s);
// Units of token, layer and width: what everything but products is counted in.
double elements(const ModelShape& s);

}  // namespace quern::plan
