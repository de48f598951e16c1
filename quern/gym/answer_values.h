// Numbers read out of an answer in every form that is as good, and the verdicts on answers that are numbers.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quern/gym/environment.h"

namespace quern::gym {

// All of the text is one integer of at most 18 digits: "12", "-3", "+4", "1,250".
std::optional<int64_t> integer_in(std::string_view text);

// All of the text is a list of integers: "1, 2, 3", "1 2 3", "(1, 2)", "[1; 2]", "1 -> 2". Empty without any.
std::vector<int64_t> integers_in(std::string_view text);

// The text cut at commas, semicolons and blanks, without empty pieces.
std::vector<std::string_view> pieces_of(std::string_view text);

// A rational number in lowest terms, the sign above.
struct Ratio {
  __int128 above = 0, below = 1;
  bool operator==(const Ratio&) const = default;
};

Ratio ratio_of(__int128 above, __int128 below);  // below is not 0
Ratio operator+(const Ratio& a, const Ratio& b);
Ratio operator-(const Ratio& a, const Ratio& b);
Ratio operator*(const Ratio& a, const Ratio& b);
std::string ratio_text(const Ratio& r);  // "3/4", "-2"

// All of the text is one rational number of at most 36 digits: "3/4", "-6/8", "1 3/4", "0.75", "2".
std::optional<Ratio> ratio_in(std::string_view text);

// Whether the final answer is the problem's answer, both read as one integer, a list of integers, a rational number.
Verdict verify_integer(const Problem& p, std::string_view reply);
Verdict verify_integers(const Problem& p, std::string_view reply);
Verdict verify_ratio(const Problem& p, std::string_view reply);

}  // namespace quern::gym
