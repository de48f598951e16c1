// The state that a sequence mixer carries between tokens. State belongs to a call site (layer, invocation), not to a
// layer. StateSpec declares it part by part: the KV cache (per token) and recurrent state (constant size).
// SequenceState holds it for one sequence, all sites. Caches, prefix reuse, save/restore and memory estimates read
// only these declarations.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "quern/tensor/tensor.h"

namespace quern::mixers {

struct StatePart {
  std::string name;        // "k", "v", "conv", "value"
  bool per_token = false;  // true: one row of `shape` a token, appended; false: one fixed tensor, replaced
  Shape shape;             // of one row, or of the whole fixed tensor
  DType dtype = DType::f32;
  int64_t window = 0;              // per token: only the newest `window` rows are ever read again (0 = all)
  int64_t snapshot_alignment = 1;  // snapshots are exact at multiples of this
  bool snapshots_inside = false;   // fixed: the mixer fills the batch's cuts, so a forward need not end at a snapshot
  int shard_axis = -1;             // axis of `shape` that head-parallel ranks split; -1 = replicated
  bool over_ranks = false;         // the mixer can fill it from a prompt over ranks (ranks/prompt_shards.h)
};

struct StateSpec {
  std::vector<StatePart> parts;
  int64_t bytes_per_token() const;
  int64_t fixed_bytes() const;
};

struct StateSite {
  int layer = 0, invocation = 0;
  StateSpec spec;
};

class SequenceState {
 public:
  SequenceState() = default;
  explicit SequenceState(std::vector<StateSite> sites);
  SequenceState(SequenceState&&) = default;
  SequenceState& operator=(SequenceState&&) = default;  // not copied by accident: fork() says so

  int64_t length() const { return length_; }  // tokens seen so far
  void advance(int64_t n) { length_ += n; }   // the model calls it once, after every site was fed

  // A mixer names the parts of its site; whoever goes through all of them counts, in the order they were declared.
  Tensor& fixed(int site, std::string_view part) { return fixed(site, index_of(site, part)); }  // zero at the start
  Tensor& fixed(int site, int part);
  const Tensor& fixed(int site, int part) const;
  // Reserves rows for n more tokens and returns them: [n, …], strided. Write them before reading rows().
  Tensor append(int site, std::string_view part, int64_t n) { return append(site, index_of(site, part), n); }
  Tensor append(int site, int part, int64_t n);
  Tensor rows(int site, std::string_view part) const { return rows(site, index_of(site, part)); }
  Tensor rows(int site, int part) const;  // every row appended so far: [count, …]
  void reserve(int64_t rows);             // room for this many in all, so that appending neither copies nor fails

  // Snapshots share nothing with the live state; restore brings back the very same bits.
  SequenceState fork() const;
  void truncate(int64_t length);         // only if no site has fixed parts, or length is 0 or length()
  void mark(SequenceState& into) const;  // the length and the fixed parts as they are, no rows: for rewind()
  // Back to `mark`, a state of the same sites with fixed parts as they were when this one was mark.length() long
  // (rows it has none): later rows are dropped, and the fixed parts change places with mark's.
  void rewind(SequenceState& mark);
  int64_t bytes() const;  // live rows and fixed parts
  const std::vector<StateSite>& sites() const { return sites_; }

 private:
  struct Slot {
    Tensor buffer;      // per token: capacity rows; fixed: the tensor
    int64_t count = 0;  // rows in use
  };
  int index_of(int site, std::string_view part) const;
  static void move_rows(Slot& slot, Tensor grown);
  std::vector<StateSite> sites_;
  std::vector<std::vector<Slot>> slots_;  // [site][part]
  int64_t length_ = 0;
};

}  // namespace quern::mixers
