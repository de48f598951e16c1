#include "quern/verify/text_counts.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

#include "quern/text/unicode/unicode.h"
#include "quern/text/unicode/utf8.h"
#include "quern/verify/answer_text.h"

namespace quern::verify {
namespace {

bool is_alphanumeric(char32_t c) { return text::unicode_is_letter(c) || text::unicode_is_number(c); }

std::vector<std::string_view> words_between_blanks(std::string_view s) {
  std::vector<std::string_view> out;
  size_t from = s.npos;
  bool holds = false;
  const auto end_word = [&](size_t at) {
    if (from != s.npos && holds) out.push_back(s.substr(from, at - from));
    from = s.npos, holds = false;
  };
  for (size_t i = 0; i < s.size();) {
    const auto [cp, len] = text::utf8_at(s, i);
    if (text::unicode_is_space(cp)) {
      end_word(i);
    } else {
      if (from == s.npos) from = i;
      holds = holds || is_alphanumeric(cp);
    }
    i += len;
  }
  end_word(s.size());
  return out;
}

constexpr std::array<std::string_view, 24> kAbbreviations = {
    "mr", "mrs", "ms",  "dr",  "prof",   "st", "vs", "etc", "e.g", "i.e",  "jr",  "sr",
    "no", "fig", "inc", "ltd", "approx", "cf", "al", "a.m", "p.m", "dept", "gen", "rev"};

// Whether a full stop after `before` belongs to a word: an initial or an abbreviation.
bool is_abbreviation(std::string_view before) {
  const size_t blank = before.find_last_of(" \t\n(\"'");
  const std::string_view word = blank == before.npos ? before : before.substr(blank + 1);
  if (word.size() == 1 && word[0] >= 'A' && word[0] <= 'Z' && word[0] != 'I') return true;
  bool letters = word.size() >= 3 && word.size() % 2 == 1;  // U.S, e.g
  for (size_t i = 0; i < word.size() && letters; ++i)
    letters = i % 2 == 1 ? word[i] == '.' : std::isalpha(static_cast<unsigned char>(word[i])) != 0;
  if (letters) return true;
  const std::string lower = lower_case(word);
  return word.size() <= 6 && std::ranges::find(kAbbreviations, lower) != kAbbreviations.end();
}

bool is_cjk_end(char32_t c) { return c == 0x3002 || c == 0xFF01 || c == 0xFF1F; }
bool is_end_mark(char32_t c) { return c == '.' || c == '!' || c == '?' || c == 0x2026 || is_cjk_end(c); }
bool is_closing(char32_t c) {
  return c == '"' || c == '\'' || c == ')' || c == ']' || c == '*' || c == 0x201D || c == 0x2019 || c == 0xBB ||
         c == 0x300D;
}

bool is_rule(std::string_view line) {
  line = trimmed(line);
  return line.size() >= 3 && line.find_first_not_of('*') == line.npos;
}

}  // namespace

std::vector<std::string_view> lines_of(std::string_view s) {
  std::vector<std::string_view> out;
  for (size_t from = 0; from <= s.size();) {
    const size_t end = std::min(s.find('\n', from), s.size());
    out.push_back(s.substr(from, end - from));
    from = end + 1;
  }
  return out;
}

int64_t count_words(std::string_view s) { return static_cast<int64_t>(words_between_blanks(s).size()); }

int64_t count_sentences(std::string_view s) {
  int64_t n = 0;
  bool open = false;  // a letter or digit since the last end
  for (size_t i = 0; i < s.size();) {
    const auto [cp, len] = text::utf8_at(s, i);
    const size_t at = i;
    i += len;
    if (is_alphanumeric(cp)) open = true;
    if (!open || !is_end_mark(cp)) continue;
    bool cjk = is_cjk_end(cp), only_stop = cp == '.';
    while (i < s.size()) {
      const auto [next, size] = text::utf8_at(s, i);
      if (!is_end_mark(next) && !is_closing(next)) break;
      cjk = cjk || is_cjk_end(next), only_stop = only_stop && !is_end_mark(next);
      i += size;
    }
    const bool at_end = i >= s.size() || text::unicode_is_space(text::utf8_at(s, i).cp);
    const bool abbreviation =
        only_stop && i < s.size() && is_abbreviation(s.substr(at > 16 ? at - 16 : 0, std::min<size_t>(at, 16)));
    if ((at_end || cjk) && !abbreviation) ++n, open = false;
  }
  return n + (open ? 1 : 0);
}

int64_t count_paragraphs(std::string_view s) {
  int64_t n = 0;
  bool inside = false;
  for (std::string_view line : lines_of(s)) {
    const bool between = trimmed(line).empty() || is_rule(line);
    if (!between && !inside) ++n;
    inside = !between;
  }
  return n;
}

int64_t count_bullets(std::string_view s) {
  return std::ranges::count_if(lines_of(s), [](std::string_view line) {
    line = trimmed(line);
    return line.starts_with("* ") || line.starts_with("- ") || line.starts_with("+ ") || line.starts_with("• ");
  });
}

int64_t count_placeholders(std::string_view s) {
  int64_t n = 0;
  for (std::string_view line : lines_of(s))
    for (size_t at = 0; (at = line.find('[', at)) != line.npos;) {
      const size_t end = line.find_first_of("[]", at + 1);
      if (end == line.npos) break;
      n += line[end] == ']' && !trimmed(line.substr(at + 1, end - at - 1)).empty() ? 1 : 0;
      at = end + (line[end] == ']' ? 1 : 0);
    }
  return n;
}

int64_t count_highlights(std::string_view s) {
  int64_t n = 0;
  for (std::string_view line : lines_of(s))
    for (size_t at = 0; (at = line.find('*', at)) != line.npos;) {
      const size_t stars = std::min(line.find_first_not_of('*', at), line.size()) - at;
      const size_t begin = at + stars, end = line.find('*', begin);
      if (end == line.npos) break;
      const size_t closing = std::min(line.find_first_not_of('*', end), line.size()) - end;
      const std::string_view inside = line.substr(begin, end - begin);
      const bool inside_word = at > 0 && std::isalnum(static_cast<unsigned char>(line[at - 1])) != 0;  // 2*3*4
      const bool tight = !inside.empty() && trimmed(inside).size() == inside.size();
      if (stars <= 2 && closing == stars && tight && !inside_word) {
        ++n, at = end + closing;
      } else {
        at = end;
      }
    }
  return n;
}

int64_t count_capital_words(std::string_view s) {
  return std::ranges::count_if(words_between_blanks(s), [](std::string_view w) {
    int64_t letters = 0;
    for (size_t i = 0; i < w.size();) {
      const auto [cp, len] = text::utf8_at(w, i);
      i += len;
      if (!text::unicode_is_letter(cp)) continue;
      if (text::unicode_lower(cp) == cp) return false;
      ++letters;
    }
    return letters >= 2;
  });
}

int64_t count_keyword(std::string_view given, std::string_view keyword) {
  std::string s(given), word(keyword);
  text::unicode_lowercase(s), text::unicode_lowercase(word);
  if (word.empty()) return 0;
  int64_t n = 0;
  for (size_t at = 0; (at = s.find(word, at)) != s.npos;) {
    const size_t end = at + word.size();
    const bool before =
        at > 0 && is_alphanumeric(text::utf8_before(s, at).cp) && is_alphanumeric(text::utf8_at(word, 0).cp);
    const bool after = end < s.size() && is_alphanumeric(text::utf8_at(s, end).cp) &&
                       is_alphanumeric(text::utf8_before(word, word.size()).cp);
    n += !before && !after ? 1 : 0;
    at = before || after ? at + text::utf8_at(s, at).len : end;
  }
  return n;
}

int64_t count_sections(std::string_view s, std::string_view marker) {
  const std::string wanted = lower_case(marker);
  return std::ranges::count_if(lines_of(s), [&](std::string_view line) {
    while (!line.empty() && (line[0] == '#' || line[0] == '*' || line[0] == ' ')) line.remove_prefix(1);
    const std::string lower = lower_case(line);
    if (!lower.starts_with(wanted)) return false;
    const std::string_view rest = trimmed(std::string_view(lower).substr(wanted.size()));
    return !rest.empty() && rest.size() < lower.size() - wanted.size() &&
           std::isalnum(static_cast<unsigned char>(rest[0])) != 0;
  });
}

}  // namespace quern::verify
