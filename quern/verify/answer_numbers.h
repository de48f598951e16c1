// Numbers read out of an answer. `text` is what final_answer() gives: lower case, single spaces.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace quern::verify {

std::optional<int64_t> answer_number(std::string_view text);  // "-12" and nothing else; at most 18 digits
std::optional<int64_t> answer_clock(std::string_view text);   // "9:05" as minutes after midnight, below 24:00
std::optional<std::vector<int64_t>> answer_numbers(std::string_view text);  // one or more, and nothing else

// All of the text is one integer of at most 18 digits: "12", "-3", "+4", "1,250".
std::optional<int64_t> integer_in(std::string_view text);

// All of the text is a list of integers: "1, 2, 3", "1 2 3", "(1, 2)", "[1; 2]", "1 -> 2". Empty without any.
std::vector<int64_t> integers_in(std::string_view text);

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

// "1,250" without its commas; empty where they do not part groups of three.
std::string without_groups(std::string_view digits);

}  // namespace quern::verify
