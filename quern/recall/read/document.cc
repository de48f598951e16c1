#include "quern/recall/read/document.h"

#include <algorithm>
#include <array>

namespace quern::recall {
namespace {

constexpr std::array<std::string_view, 22> kCode = {"c",   "cc",    "cpp",  "cxx",  "h",   "hh",   "hpp", "py",
                                                    "js",  "ts",    "go",   "rs",   "sh",  "java", "rb",  "lua",
                                                    "sql", "cmake", "toml", "yaml", "yml", "json"};
constexpr std::array<std::string_view, 4> kPlain = {"txt", "text", "tex", "org"};

template <class A>
bool among(const A& list, std::string_view x) {
  return std::find(list.begin(), list.end(), x) != list.end();
}

bool is_man_section(std::string_view e) {
  return !e.empty() && e[0] >= '1' && e[0] <= '9' &&
         std::all_of(e.begin() + 1, e.end(), [](char c) { return c >= 'a' && c <= 'z'; });
}

}  // namespace

std::optional<DocumentKind> document_kind(std::string_view name) {
  std::string lower(name);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
  std::string_view n = lower;
  if (n.ends_with(".gz")) n.remove_suffix(3);
  const size_t dot = n.rfind('.');
  if (dot == n.npos || dot == 0) return DocumentKind::plain;
  const std::string_view e = n.substr(dot + 1);
  if (e == "md" || e == "markdown") return DocumentKind::markdown;
  if (e == "rst" || n.ends_with(".rst.txt")) return DocumentKind::rst;  // Sphinx keeps sources as .rst.txt
  if (e == "html" || e == "htm" || e == "xhtml") return DocumentKind::html;
  if (e == "jsonl" || e == "ndjson") return DocumentKind::json_lines;
  if (among(kCode, e)) return DocumentKind::code;
  if (among(kPlain, e)) return DocumentKind::plain;
  if (is_man_section(e)) return DocumentKind::man;
  return std::nullopt;
}

std::string_view name_of(DocumentKind kind) {
  constexpr std::string_view names[] = {"plain", "code", "Markdown", "reStructuredText", "HTML", "man", "JSON lines"};
  return names[static_cast<size_t>(kind)];
}

std::string plain_title(std::string_view line) {
  constexpr size_t kMaxBytes = 400;
  if (line.size() > kMaxBytes) {
    size_t end = kMaxBytes;
    while (end > 0 && (static_cast<unsigned char>(line[end]) & 0xC0) == 0x80) --end;
    line = line.substr(0, end);
  }
  std::string out;
  const auto put = [&](char c) {
    const bool space = c == ' ' || (c >= '\t' && c <= '\r');
    if (!space) {
      out += c;
    } else if (!out.empty() && out.back() != ' ') {
      out += ' ';
    }
  };
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '`' || c == '*') continue;
    if (c == '\\' && i + 1 < line.size()) {
      put(line[++i]);
      continue;
    }
    if (c == ']' && i + 1 < line.size() && line[i + 1] == '(') {  // [text](target)
      const size_t close = line.find(')', i);
      if (close != line.npos) {
        i = close;
        continue;
      }
    }
    if (c == '[' && line.find("](", i) != line.npos) continue;
    put(c);
  }
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

ReadDocument read_document(DocumentKind kind, std::string_view content) {
  ReadDocument d;
  switch (kind) {
    case DocumentKind::html:
      return read_html(content);
    case DocumentKind::man:
      return read_man(content);
    case DocumentKind::markdown:
      d.headings = markdown_headings(content);
      break;
    case DocumentKind::rst:
      d.headings = rst_headings(content);
      break;
    case DocumentKind::plain:
    case DocumentKind::code:
    case DocumentKind::json_lines:
      break;
  }
  d.text = content;
  return d;
}

}  // namespace quern::recall
