// Muon (Jordan et al.; learning rate shared with AdamW after Moonlight): the update of a matrix is its momentum with
// all singular values brought to one.
//   m ← μ·m + g;   u = nesterov ? g + μ·m : m;   O = NewtonSchulz(u);   w ← (1 − lr·decay)·w − lr·scale·O
//   scale: "rms" 0.2·√max(rows, columns), which gives the update AdamW's root mean square;
//          "jordan" √max(1, rows/columns)
// Every logical matrix is updated separately: each expert of a stack; with split_fused also each part of a fused
// matrix (gate and up). State: `muon_m`, f32, the parameter's shape; none with momentum 0 (then u = g).
#pragma once
#include "quern/optim/muon/newton_schulz.h"
#include "quern/optim/optimizer.h"

namespace quern::optim {

struct MuonOptions {
  double momentum = 0.95, weight_decay = 0.1;
  bool nesterov = true, split_fused = false;
  int64_t steps = 0;
  std::string dtype = "bf16", scale = "rms", coefficients = "minimax";
  template <class V>
  void visit(V& v) {
    v("momentum", momentum, "momentum; 0: no buffer, the gradient itself is orthogonalized");
    v("weight_decay", weight_decay, "decoupled weight decay, times the learning rate");
    v("nesterov", nesterov, "Nesterov momentum");
    v("split_fused", split_fused, "orthogonalize the parts of fused matrices (gate, up) separately");
    v("steps", steps, "Newton-Schulz iterations; 0: 6, or 5 with the published coefficients");
    v("dtype", dtype, "type of the Newton-Schulz matrix multiplications: bf16 or f32");
    v("coefficients", coefficients,
      "Newton-Schulz coefficients: minimax: singular values end in [0.7, 1.2]; published: 3.4445, -4.775, 2.0315 at "
      "every step, a wider band");
    v("scale", scale, "scale of the update: rms: 0.2·√max(rows, columns); jordan: √max(1, rows/columns)");
  }
};

// Experts of a stack and, with split_fused, parts laid one upon the other are matrices of their own.
LogicalMatrices logical_matrices(const grad::Parameter& p, const MuonOptions& o);

class Muon : public MatrixOptimizer {
 public:
  explicit Muon(MuonOptions options);  // throws Error naming the field
  std::vector<OptimizerPart> state(const std::string& name, const grad::Parameter& p) const override;
  void step(std::span<OptimizerSlot* const> slots, const OptimizerStep& s) const override;

  LogicalMatrices matrices(const grad::Parameter& p) const override { return logical_matrices(p, o_); }
  double cost(int64_t rows, int64_t columns) const override;
  void direction(OptimizerSlot& slot, int64_t at, int64_t n, const OptimizerStep& s, float* u) const override;
  void orthogonalize(View<float, 2> u) const override { newton_schulz(u, newton_schulz_); }
  void apply(OptimizerSlot& slot, const MatrixPiece& piece, const OptimizerStep& s) const override;

 private:
  double scale(int64_t rows, int64_t columns) const;
  void matrix(OptimizerSlot& slot, int64_t at, int64_t rows, int64_t columns, const OptimizerStep& s) const;
  MuonOptions o_;
  NewtonSchulzOptions newton_schulz_;
};

}  // namespace quern::optim
