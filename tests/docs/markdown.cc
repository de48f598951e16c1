#include "tests/docs/markdown.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>

namespace quern::docs {
namespace {

bool is_space(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

std::string_view trimmed(std::string_view s) {
  while (!s.empty() && is_space(s.front())) s.remove_prefix(1);
  while (!s.empty() && is_space(s.back())) s.remove_suffix(1);
  return s;
}

size_t indent_of(std::string_view line) { return std::min(line.find_first_not_of(' '), line.size()); }

struct Fence {
  size_t indent = 0, length = 0;
  char mark = '`';
  std::string_view info;
};

std::optional<Fence> fence(std::string_view line) {
  Fence f;
  f.indent = indent_of(line);
  line.remove_prefix(f.indent);
  if (line.empty() || (line[0] != '`' && line[0] != '~')) return std::nullopt;
  f.mark = line[0];
  f.length = std::min(line.find_first_not_of(f.mark), line.size());
  f.info = trimmed(line.substr(f.length));
  if (f.length < 3 || (f.mark == '`' && f.info.find('`') != f.info.npos)) return std::nullopt;
  return f;
}

bool closes(std::string_view line, const Fence& open) {
  const std::optional<Fence> f = fence(line);
  return f && f->mark == open.mark && f->length >= open.length && f->info.empty();
}

// Moves fenced blocks to page.blocks. Their lines stay in the text, empty, so that lines can still be counted.
std::string take_blocks(std::string_view text, Page& page) {
  std::string rest;
  std::optional<Fence> open;
  int number = 0;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    ++number;
    if (open && closes(line, *open)) {
      open.reset();
    } else if (open) {
      page.blocks.back().text += line.substr(std::min(indent_of(line), open->indent));
      page.blocks.back().text += '\n';
    } else if ((open = fence(line))) {
      page.blocks.push_back({std::string(open->info.substr(0, open->info.find_first_of(" \t{,"))), number + 1, ""});
    } else {
      rest += line;
    }
    rest += '\n';
  }
  return rest;
}

void blank(std::string& text, size_t from, size_t to) {
  for (size_t i = from; i < to && i < text.size(); ++i)
    if (text[i] != '\n') text[i] = ' ';
}

void blank_comments(std::string& text) {
  for (size_t at = 0; (at = text.find("<!--", at)) != text.npos;) {
    const size_t end = std::min(text.find("-->", at), text.size() - 3) + 3;
    blank(text, at, end);
    at = end;
  }
}

// A code span is closed by as many backticks as opened it, in the same paragraph.
void blank_code_spans(std::string& text) {
  for (size_t at = 0; (at = text.find('`', at)) != text.npos;) {
    const size_t opened = text.find_first_not_of('`', at);
    if (opened == text.npos) return;
    const size_t paragraph = std::min(text.find("\n\n", opened), text.size());
    size_t from = opened, next = opened;
    while ((from = text.find('`', from)) < paragraph) {
      const size_t end = std::min(text.find_first_not_of('`', from), text.size());
      if (end - from == opened - at) {
        blank(text, at, end);
        next = end;
        break;
      }
      from = end;
    }
    at = next;
  }
}

int line_of(std::string_view text, size_t at) {
  return 1 + static_cast<int>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
}

// "(target "title")" from its parenthesis on: where the closing one is, or npos.
size_t closing_parenthesis(std::string_view text, size_t open) {
  int depth = 0;
  for (size_t i = open; i < text.size(); ++i) {
    if (text[i] == '\n' && i + 1 < text.size() && text[i + 1] == '\n') break;
    if (text[i] == '(') ++depth;
    if (text[i] == ')' && --depth == 0) return i;
  }
  return text.npos;
}

std::string target_of(std::string_view inside) {
  inside = trimmed(inside);
  if (inside.starts_with('<')) return std::string(inside.substr(1, inside.find('>') - 1));
  return std::string(inside.substr(0, inside.find_first_of(" \t\n")));
}

void take_inline_links(std::string& text, Page& page) {
  for (size_t at = 0; (at = text.find("](", at)) != text.npos;) {
    const size_t end = closing_parenthesis(text, at + 1);
    if (end == text.npos) {
      at += 2;
      continue;
    }
    page.links.push_back({line_of(text, at), target_of(std::string_view(text).substr(at + 2, end - at - 2))});
    blank(text, at + 1, end + 1);
    at = end;
  }
}

void take_definitions(std::string& text, Page& page) {  // [name]: target
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = std::string_view(text).substr(at, end - at);
    const size_t mark = line.find("]: ");
    if (trimmed(line).starts_with('[') && mark != line.npos && line.find(']') == mark) {
      page.links.push_back({line_of(text, at), target_of(line.substr(mark + 2))});
      blank(text, at + mark + 2, end);
    }
    at = end + 1;
  }
}

void take_attributes(std::string& text, Page& page) {
  for (const std::string_view name : {"href=\"", "src=\"", "id=\""})
    for (size_t at = 0; (at = text.find(name, at)) != text.npos;) {
      const size_t from = at + name.size(), end = std::min(text.find('"', from), text.size());
      const std::string value = text.substr(from, end - from);
      if (name == "id=\"")
        page.anchors.insert(value);
      else
        page.links.push_back({line_of(text, at), value});
      blank(text, from, end);
      at = end;
    }
}

// One character of UTF-8; punctuation, arrows and mathematical signs have no place in an anchor, letters have.
bool in_anchor(std::string_view c) {
  if (c.size() == 1) return std::isalnum(static_cast<unsigned char>(c[0])) || c == "-" || c == "_";
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(c[i]); };
  if (byte(0) == 0xC2 || c == "×" || c == "÷") return false;  // U+0080 to U+00BF
  return !(byte(0) == 0xE2 && byte(1) >= 0x80 && byte(1) <= 0xAF);
}

