#include "tests/hygiene/cpp_text.h"

#include <algorithm>

namespace quern::hygiene {

void scan(const std::string& text, const OnText& name, const OnText& literal) {
  int line = 1;
  bool comment = false;  // in a comment that ends with its line
  const auto part = [&](size_t from, size_t to) { return std::string_view(text).substr(from, to - from); };
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == '\n') {
      comment = false, ++line, ++i;
    } else if (!comment && text.compare(i, 2, "//") == 0) {
      comment = true, i += 2;
    } else if (!comment && text.compare(i, 2, "R\"") == 0) {
      const size_t open = text.find('(', i);
      const std::string close = ")" + text.substr(i + 2, open - i - 2) + "\"";
      const size_t end = std::min(text.find(close, open), text.size());
      literal(line, part(open + 1, end));
      line += static_cast<int>(std::ranges::count(part(i, end), '\n'));
      i = end + close.size();
    } else if (c == '"' || (c == '\'' && !comment)) {
      size_t end = i + 1;
      for (; end < text.size() && text[end] != c && text[end] != '\n'; ++end)
        if (text[end] == '\\' && !comment) ++end;
      if (c == '"' && !comment) literal(line, part(i + 1, std::min(end, text.size())));
      if (comment && (end == text.size() || text[end] == '\n')) end = i;  // a quotation mark that nothing closes
      i = end + 1;
    } else if (std::isdigit(static_cast<unsigned char>(c))) {
      while (i < text.size() && (in_word(text[i]) || text[i] == '.' || (text[i] == '\'' && !comment))) ++i;
    } else if (in_word(c)) {
      size_t end = i;
      while (end < text.size() && in_word(text[end])) ++end;
      name(line, part(i, end));
      i = end;
    } else {
      ++i;
    }
  }
}

}  // namespace quern::hygiene
