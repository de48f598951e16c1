// Interface of feed-forward layers, which act on each token alone. A router may read what the router of the layer
// below wrote for the same token (ZAYA's depth averaging); DepthCarry passes that from block to block within one
// forward pass.
#pragma once
#include "quern/nn/expert_routes.h"
#include "quern/nn/module.h"

namespace quern::ffn {

struct DepthCarry {
  grad::Var router_state;  // [T, R], undefined before the first router
  nn::RouteSlots routes;   // of this layer: choices to record or to replay
};

class Ffn : public nn::Module {
 public:
  virtual grad::Var forward(grad::Tape& tape, const grad::Var& x_TD, DepthCarry& carry) = 0;
};

}  // namespace quern::ffn
