// Gradients of a leaky stack by learning rules that differ in what they propagate through time and depth. With R =
// ∂h_t/∂h_{t−1} = (1 − α) + α ψ W and J = ∂h_t/∂x_t = α ψ F, and κ the diagonal of R:
//   bptt             everything: the gradient
//   full             deep e-prop (arXiv 2512.24506): κ in place of R, J whole
//   ablate-temporal  in addition, an upper layer carries no influence of a lower one through time
//   ablate-spatial   J = 0 across layers: the lower ones learn nothing
//   no-carry         κ = 0 everywhere: each step separately
//   readout          the readout only
// Three ways to compute them. adjoint: backward through stored activations, O(T L n²), every rule. trace: forward,
// step by step, storing only traces; n² numbers for a layer's own, n³ for each layer above; every rule but bptt. rtrl:
// forward with whole Jacobians, O(L² n⁴) per step: bptt. The readout's gradient is always exact.
#pragma once
#include <array>
#include <string>
#include <string_view>

#include "lab/eprop/stack.h"

namespace quern::lab {

enum class CreditRule { bptt, full, ablate_temporal, ablate_spatial, no_carry, readout };
inline constexpr std::array kCreditRules = {
    CreditRule::bptt,           CreditRule::full,     CreditRule::ablate_temporal,
    CreditRule::ablate_spatial, CreditRule::no_carry, CreditRule::readout};
std::string_view name_of(CreditRule rule);
CreditRule credit_rule(std::string_view name);  // throws Error

StackWeights adjoint_gradient(const StackShape& s, const StackWeights& w, const Episodes& e, const StackRun& r,
                              CreditRule rule);
StackWeights trace_gradient(const StackShape& s, const StackWeights& w, const Episodes& e, const StackRun& r,
                            CreditRule rule);
StackWeights rtrl_gradient(const StackShape& s, const StackWeights& w, const Episodes& e, const StackRun& r);

// Numbers one episode's traces take.
int64_t trace_numbers(const StackShape& s);

// What a stack does not learn (off-diagonal weights, biases) gets gradient zero; the readout's is filled in.
void finish_gradient(const StackShape& s, const StackRun& r, StackWeights& g);

// Of the recurrent and feed-forward matrices (and biases) of one layer; 0 where either is zero.
double cosine(const LayerWeights& a, const LayerWeights& b);

}  // namespace quern::lab
