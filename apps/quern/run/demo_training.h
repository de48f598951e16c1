// The demo's training loop: packed sequences, AdamW with warmup and cosine decay over a time budget, and the balancing
// controller of ZAYA's router. It shows that every part of the model learns; quern train runs recipes.
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "quern/models/zaya/zaya_model.h"

namespace quern::cli {

struct DemoProgress {
  int64_t step = 0, tokens = 0;
  double loss = 0, seconds = 0, share_done = 0, lr = 0;
};

struct DemoOptions {
  double seconds = 60, peak_lr = 4e-3, clip = 1.0;
  int64_t tokens_a_step = 1024;
};

// document(i): tokens of the i-th training document, its end token included. on_step returns false to stop early.
DemoProgress train_demo(models::ZayaModel& model, const std::function<std::vector<int32_t>(uint64_t)>& document,
                        const DemoOptions& options, const std::function<bool(const DemoProgress&)>& on_step);

// Mean next-token loss of documents, in nats a token.
double held_out_loss(models::Model& model, const std::vector<std::vector<int32_t>>& documents);

}  // namespace quern::cli
