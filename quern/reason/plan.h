// ThinkPlan: test-time compute, one plan for all its forms. N candidates think about the question (round 0); in each
// of T further rounds every candidate reads the question and the ends of C candidates of the previous round (τ tokens
// each) and thinks again; a majority of the last round's answers decides.
//   single                  one candidate (N = 1, T = 0)
//   vote:N                  self-consistency: N candidates, majority of their answers (T = 0)
//   best:N                  best-of-N: N candidates, the one with the highest mean token probability
//   rsa:NxCxT               whole traces are read (τ = β)
//   mrsa:NxCxT              Markovian: only tails are read, so prompts stay below question + C·τ
//   delethink:T             one chain in T + 1 pieces, each beginning with the tail of the one before (N = C = 1)
//   pacore:NxCxT            what is read is the finished answer text, not the reasoning
//   hybrid:NxCxT            the answer text if there is one, else the tail of the reasoning
// Options follow, separated by commas: beta=2048 (thinking tokens per candidate), tau=512 (tokens of a tail),
// final=4096 (tokens of a response of the last round), seed=1.
#pragma once
#include <cstdint>
#include <string>

namespace quern::reason {

struct ThinkPlan {
  enum class Carry { reasoning, answer, either } carry = Carry::reasoning;
  enum class Choose { majority, likeliest } choose = Choose::majority;
  int64_t n = 1, c = 1, t = 0;
  int64_t beta = 0, tau = 0,
          final = 0;   // 0: beta = the request's max_tokens, tau = beta / 4 (rsa: beta), final = beta
  bool whole = false;  // rsa: τ = β
  uint64_t seed = 0;

  std::string name() const;  // as parse_plan reads it, without the budgets
};

ThinkPlan parse_plan(const std::string& text);  // throws Error naming the part
// Budgets filled in and checked against the model's context: question + C·τ + β must fit.
ThinkPlan resolved(ThinkPlan p, int64_t max_tokens);

}  // namespace quern::reason
