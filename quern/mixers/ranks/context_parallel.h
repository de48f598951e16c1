// Context parallelism: the tokens of a batch are sharded over P ranks. T tokens (documents concatenated) are cut into
// 2P even chunks; rank r holds chunks r and 2P−1−r (zig-zag), which balances causal attention. A sequence mixer
// computes on its local tokens and fetches remote ones through:
//   with_halo  halo exchange: rows just before each local segment (convolutions, delayed values); their gradients are
//              sent back and added at the owner rank
//   gather     all rows of every rank, in rank order (keys and values); gradients are reduced to the owner rank
// A segment of the local batch is the part of one document that one chunk holds. All ranks run the same operations in
// the same order; forward and backward of each are collective.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "quern/comm/communicator.h"
#include "quern/mixers/mixer.h"

namespace quern::mixers {

// How attention gets remote keys and values: gathered by all ranks at once, or passed from rank to rank.
enum class ContextParallelKind { gather, ring };

class ContextParallel {
 public:
  // documents: lengths, the same on all ranks. The communicator must outlive this.
  ContextParallel(comm::Communicator& comm, const std::vector<int64_t>& documents,
                  ContextParallelKind form = ContextParallelKind::gather);

  struct Segment {
    int64_t begin, end, document;  // global rows; `document`: the first row of the document
  };
  comm::Communicator& comm() const { return comm_; }
  ContextParallelKind form() const { return form_; }
  int64_t tokens() const { return tokens_; }                        // on all ranks
  const std::vector<int64_t>& rows() const { return rows_[me()]; }  // global numbers of the local rows
  const std::vector<int64_t>& rows_of(int rank) const { return rows_[static_cast<size_t>(rank)]; }
  const std::vector<Segment>& segments() const { return segments_[me()]; }
  const std::vector<int64_t>& counts() const { return counts_; }          // rows per rank
  const std::vector<int64_t>& documents() const { return document_of_; }  // first row of the document, row by row
  int64_t document_length(const Segment& segment) const;                  // of all of its rows, on every rank
  Batch batch() const;                                                    // of the local rows; refers to this object
  Batch with_halo_batch(int64_t halo) const;  // with that many rows in front of every segment

  // Halo exchange: [n, …] → [n + segments·halo, …]; rows before a document's first are zero.
  grad::Var with_halo(grad::Tape& tape, const grad::Var& x, int64_t halo) const;
  grad::Var with_zero_halo(grad::Tape& tape, const grad::Var& x, int64_t halo) const;  // the same shape, no exchange
  grad::Var narrow(grad::Tape& tape, const grad::Var& x, int64_t halo) const;          // removes the halo
  Tensor gather(const Tensor& x) const;           // [n, …] → [tokens, …] in rank order
  Tensor reduce_to_owner(const Tensor& g) const;  // [tokens, …] in rank order → sum of this rank's rows
  Tensor gather_in_order(const Tensor& x) const;  // [n, …] → [tokens, …] by number

 private:
  size_t me() const { return static_cast<size_t>(comm_.rank()); }
  struct Halo {                              // one rank's part of an exchange
    std::vector<int64_t> out_rows, in_rows;  // local rows sent, halo rows received; by peer
    std::vector<int64_t> out_counts, in_counts;
  };
  Halo halo_rows(int64_t halo) const;
  grad::Var widened(grad::Tape& tape, const grad::Var& x, int64_t halo, std::optional<Halo> fetched) const;

  comm::Communicator& comm_;
  ContextParallelKind form_;
  int64_t tokens_ = 0;
  std::vector<std::vector<int64_t>> rows_;
  std::vector<std::vector<Segment>> segments_;
  std::vector<int64_t> counts_, document_of_;
  std::vector<int> owner_;      // owner rank, by global row
  std::vector<int64_t> local_;  // row number on the owner
};

}  // namespace quern::mixers
