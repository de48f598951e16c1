#include "tests/docs/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>

#include "quern/base/error.h"

namespace quern::docs {
namespace {

std::string_view trimmed(std::string_view s) {
  while (!s.empty() && (s.front() == ' ' || s.front() == '\t')) s.remove_prefix(1);
  while (!s.empty() && (s.back() == ' ' || s.back() == '\t')) s.remove_suffix(1);
  return s;
}

bool letter(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

struct Plain {  // prose with one blank between words, and the line that each byte is from
  std::string text;
  std::vector<int> lines;
};

Plain plain(std::string_view prose) {
  Plain p;
  int line = 1;
  for (const char c : prose) {
    const bool blank = c == ' ' || c == '\t' || c == '\n';
    if (c != '*' && !(blank && p.text.ends_with(' '))) {
      p.text += blank ? ' ' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      p.lines.push_back(line);
    }
    if (c == '\n') ++line;
  }
  return p;
}

std::optional<size_t> find_word(const std::string& text, const std::string& word, size_t from, bool whole) {
  for (size_t at = from; (at = text.find(word, at)) != text.npos; ++at) {
    const size_t end = at + word.size();
    if ((at == 0 || !letter(text[at - 1])) && (!whole || end == text.size() || !letter(text[end]))) return at;
  }
  return std::nullopt;
}

}  // namespace

WordList read_words(std::string_view text) {
  WordList out;
  for (int number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line[0] == '#') continue;
    const std::string_view word = trimmed(line.substr(1));
    const size_t colon = word.find(": ");
    if (line[0] == '+' && !word.empty())
      out.wanted.emplace_back(word);
    else if (line[0] == '-' && colon != word.npos && colon > 0)
      out.unwanted.push_back({std::string(word.substr(0, colon)), std::string(trimmed(word.substr(colon + 2)))});
    else
      fail("line {}: expected '+ term' or '- private word: term', found '{}'", number, line);
  }
  return out;
}

std::vector<std::string> missing_words(const std::vector<Page>& pages, const WordList& words) {
  std::vector<std::string> texts;
  for (const Page& p : pages) texts.push_back(plain(p.prose).text);
  std::vector<std::string> out;
  for (const std::string& word : words.wanted) {
    const std::string sought = plain(word).text;
    if (std::none_of(texts.begin(), texts.end(),
                     [&](const std::string& t) { return find_word(t, sought, 0, false).has_value(); }))
      out.push_back(word);
  }
  return out;
}

std::vector<Complaint> unwanted_words(const std::vector<Page>& pages, const WordList& words) {
  std::vector<Complaint> out;
  for (const Page& p : pages) {
    const Plain text = plain(p.prose);
    for (const WordList::Unwanted& u : words.unwanted) {
      const bool stem = u.word.ends_with('*');
      const std::string sought = plain(u.word).text;  // without the asterisk
      for (std::optional<size_t> at = find_word(text.text, sought, 0, !stem); at;
           at = find_word(text.text, sought, *at + 1, !stem))
        out.push_back({p.name, text.lines[*at], fmt::format("'{}': say {}", u.word, u.instead)});
    }
  }
  std::stable_sort(out.begin(), out.end(), [](const Complaint& a, const Complaint& b) {
    return a.page != b.page ? a.page < b.page : a.line < b.line;
  });
  return out;
}

}  // namespace quern::docs
