// A fine-tuning run once its data and recipe stand: training with held-out losses and sample answers, early stopping, and
// the best adapter as a PEFT folder.
#pragma once
#include <filesystem>
#include <optional>
#include <vector>

#include "quern/train/finetune/finetune_rows.h"
#include "quern/train/finetune/finetune_settings.h"

namespace quern::cli {

struct FinetuneJob {
  train::Recipe recipe;
  std::filesystem::path out;  // of the adapter; OUT/run holds metrics and checkpoints
  int64_t patience = 0;       // 0: never stops early
  bool resume = false;
  std::vector<train::FinetuneRow> questions;  // held-out chats that are answered while it trains
};

struct FinetuneResult {
  double before = 0, best = 0;                       // held-out loss in nats per token, or by pair
  std::optional<double> accuracy = {}, margin = {};  // of held-out pairs, at the best loss
  int64_t best_step = 0, steps = 0, parameters = 0;
  bool finished = false;  // false: interrupted, to be resumed
};

FinetuneResult run_finetune(const FinetuneJob& job);

}  // namespace quern::cli
