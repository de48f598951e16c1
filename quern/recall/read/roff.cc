#include "quern/recall/read/roff.h"

#include <algorithm>
#include <array>

#include "quern/text/unicode/utf8.h"

namespace quern::recall {
namespace {

struct Glyph {
  std::string_view name, text;
};
constexpr std::array<Glyph, 34> kGlyphs = {{
    {"aq", "'"}, {"dq", "\""}, {"lq", "“"}, {"rq", "”"}, {"oq", "‘"},  {"cq", "’"}, {"bu", "•"},
    {"em", "—"}, {"en", "–"},  {"hy", "-"}, {"mi", "-"}, {"rs", "\\"}, {"ti", "~"}, {"ha", "^"},
    {"ga", "`"}, {"co", "©"},  {"rg", "®"}, {"tm", "™"}, {"mu", "×"},  {"+-", "±"}, {"<=", "≤"},
    {">=", "≥"}, {"!=", "≠"},  {"->", "→"}, {"<-", "←"}, {"or", "|"},  {"at", "@"}, {"sh", "#"},
    {"Do", "$"}, {"lB", "["},  {"rB", "]"}, {"lC", "{"}, {"rC", "}"},  {"ss", "ß"},
}};
constexpr std::array<Glyph, 8> kStrings = {
    {{"lq", "“"}, {"rq", "”"}, {"Lq", "“"}, {"Rq", "”"}, {"L\"", "“"}, {"R\"", "”"}, {"C`", "\""}, {"C'", "\""}}};

template <size_t N>
std::string_view named(const std::array<Glyph, N>& list, std::string_view name) {
  for (const Glyph& g : list)
    if (g.name == name) return g.text;
  return {};
}

// A name behind an escape: one character, ( and two, or [ … ]; i moves behind it.
std::string_view name_at(std::string_view s, size_t& i) {
  if (i >= s.size()) return {};
  if (s[i] == '(') {
    const std::string_view name = s.substr(i + 1, 2);
    i = std::min(s.size(), i + 3);
    return name;
  }
  if (s[i] == '[') {
    const size_t end = std::min(s.find(']', i), s.size());
    const std::string_view name = s.substr(i + 1, end - i - 1);
    i = std::min(s.size(), end + 1);
    return name;
  }
  return s.substr(i++, 1);
}

void append_glyph(std::string_view name, std::string& out) {
  if (const std::string_view text = named(kGlyphs, name); !text.empty()) {
    out += text;
  } else if (name.size() >= 5 && name.size() <= 7 && name[0] == 'u') {
    uint32_t cp = 0;
    for (const char c : name.substr(1)) {
      if (!((c >= '0' && c <= '9') || (c >= 'A' && c <= 'F'))) return;
      cp = cp * 16 + static_cast<uint32_t>(c <= '9' ? c - '0' : c - 'A' + 10);
    }
    if (cp > 0 && cp <= 0x10FFFF && (cp < 0xD800 || cp > 0xDFFF)) text::utf8_append(out, cp);
  } else if (name.size() == 2 && std::string_view("'`^:~,").find(name[0]) != std::string_view::npos) {
    out += name[1];  // an accent
  }
}

// The escape whose backslash stands before s[i]; returns where it ends, or npos for the start of a comment.
size_t escape(std::string_view s, size_t i, std::string& out) {
  const char c = s[i++];
  switch (c) {
    case '"':
    case '#':
      return s.npos;
    case '-':
      out += '-';
      return i;
    case 'e':
    case 'E':
    case '\\':
      out += '\\';
      return i;
    case ' ':
    case '~':
    case '0':
    case 't':
      out += ' ';
      return i;
    case '(':
    case '[':
      append_glyph(name_at(s, --i), out);
      return i;
    case '*':
      out += named(kStrings, name_at(s, i));
      return i;
    case 's':
      if (i < s.size() && (s[i] == '+' || s[i] == '-')) ++i;
      [[fallthrough]];
    case 'f':
    case 'F':
    case 'm':
    case 'M':
    case 'n':
    case 'k':
    case 'g':
      if (c == 'n' && i < s.size() && (s[i] == '+' || s[i] == '-')) ++i;
      name_at(s, i);
      return i;
    case 'h':
    case 'v':
    case 'w':
    case 'l':
    case 'L':
    case 'D':
    case 'o':
    case 'b':
    case 'x':
    case 'X':
    case 'N':
      if (i < s.size()) i = std::min(s.size() - 1, s.find(s[i], i + 1)) + 1;
      return i;
    case '\'':
    case '`':
      out += c;
      return i;
    default:  // \& \% \: \/ \, \| \^ \c \) \{ \}: nothing is printed
      return i;
  }
}

}  // namespace

std::string roff_text(std::string_view s) {
  std::string out;
  for (size_t i = 0; i < s.size();) {
    if (s[i] != '\\' || i + 1 >= s.size()) {
      if (s[i] != '\\') out += s[i] == '\t' ? ' ' : s[i];
      ++i;
      continue;
    }
    i = escape(s, i + 1, out);
    if (i == s.npos) break;
  }
  return out;
}

std::vector<std::string> roff_arguments(std::string_view s) {
  std::vector<std::string> out;
  for (size_t i = 0; i < s.size();) {
    if (s[i] == ' ' || s[i] == '\t') {
      ++i;
      continue;
    }
    if (s.substr(i, 2) == "\\\"") break;
    std::string word;
    const bool quoted = s[i] == '"';
    if (quoted) ++i;
    while (i < s.size()) {
      if (quoted && s[i] == '"') {
        if (s.substr(i, 2) != "\"\"") break;
        word += '"', i += 2;
        continue;
      }
      if (!quoted && (s[i] == ' ' || s[i] == '\t')) break;
      if (s[i] == '\\' && i + 1 < s.size()) word += s[i++];
      word += s[i++];
    }
    if (quoted && i < s.size()) ++i;
    out.push_back(roff_text(word));
  }
  return out;
}

}  // namespace quern::recall
