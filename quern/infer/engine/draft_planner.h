// Speculative decoding in a step: which sequences draft, by prompt lookup or by the draft model, and how many tokens.
// A draft token is worth its row when the chance that it is accepted exceeds its cost, both as a share of a step.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "quern/infer/engine/step_plan.h"
#include "quern/infer/speculation/batch_cost_model.h"
#include "quern/infer/speculation/draft_model.h"

namespace quern::infer {

// A draft model's share of the engine's cache_bytes: as its state weighs beside the model's.
int64_t draft_cache_bytes(int64_t cache_bytes, const std::vector<mixers::StateSite>& model,
                          const std::vector<mixers::StateSite>& draft);

struct DraftPlannerOptions {
  std::vector<mixers::StateSite> sites;  // of the model
  int64_t vocab_size = 0;
  int64_t chunk = 512;
  bool deterministic = false;  // nothing depends on earlier requests or on measured times
};

class DraftPlanner {
 public:
  DraftPlanner(DraftPlannerOptions options, std::unique_ptr<DraftModel> draft);  // null: no draft model

  void start(Sequence& s) const;  // with speculative decoding, if its request wants it
  void make_drafts(std::span<const StepSegment> segments);
  // Of a step that only decoded.
  void record_step(int64_t rows, double seconds) { cost_model_.record(rows, seconds); }
  void finish(Sequence& s);  // what the draft model read of it stays in its cache

  int64_t reader_bytes(int64_t tokens) const { return draft_ ? draft_->reader_bytes(tokens) : 0; }
  int64_t cache_bytes() const { return draft_ ? draft_->cache_bytes() : 0; }

 private:
  double cost_after(int64_t rows) const;        // of one more row
  double draft_model_cost(int64_t rows) const;  // of a token of the draft model
  bool worth_prefilling(Sequence& s, int64_t room) const;

  DraftPlannerOptions o_;
  std::unique_ptr<DraftModel> draft_;
  BatchCostModel cost_model_;
  DraftLengthPolicy draft_policy_;  // as the last output left it
};

}  // namespace quern::infer
