// Interface of constrained decoding. A ConstraintSource is shared by requests; each sequence starts a TokenConstraint
// of its own. The engine asks it for allowed tokens before sampling, and tells it every sampled token. Forced tokens
// bypass it.
#pragma once
#include <cstdint>
#include <memory>
#include <span>

namespace quern::infer {

class TokenConstraint {
 public:
  virtual ~TokenConstraint() = default;
  // Bit t: token t may come next (stop ids aside). Valid until the next call; ids beyond it may not come.
  virtual std::span<const uint64_t> allowed() = 0;
  // The same of one token, for less than a new mask costs: a greedy answer asks for its likeliest token first.
  virtual bool allows(int32_t token) {
    const std::span<const uint64_t> bits = allowed();
    const auto t = static_cast<size_t>(token);
    return t / 64 < bits.size() && (bits[t / 64] >> (t % 64) & 1) != 0;
  }
  virtual bool may_end() const = 0;  // a stop id may come next
  virtual void accept(int32_t token) = 0;
  virtual bool finished() const = 0;  // nothing but the end can come
};

class ConstraintSource {
 public:
  virtual ~ConstraintSource() = default;
  virtual std::unique_ptr<TokenConstraint> start() const = 0;
};

}  // namespace quern::infer
