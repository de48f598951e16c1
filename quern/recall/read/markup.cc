// Headings of Markdown (# and underlined ones) and of reStructuredText (underlined, or between two lines of
// punctuation; the level is the order in which a kind of line first appears).
#include <algorithm>

#include "quern/recall/read/document.h"
#include "quern/text/unicode/utf8.h"

namespace quern::recall {
namespace {

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

struct Line {
  size_t begin;
  std::string_view text;  // without white space at its end
  size_t indent() const {
    const size_t n = text.find_first_not_of(' ');
    return n == text.npos ? text.size() : n;
  }
  bool blank() const { return text.empty(); }
};

std::vector<Line> lines_of(std::string_view s) {
  std::vector<Line> out;
  for (size_t begin = 0; begin < s.size();) {
    const size_t end = std::min(s.find('\n', begin), s.size());
    std::string_view line = s.substr(begin, end - begin);
    while (!line.empty() && is_space(line.back())) line.remove_suffix(1);
    out.push_back({begin, line});
    begin = end + 1;
  }
  return out;
}

// The mark that opens or closes a block of code: three or more ` or ~; 0 when there is none.
size_t fence_of(std::string_view line, char& mark) {
  const size_t at = line.find_first_not_of(' ');
  if (at == line.npos || at > 3 || (line[at] != '`' && line[at] != '~')) return 0;
  const size_t end = std::min(line.find_first_not_of(line[at], at), line.size());
  if (end - at < 3) return 0;
  mark = line[at];
  return end - at;
}

bool consists_of(std::string_view line, char c) { return !line.empty() && line.find_first_not_of(c) == line.npos; }

// The title of "## Title ##"; its level, or 0.
uint32_t hash_heading(std::string_view line, std::string& title) {
  const size_t at = line.find_first_not_of(' ');
  if (at == line.npos || at > 3 || line[at] != '#') return 0;
  const size_t end = std::min(line.find_first_not_of('#', at), line.size());
  if (end - at > 6 || (end < line.size() && !is_space(line[end]))) return 0;
  std::string_view rest = line.substr(end);
  const size_t last = rest.find_last_not_of('#');
  if (last == rest.npos) {
    rest = {};
  } else if (last + 1 < rest.size() && is_space(rest[last])) {
    rest = rest.substr(0, last);
  }
  if (const size_t attribute = rest.rfind("{#"); attribute != rest.npos && rest.ends_with("}"))
    rest = rest.substr(0, attribute);
  title = plain_title(rest);
  return static_cast<uint32_t>(end - at);
}

bool is_punctuation(char c) {
  return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}

// A line of one punctuation mark, as reStructuredText puts above and below titles.
bool is_adornment(std::string_view line) {
  return line.size() >= 2 && is_punctuation(line[0]) && consists_of(line, line[0]);
}

bool covers(std::string_view adornment, std::string_view title) {
  const size_t width = text::utf8_error(title) == title.npos ? text::utf8_length(title) : title.size();
  return adornment.size() >= width || (adornment.size() >= 4 && adornment.size() + 1 >= width);
}

}  // namespace

std::vector<HeadingMark> markdown_headings(std::string_view text) {
  std::vector<HeadingMark> out;
  const std::vector<Line> lines = lines_of(text);
  size_t first = 0;
  if (!lines.empty() && lines[0].text == "---")  // front matter
    for (size_t i = 1; i < lines.size() && i < 200; ++i)
      if (lines[i].text == "---" || lines[i].text == "...") {
        first = i + 1;
        break;
      }
  char fence = 0;
  size_t width = 0;
  for (size_t i = first; i < lines.size(); ++i) {
    const std::string_view line = lines[i].text;
    char mark = 0;
    if (const size_t n = fence_of(line, mark); n > 0) {
      if (width == 0) {
        fence = mark, width = n;
      } else if (mark == fence && n >= width && consists_of(line.substr(line.find(mark)), mark)) {
        width = 0;
      }
      continue;
    }
    if (width > 0 || lines[i].indent() > 3) continue;
    std::string title;
    if (const uint32_t level = hash_heading(line, title); level > 0) {
      if (!title.empty()) out.push_back({lines[i].begin, level, title});
      continue;
    }
    if (lines[i].blank() || i + 1 == lines.size()) continue;
    const std::string_view under = lines[i + 1].text;
    const bool first_of_paragraph = i == first || lines[i - 1].blank();
    const bool prose = line[lines[i].indent()] != '|' && line[lines[i].indent()] != '>' && line.find("- ") != 0;
    if (first_of_paragraph && prose && under.size() >= 2 && (consists_of(under, '=') || consists_of(under, '-')))
      out.push_back({lines[i].begin, under[0] == '=' ? 1u : 2u, plain_title(line)});
  }
  return out;
}

std::vector<HeadingMark> rst_headings(std::string_view text) {
  std::vector<HeadingMark> out;
  const std::vector<Line> lines = lines_of(text);
  std::vector<std::string> kinds;  // the mark, twice when it also stands above
  for (size_t i = 0; i + 1 < lines.size(); ++i) {
    const std::string_view line = lines[i].text;
    if (line.empty() || is_adornment(line) || !is_adornment(lines[i + 1].text)) continue;
    const std::string_view under = lines[i + 1].text;
    const bool over = i > 0 && lines[i - 1].text == under;
    if (!over && (is_space(line[0]) || (i > 0 && !lines[i - 1].blank()))) continue;
    if (!covers(under, line)) continue;
    const std::string kind(over ? 2 : 1, under[0]);
    auto at = std::find(kinds.begin(), kinds.end(), kind);
    if (at == kinds.end()) at = kinds.insert(kinds.end(), kind);
    out.push_back({lines[over ? i - 1 : i].begin, static_cast<uint32_t>(at - kinds.begin()) + 1, plain_title(line)});
    ++i;
  }
  return out;
}

}  // namespace quern::recall
