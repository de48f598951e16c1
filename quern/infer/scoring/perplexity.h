// Perplexity of a model on a text, and its KL divergence from a reference model. The tokens are split into windows;
// the state is reset at each window, whose first token is not predicted.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "quern/models/model.h"

namespace quern::infer {

struct Perplexity {
  int64_t tokens = 0;    // predicted
  double nll = 0;        // mean negative log-likelihood, nats per token
  double nll_error = 0;  // standard error of that mean
  // Against a reference model, when one is given:
  double kl = 0;        // mean KL(reference ‖ model), nats per token
  double same_top = 0;  // share of positions with the same most likely token
  double reference_nll = 0;
};

struct PerplexityOptions {
  int64_t context = 512;               // tokens of a window
  int32_t begin = -1;                  // a window also ends before each of these, a text's first token; -1 = none
  models::Model* reference = nullptr;  // for the KL divergence
  std::optional<DType> kv = {};  // the model's attention uses a KV cache of this type, with the window as the prompt
  std::function<void(const Perplexity&)> progress = {};  // after each window
};

Perplexity perplexity(models::Model& model, std::span<const int32_t> tokens, const PerplexityOptions& options);

}  // namespace quern::infer
