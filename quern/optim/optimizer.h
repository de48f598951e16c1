// Optimizer: the plug-in interface. An optimizer is an algorithm without memory: it declares the named parts of state
// that each parameter needs and is handed them at every step. So a checkpoint saves, reshards and initializes
// optimizer state (`m`, `v`, `muon_m`, `step`) without knowing which optimizer it belongs to. A part with the
// parameter's shape is sharded like the parameter; a part of shape {1} is kept whole. Ranks may each hold a flat piece
// of every parameter (quern/train/zero/zero.h); an optimizer declares whether it can update pieces.
#pragma once
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/nn/module.h"
#include "quern/tensor/view.h"

namespace quern::optim {

struct OptimizerPart {
  std::string role;
  DType dtype = DType::f32;
  Shape shape;  // starts at zero
};

// What an optimizer keeps for one parameter, by the roles it declared.
class OptimizerState {
 public:
  OptimizerState() = default;
  explicit OptimizerState(std::span<const OptimizerPart> parts);  // zeros
  void add(std::string role, Tensor t) { parts_.emplace_back(std::move(role), std::move(t)); }
  const Tensor& at(std::string_view role) const;
  Tensor& at(std::string_view role);
  size_t size() const { return parts_.size(); }
  int64_t bytes() const;

 private:
  std::vector<std::pair<std::string, Tensor>> parts_;
};

// One parameter and what its optimizer keeps for it.
struct OptimizerSlot {
  std::string name;
  // What is moved: the parameter itself, or a flat piece of it, which may be empty.
  grad::Parameter* parameter = nullptr;
  grad::Parameter* whole = nullptr;  // the parameter
  int64_t begin = 0;                 // of the piece
  double lr_scale = 1;               // of the group and the layer
  OptimizerState state;              // as declared by Optimizer::state
  Tensor working;                    // when defined: a bf16 copy of the value, rewritten with it
};

struct OptimizerStep {
  double lr = 0;
  double grad_scale = 1;  // gradients are multiplied by it on the way in: clipping without a pass over memory
};

// What of a parameter its update looks at together.
enum class OptimizerRange { whole, elements, matrices };

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  virtual OptimizerRange cut() const { return OptimizerRange::whole; }
  // What it keeps for a parameter; throws Error for one it cannot update.
  virtual std::vector<OptimizerPart> state(const std::string& name, const grad::Parameter& p) const = 0;
  // One step over slots that all have a gradient. Values are f32. The result does not depend on the thread count.
  virtual void step(std::span<OptimizerSlot* const> slots, const OptimizerStep& s) const = 0;
};

// The logical matrices of a parameter: equal [rows, columns] blocks, one after the other.
struct LogicalMatrices {
  int64_t count, rows, columns;
};

// Elements [at, at + n) of a slot, and their part of the orthogonalized direction of a [rows, columns] matrix.
struct MatrixPiece {
  int64_t at, n;
  const float* direction;  // [n]
  int64_t rows, columns;
};

// An optimizer in three acts, of which only the middle one needs a matrix whole: so pieces can do the first and the
// last where they lie. `at` and `n` are elements of the slot's piece.
class MatrixOptimizer : public Optimizer {
 public:
  OptimizerRange cut() const override { return OptimizerRange::matrices; }
  virtual LogicalMatrices matrices(const grad::Parameter& p) const = 0;
  virtual double cost(int64_t rows, int64_t columns) const = 0;  // of the middle act, flops
  // u = the direction before it is orthogonalized; moves the state.
  virtual void direction(OptimizerSlot& slot, int64_t at, int64_t n, const OptimizerStep& s, float* u) const = 0;
  virtual void orthogonalize(View<float, 2> u) const = 0;
  // The value follows the orthogonalized direction.
  virtual void apply(OptimizerSlot& slot, const MatrixPiece& piece, const OptimizerStep& s) const = 0;
};

// f(i) for every item, whose count is not looked at: large matrices one after the other with all threads, small ones
// one to a thread, the dearest first.
void each_matrix(const MatrixOptimizer& rule, std::span<const LogicalMatrices> items,
                 const std::function<void(size_t)>& f);

// Multi-tensor walk: f(slot, begin, end) over every element of every slot, in pieces of fixed size handed to threads.
void each_piece(std::span<OptimizerSlot* const> slots,
                const std::function<void(OptimizerSlot&, int64_t begin, int64_t end)>& f);
void refresh_working(const OptimizerSlot& slot, int64_t begin,
                     int64_t end);  // working = bf16(value), if there is one

}  // namespace quern::optim
