// Test helper: answers read with regular expressions, to judge verifiers that read them otherwise.
#pragma once
#include <cctype>
#include <map>
#include <numeric>
#include <optional>
#include <regex>
#include <string>
#include <vector>

#include "quern/gym/problem.h"

namespace quern::gym {

inline std::optional<int64_t> read_integer(const std::string& text) {
  static const std::regex form("([-+]?)(\\d{1,3}(?:,\\d{3})+|\\d+)");
  std::smatch m;
  if (!std::regex_match(text, m, form)) return {};
  const std::string digits = std::regex_replace(m[2].str(), std::regex(","), "");
  if (digits.size() > 18) return {};
  return m[1] == "-" ? -std::stoll(digits) : std::stoll(digits);
}

inline std::vector<int64_t> read_integers(const std::string& text) {
  static const std::regex list("\\((.*)\\)|\\[(.*)\\]|(.*)"), between("->|[,; ]"), whole("[-+]?\\d+");
  std::smatch m;
  if (!std::regex_match(text, m, list)) return {};
  const std::string inside = m[1].matched ? m[1] : m[2].matched ? m[2] : m[3];
  std::vector<int64_t> out;
  for (std::sregex_token_iterator i(inside.begin(), inside.end(), between, -1), end; i != end; ++i) {
    const std::string piece = i->str();
    if (piece.empty()) continue;
    if (!std::regex_match(piece, whole) || !read_integer(piece)) return {};
    out.push_back(*read_integer(piece));
  }
  return out;
}

// Whether both are the same number: "6/8", "0.75" or "1 3/4".
inline bool same_ratio(const std::string& text, const std::string& other) {
  static const std::regex form("([-+]?)(?:(\\d+)\\.(\\d+)|(?:(\\d+) )?(\\d+) ?/ ?(\\d+)|(\\d+))");
  const auto read = [](const std::string& s, __int128& above, __int128& below) {
    std::smatch m;
    if (s.size() > 18 || !std::regex_match(s, m, form)) return false;
    above = 0, below = 1;
    if (m[2].matched) {
      above = std::stoll(m[2].str() + m[3].str());
      for (int64_t i = 0; i < m[3].length(); ++i) below *= 10;
    } else if (m[5].matched) {
      below = std::stoll(m[6]);
      above = std::stoll(m[5]) + (m[4].matched ? std::stoll(m[4]) : 0) * below;
    } else {
      above = std::stoll(m[7]);
    }
    if (m[1] == "-") above = -above;
    return below != 0;
  };
  __int128 a = 0, b = 0, c = 0, d = 0;
  return read(text, a, b) && read(other, c, d) && a * d == c * b;
}

// The numbers of every match of a pattern in a text; 0 for a group without a match.
inline std::vector<std::vector<int64_t>> numbers_of(const std::string& text, const char* pattern) {
  static std::map<std::string, std::regex> known;
  const std::regex& form = known.try_emplace(pattern, pattern).first->second;
  std::vector<std::vector<int64_t>> out;
  for (std::sregex_iterator i(text.begin(), text.end(), form), end; i != end; ++i) {
    out.emplace_back();
    for (size_t k = 1; k < i->size(); ++k) out.back().push_back((*i)[k].length() > 0 ? std::stoll((*i)[k]) : 0);
  }
  return out;
}

// The mutation oracle of an environment whose answer is a text: case, blanks and a full stop at the end do not count.
inline bool is_the_text(const Problem& p, const std::string& answer) {
  static const std::regex ends("^\\s+|[\\s.]+$"), blanks("\\s+");
  const auto plain = [](const std::string& s) {
    std::string out = std::regex_replace(std::regex_replace(s, ends, ""), blanks, " ");
    for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return out;
  };
  return plain(answer) == plain(p.answer);
}

// The mutation oracle of an environment whose answer is one integer.
inline bool is_the_integer(const Problem& p, const std::string& answer) {
  return read_integer(answer) && read_integer(answer) == read_integer(p.answer);
}

}  // namespace quern::gym
