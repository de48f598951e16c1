// Tokenizer patterns on PCRE2-JIT (only regex.cc includes its header). Patterns come from tokenizer.json and are
// written for Oniguruma; \s, \w, \d and \h are rewritten to the sets meant there, since PCRE2's differ at the edges
// (U+180E, marks). Matching is bounded: catastrophic backtracking is an Error, not a hang. Cost: about 50 ns per
// match.
#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace quern::text {

class RegexScratch {  // one per thread that matches
 public:
  RegexScratch();
  ~RegexScratch();
  RegexScratch(RegexScratch&&) noexcept;
  RegexScratch& operator=(RegexScratch&&) noexcept;

 private:
  friend class Regex;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

class Regex {
 public:
  static constexpr size_t kNone = static_cast<size_t>(-1);
  explicit Regex(std::string_view pattern);  // throws Error showing the pattern and the place

  struct Match {
    size_t begin = kNone, end = kNone;
    explicit operator bool() const { return begin != kNone; }
  };
  // Leftmost match at or after `from` in valid UTF-8.
  Match find(std::string_view s, size_t from, RegexScratch& scratch) const;

 private:
  struct Impl;
  std::shared_ptr<const Impl> impl_;
};

}  // namespace quern::text
