// Perplexity of a model on a text, and its KL divergence from a reference model. The tokens are split into windows of
// `context`; the state is reset at each window, whose first token is not predicted. With `kv` the model's attention
// uses a KV cache of that type, with the window as the prompt; the reference uses none.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "quern/models/model.h"

namespace quern {

struct Perplexity {
  int64_t tokens = 0;    // predicted
  double nll = 0;        // mean negative log-likelihood, nats per token
  double nll_error = 0;  // standard error of that mean
  // Against a reference model, when one is given:
  double kl = 0;        // mean KL(reference ‖ model), nats per token
  double same_top = 0;  // share of positions with the same most likely token
  double reference_nll = 0;
};

Perplexity perplexity(Model& model, std::span<const int32_t> tokens, int64_t context, int32_t begin = -1,
                      Model* reference = nullptr, const std::function<void(const Perplexity&)>& progress = {},
                      std::optional<DType> kv = {});

}  // namespace quern
