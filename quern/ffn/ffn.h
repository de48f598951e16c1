// Interface of feed-forward layers, which act on each token alone. A router may read what the router of the layer
// below wrote for the same token (ZAYA's depth averaging); DepthCarry passes that from block to block within one
// forward pass.
#pragma once
#include "quern/nn/expert_routes.h"
#include "quern/nn/module.h"

namespace quern::comm {
class Communicator;  // comm/communicator.h
}

namespace quern::ffn {

struct DepthCarry {
  grad::Var router_state;  // [T, R], undefined before the first router
  nn::RouteSlots routes;   // of this layer: choices to record or to replay
};

class Ffn : public nn::Module {
 public:
  virtual grad::Var forward(grad::Tape& tape, const grad::Var& x_TD, DepthCarry& carry) = 0;
  // Experts per token, 0 without any: the slots of this layer in recorded routes.
  virtual int64_t routed() const { return 0; }
  // The experts are shared by the ranks of `group` from now on (moe/moe_ffn.h); null: every rank computes alone.
  virtual void share(comm::Communicator* /*group*/) {}
};

}  // namespace quern::ffn
