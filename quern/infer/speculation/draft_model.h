// Draft model for speculative decoding: a smaller model with the same tokenizer. It has sequence states and a prefix
// cache of its own and reads the text only when it is asked; then it samples token after token with the sequence's own
// sampler and seed, all sequences in one batch. Drafted tokens that were rejected are rolled back at the next request.
// If it fails, drafts are lost, but no output.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "quern/base/stopwatch.h"
#include "quern/infer/cache/prefix_cache.h"
#include "quern/infer/sampling/sampler.h"
#include "quern/models/model.h"

namespace quern::infer {

// State of the draft model for one sequence.
class DraftReader {
 public:
  bool failed() const { return failed_; }
  void let_go() {  // releases the state; a failed one stays failed
    const bool failed = failed_;
    *this = DraftReader();
    failed_ = failed;
  }

 private:
  friend class DraftModel;
  mixers::SequenceState state_, rollback_;  // rollback point: before the first drafted token that was fed
  std::vector<int32_t> drafted_;            // fed after the verified tokens
  bool failed_ = false;
};

struct DraftRequest {
  DraftReader& reader;
  std::span<const int32_t> tokens;  // prompt and output; a prefix is the same as in the last request
  Sampler& sampler;
  std::span<const int64_t> stop_ids;  // drafts end at them
  int64_t max_draft;                  // tokens to draft
  int64_t max_length;                 // maximum length of the sequence
  double token_cost;                  // of a drafted token, as a fraction of a step
  std::vector<int32_t> draft = {};    // out: possibly empty
  bool read = false;                  // out: all tokens were read, so an empty draft is deliberate
  bool ends = false;                  // out: it predicts that the output ends here
};

class DraftModel {
 public:
  // cache_bytes: size of its prefix cache; 0 = none. seconds: the clock that forward passes are timed by.
  DraftModel(models::Model& model, DType kv, int64_t cache_bytes, std::function<double()> seconds = steady_seconds);

  // max_rows: prompt tokens read for all requests together; unfinished ones continue at a later call. columns: size of
  // the target model's vocabulary.
  void make_drafts(std::span<DraftRequest> requests, int64_t max_rows, int64_t columns);
  // Tokens it would have to prefill before drafting.
  int64_t unread(const DraftReader& reader, std::span<const int32_t> tokens) const;
  // The output is complete: what was read stays in the prefix cache.
  void remember(DraftReader& reader, std::span<const int32_t> tokens);

  int64_t max_positions() const { return model_.max_positions(); }
  int64_t reader_bytes(int64_t tokens) const;  // state of a sequence of that many tokens
  int64_t cache_bytes() const { return cache_.bytes(); }
  double seconds_each() const { return seconds_each_; }  // per drafted token, recent average; 0 = not known

 private:
  struct Feed {  // input of one forward pass
    std::vector<int32_t> ids = {};
    std::vector<mixers::SequenceState*> states = {};
    std::vector<int64_t> lengths = {}, wanted = {};  // rows of ids whose logits are needed
    void add(mixers::SequenceState& state, std::span<const int32_t> tokens);
    void want_last() { wanted.push_back(static_cast<int64_t>(ids.size()) - 1); }  // logits of the last row added
  };
  struct Prefill {
    Feed feed = {};
    std::vector<DraftRequest*> read = {};  // requests whose whole text is read then
    bool timed = true;                     // its time is that of a drafted token: no text adds more than a draft
  };
  void begin(const DraftRequest& request);
  void settle(DraftReader& reader, std::span<const int32_t> tokens) const;
  Tensor logits(const Feed& feed, int64_t columns);
  void record_seconds(double seconds, size_t askers);
  int64_t add_text(DraftRequest& request, int64_t max_rows, Prefill& pass);
  Prefill plan_prefill(std::span<DraftRequest> requests, int64_t max_rows);
  void prefill_and_draft(std::span<DraftRequest> requests, int64_t max_rows, int64_t columns);

  models::Model& model_;
  std::vector<mixers::StateSite> sites_;
  bool fixed_;  // some part of the state is recurrent
  PrefixCache cache_;
  std::function<double()> seconds_;
  double seconds_each_ = 0;
  bool warm_ = false;  // it has run a forward pass
};

}  // namespace quern::infer
