// Draft model for speculative decoding: a smaller model with the same tokenizer. It has sequence states and a prefix
// cache of its own and reads the text only when it is asked; then it samples token after token with the sequence's own
// sampler and seed, all sequences in one batch. Drafted tokens that were rejected are rolled back at the next request.
// If it fails, drafts are lost, but no output.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "quern/infer/cache/prefix_cache.h"
#include "quern/infer/sampling/sampler.h"
#include "quern/models/model.h"

namespace quern {

// What the draft model carries for one answer.
class DraftReader {
 public:
  bool failed() const { return failed_; }
  void let_go() {  // of its state; one that failed stays so
    const bool failed = failed_;
    *this = DraftReader();
    failed_ = failed;
  }

 private:
  friend class DraftModel;
  SequenceState state_, rollback_;  // the mark: before the first guess that was fed
  std::vector<int32_t> drafted_;    // fed behind what is certain
  bool failed_ = false;
};

struct DraftRequest {
  DraftReader& reader;
  std::span<const int32_t> tokens;  // prompt and answer, beginning as they did the last time
  Sampler& sampler;
  std::span<const int64_t> stop_ids;  // nothing is guessed behind them
  int64_t max_draft;                  // tokens to guess
  int64_t max_length;                 // tokens the answer may come to have
  double token_cost;                  // of a guessed token, as a share of a step
  std::vector<int32_t> draft = {};    // out: perhaps none
  bool read = false;                  // out: it had read all there is, so that an empty draft is its own
  bool ends = false;                  // out: it thinks that the answer ends here
};

class DraftModel {
 public:
  // cache_bytes: of its prefix cache; 0 = none.
  DraftModel(Model& model, DType kv, int64_t cache_bytes);

  // max_rows: of the text that are read for all of them together; who is not through is asked again another time.
  // columns: of the greater model's logits.
  void make_drafts(std::span<DraftRequest> requests, int64_t max_rows, int64_t columns);
  // Tokens it would have to read to be asked.
  int64_t unread(const DraftReader& reader, std::span<const int32_t> tokens) const;
  // The answer is whole: what was read stays in the cache.
  void remember(DraftReader& reader, std::span<const int32_t> tokens);

  int64_t max_positions() const { return model_.max_positions(); }
  int64_t reader_bytes(int64_t tokens) const;  // state of an answer that comes to have so many
  int64_t cache_bytes() const { return cache_.bytes(); }
  double seconds_each() const { return seconds_each_; }  // of a guessed token, by the late ones; 0 = not known

 private:
  struct Feed {  // what one forward reads
    std::vector<int32_t> ids = {};
    std::vector<SequenceState*> states = {};
    std::vector<int64_t> lengths = {}, wanted = {};  // whose logits are asked for, of ids
    void add(SequenceState& state, std::span<const int32_t> tokens, bool want);
  };
  void begin(const DraftRequest& request);
  void settle(DraftReader& reader, std::span<const int32_t> tokens) const;
  Tensor logits(const Feed& feed, int64_t columns);
  void record_seconds(double seconds, size_t askers);
  void prefill_and_draft(std::span<DraftRequest> requests, int64_t max_rows, int64_t columns);

  Model& model_;
  std::vector<StateSite> sites_;
  bool fixed_;  // some part of a state is
  PrefixCache cache_;
  double seconds_each_ = 0;
  bool warm_ = false;  // it has had a forward
};

}  // namespace quern
