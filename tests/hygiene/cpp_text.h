// Words and string literals of C++ text, as the hygiene rules read them.
#pragma once
#include <cctype>
#include <functional>
#include <string>
#include <string_view>

namespace quern::hygiene {

inline bool in_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// `text` lies inside the text that is scanned.
using OnText = std::function<void(int line, std::string_view text)>;

// Calls name(line, text) for every word of C++ text outside of its string literals and of what its comments quote,
// and literal(line, text) for every string literal, escapes and all.
void scan(const std::string& text, const OnText& name, const OnText& literal);

}  // namespace quern::hygiene
