// For benchmarks of speculative decoding: outputs whose every token is prescribed, so that random weights do not
// matter.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "quern/base/rng.h"
#include "quern/infer/sampling/constraint.h"

namespace quern::cli {

using ScriptTokens = std::vector<int32_t>;

class Script : public infer::TokenConstraint {
 public:
  Script(const ScriptTokens& tokens, int64_t vocab)
      : tokens_(tokens), bits_(static_cast<size_t>(vocab + 63) / 64, uint64_t{0}) {}
  std::span<const uint64_t> allowed() override {
    if (at_ > 0) bits_[static_cast<size_t>(tokens_[at_ - 1]) / 64] = 0;
    const auto next = static_cast<size_t>(tokens_[at_]);
    bits_[next / 64] = uint64_t{1} << (next % 64);
    return bits_;
  }
  bool may_end() const override { return false; }
  bool finished() const override { return at_ == tokens_.size(); }
  void accept(int32_t) override { ++at_; }

 private:
  const ScriptTokens& tokens_;
  std::vector<uint64_t> bits_;
  size_t at_ = 0;
};

struct Scripted : infer::ConstraintSource {
  ScriptTokens tokens;
  int64_t vocab;
  Scripted(ScriptTokens t, int64_t v) : tokens(std::move(t)), vocab(v) {}
  std::unique_ptr<infer::TokenConstraint> start() const override { return std::make_unique<Script>(tokens, vocab); }
};

inline ScriptTokens fresh_tokens(int64_t n, int64_t vocab, uint64_t seed) {
  ScriptTokens t(static_cast<size_t>(n));
  Rng rng(seed);
  for (int32_t& x : t) x = static_cast<int32_t>(rng.uniform() * static_cast<double>(vocab));
  return t;
}

}  // namespace quern::cli