std::string anchor_of(std::string_view heading) {
  std::string out;
  for (size_t i = 0; i < heading.size();) {
    const auto first = static_cast<unsigned char>(heading[i]);
    const size_t size = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    const std::string_view c = heading.substr(i, size);
    i += size;
    if (c == " ")
      out += '-';
    else if (in_anchor(c))
      out += c.size() == 1 ? static_cast<char>(std::tolower(static_cast<unsigned char>(c[0]))) : c[0],
          out += c.substr(1);
  }
  return out;
}

std::string without_link_targets(std::string heading) {
  for (size_t at = 0; (at = heading.find("](", at)) != heading.npos;) {
    const size_t end = closing_parenthesis(heading, at + 1);
    if (end == heading.npos) break;
    heading.erase(at, end + 1 - at);
  }
  return heading;
}

void take_headings(std::string_view text, Page& page) {
  std::map<std::string, int> seen;
  for (int number = 1; !text.empty(); ++number) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const size_t marks = std::min(line.find_first_not_of('#'), line.size());
    if (marks == 0 || marks > 6 || marks == line.size() || line[marks] != ' ') continue;
    std::string_view title = trimmed(line.substr(marks));
    while (title.ends_with('#')) title.remove_suffix(1);
    title = trimmed(title);
    page.headings.push_back({number, std::string(title)});
    const std::string anchor = anchor_of(trimmed(without_link_targets(std::string(title))));
    const int before = seen[anchor]++;
    page.anchors.insert(before == 0 ? anchor : fmt::format("{}-{}", anchor, before));
  }
}

}  // namespace

Page read_page(std::string name, std::string_view text) {
  Page page;
  page.name = std::move(name);
  page.prose = take_blocks(text, page);
  blank_comments(page.prose);
  take_headings(page.prose, page);
  blank_code_spans(page.prose);
  take_inline_links(page.prose, page);
  take_definitions(page.prose, page);
  take_attributes(page.prose, page);
  return page;
}

std::string format(const std::vector<Complaint>& complaints) {
  std::string out;
  for (const Complaint& c : complaints) out += fmt::format("{}:{}: {}\n", c.page, c.line, c.text);
  return out;
}

}  // namespace quern::docs
