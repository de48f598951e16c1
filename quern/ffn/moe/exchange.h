// Expert parallel: the experts of a mixture lie over the ranks of a group, rank r has the even cut of them, and every
// token travels to where its experts are and comes back with what they made of it. Three operations on a tape, whose
// backward functions are each other's ways: gradients go where the rows went, and come home where the rows came from.
//   pairs (t, s) with a real expert, by the rank of the expert, then by t and s;  R: pairs that arrive here
//   send  [rows, N] → [R, N]     home  [R, D] → y_t = Σ_s of what came back, [T, D]
// Both directions are collective: all ranks of the group run the same operations in the same order, without tokens
// too. Volume a rank and layer, forward: a row out and a row back for every token whose expert is elsewhere, and its
// weight; backward the same again.
#pragma once
#include <memory>

#include "quern/comm/communicator.h"
#include "quern/grad/tape.h"

namespace quern {

class ExpertExchange {
 public:
  ExpertExchange(Communicator& group, const Tensor& expert_Tk, int64_t n_experts);
  const Tensor& expert_R1() const;                      // of the pairs that arrived, in their order
  Var send_tokens(Tape& tape, const Var& x_TD) const;   // [T, D] → [R, D]
  Var send_weights(Tape& tape, const Var& w_Tk) const;  // [T, k] → [R, 1]
  Var home(Tape& tape, const Var& y_RD) const;          // [R, D] → [T, D]

 private:
  struct Ways;
  std::shared_ptr<const Ways> ways_;
};

}  // namespace quern
