// A text as the prefix cache knows it.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace quern::infer {

// Tokens, and as what variant of the model they were processed: choice_key of the adapters; empty: the model itself.
struct PrefixText {
  std::span<const int32_t> tokens;
  std::string_view variant = {};
  PrefixText(std::span<const int32_t> t, std::string_view of = {}) : tokens(t), variant(of) {}
  PrefixText(const std::vector<int32_t>& t, std::string_view of = {}) : tokens(t), variant(of) {}
  PrefixText until(int64_t n) const { return {tokens.first(static_cast<size_t>(n)), variant}; }
};

}  // namespace quern::infer
