// A low-rank path beside a matrix W [N, K]: y = x·Wᵀ + s·(x·Aᵀ)·Bᵀ, as LoRA adapters have them. It is never merged into
// W, so W may be quantized, and may be shared by several call sites with paths of their own. A site has no path of its own:
// rows choose among those of several adapters (row_adapters.h). On a tape A and B learn:
//   u = s·gy·B,   gB += s·gyᵀ·(x·Aᵀ),   gA += uᵀ·x,   gx += u·A
// With dropout the path, and not W, sees x with some elements zero and the others larger by 1 / (1 − p); the mask is a
// function of (draw, path, element), so that a recomputed layer meets the same one.
// Cost per token: R·(K + N) multiply-adds.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "quern/grad/tape.h"
#include "quern/nn/row_adapters.h"

namespace quern::nn {

// A, B and s of one path; call sites share it.
struct LowRankPair {
  grad::Parameter a_RK, b_NR;                 // f32
  double scale = 1;                           // s
  double dropout = 0;                         // p
  uint64_t stream = 0;                        // of the path's random numbers
  std::shared_ptr<const uint64_t> draw = {};  // of this forward pass; null or 0: nothing is dropped
  kernels::LowRankFactors factors = {};       // of a path that does not learn, as they multiply

  LowRankPair() = default;
  LowRankPair(Tensor a, Tensor b, double s);  // of an adapter that does not learn
};

class LowRank {
 public:
  LowRank() = default;
  LowRank(std::shared_ptr<LowRankPair> pair) : pair_(std::move(pair)) {}
  static LowRank at_site(size_t site, int64_t n);

  bool defined() const { return pair_ != nullptr || n_ > 0; }
  bool acts(const grad::Tape& tape) const {  // does any row have a path?
    return !tape.bare && (pair_ || (n_ > 0 && tape.adapters));
  }
  const LowRankPair& pair() const { return *pair_; }
  int64_t n() const { return pair_ ? pair_->b_NR.shape[0] : n_; }
  // y + s·(x·Aᵀ)·Bᵀ in the buffer of y, which nobody else may read: columns begin … begin + N. Undefined: y.
  grad::Var beside(grad::Tape& tape, const grad::Var& y, const grad::Var& x_TK, int64_t begin = 0) const;
  grad::Var alone(grad::Tape& tape, const grad::Var& x_TK) const;  // s·(x·Aᵀ)·Bᵀ

 private:
  void add_fixed(const grad::Tape& tape, const Tensor& y_TN, const Tensor& x_TK) const;

  std::shared_ptr<LowRankPair> pair_;
  size_t site_ = 0;  // without a pair
  int64_t n_ = 0;
};

// Where modules find the paths of their matrices while they are packed.
struct LowRankSource {
  virtual ~LowRankSource() = default;
  virtual LowRank find(const std::string& matrix, int64_t n, int64_t k) = 0;  // undefined: there is none
  // Of one matrix that several layers share, at one of them. Names: at this layer, at the first, and at the others. Modules
  // that are really shared have one path for all layers, under the first one's name.
  virtual LowRank find_shared(const std::vector<std::string>& names, int64_t n, int64_t k);
};

}  // namespace quern::nn
