// How far a prompt is, while a person waits for the first token at a terminal.
#pragma once
#include <atomic>
#include <memory>

#include "apps/quern/cli/wait_line.h"
#include "quern/mixers/ranks/prompt_shards.h"
#include "quern/models/model_wrapper.h"

namespace quern::cli {

// A model that counts the tokens it processes.
class CountingModel : public models::ModelWrapper {
 public:
  using ModelWrapper::ModelWrapper;
  grad::Var hidden(grad::Tape& tape, std::span<const int32_t> ids, const mixers::Batch& batch) override {
    grad::Var h = ModelWrapper::hidden(tape, ids, batch);
    const mixers::PromptShards* prompt = batch.placement.prompt_shards();
    tokens_ += prompt ? prompt->rows().tokens() : std::ssize(ids);
    return h;
  }
  int64_t tokens() const { return tokens_; }

 private:
  std::atomic<int64_t> tokens_ = 0;
};

// Shows progress from here until first_token().
class PrefillProgress {
 public:
  // all: tokens of the prompt; 0: not known before it is rendered.
  PrefillProgress(const CountingModel& model, int64_t all) {
    line_ = std::make_unique<WaitLine>([&model, all, before = model.tokens()](double seconds) {
      const int64_t done = model.tokens() - before;
      const double rate = static_cast<double>(done) / seconds;
      if (all == 0 || done == 0) return fmt::format("reading the prompt: {} tokens, {:.0f} tokens/s", done, rate);
      return fmt::format("reading the prompt: {} of {} tokens, {:.0f} tokens/s, {:.0f} s left", done, all, rate,
                         static_cast<double>(all - done) / rate);
    });
  }
  void first_token() { line_.reset(); }

 private:
  std::unique_ptr<WaitLine> line_;
};

}  // namespace quern::cli
