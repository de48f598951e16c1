// Expert parallelism: the experts are sharded over the ranks of a group in even ranges. Every token is sent to the
// ranks of its experts and the results are sent back (all-to-all). Operations on a tape; the backward of each is the
// reverse exchange: gradients take the way of the rows, and return to where these came from.
//   pairs (t, s) with a real expert, by the rank of the expert, then by t and s;  R: pairs that arrive here
//   send  [rows, N] → [R, N]     home  [R, D] → y_t = Σ_s of what came back, [T, D]
// Both directions are collective: all ranks of the group run the same operations in the same order, also without
// tokens. Volume per rank and layer, forward: one row out and one back, and the weight, for every token whose expert
// is remote; the same again in backward.
#pragma once
#include <memory>

#include "quern/comm/communicator.h"
#include "quern/grad/tape.h"

namespace quern::ffn {

class ExpertExchange {
 public:
  ExpertExchange(comm::Communicator& group, const Tensor& expert_Tk, int64_t n_experts);
  const Tensor& expert_R1() const;                                        // of the pairs that arrived, in their order
  grad::Var send_tokens(grad::Tape& tape, const grad::Var& x_TD) const;   // [T, D] → [R, D]
  grad::Var send_weights(grad::Tape& tape, const grad::Var& w_Tk) const;  // [T, k] → [R, 1]
  grad::Var home(grad::Tape& tape, const grad::Var& y_RD) const;          // [R, D] → [T, D]

 private:
  struct Ways;
  std::shared_ptr<const Ways> ways_;
};

}  // namespace quern::ffn
