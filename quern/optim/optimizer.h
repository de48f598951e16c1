// Optimizer: the plug-in face. An optimizer is an algorithm without memory of its own: it declares, parameter by
// parameter, the named parts of state it needs, and is handed them at every step. So a checkpoint saves, reshapes and
// initialises optimizer state (`m`, `v`, `muon_m`, `step`) without knowing which optimizer it belongs to.
// A part with the parameter's shape follows the parameter wherever it is cut; a part of shape {1} is kept whole.
#pragma once
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "quern/nn/module.h"

namespace quern {

struct OptimizerPart {
  std::string role;
  DType dtype = DType::f32;
  Shape shape;  // starts at zero
};

// One parameter and what its optimizer keeps for it.
struct OptimizerSlot {
  std::string name;
  Parameter* parameter = nullptr;
  double lr_scale = 1;        // of the group and the layer
  std::vector<Tensor> state;  // as declared by Optimizer::state, in that order
  Tensor working;             // when defined: a bf16 copy of the value, rewritten with it
};

struct OptimizerStep {
  double lr = 0;
  double grad_scale = 1;  // gradients are multiplied by it on the way in: clipping without a pass over memory
};

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  // What it keeps for a parameter; throws Error for one it cannot update.
  virtual std::vector<OptimizerPart> state(const std::string& name, const Parameter& p) const = 0;
  // One step over slots that all have a gradient. Values are f32. The result does not depend on the thread count.
  virtual void step(std::span<OptimizerSlot* const> slots, const OptimizerStep& s) const = 0;
};

// Multi-tensor walk: f(slot, begin, end) over every element of every slot, in pieces of fixed size handed to threads.
void each_piece(std::span<OptimizerSlot* const> slots,
                const std::function<void(OptimizerSlot&, int64_t begin, int64_t end)>& f);
void refresh_working(const OptimizerSlot& slot, int64_t begin,
                     int64_t end);  // working = bf16(value), if there is one

}  // namespace quern
