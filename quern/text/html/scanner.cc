#include "quern/text/html/scanner.h"

#include <algorithm>
#include <cstring>

namespace quern::text {
namespace {

constexpr std::array<std::string_view, kHtmlTags> kNames = {
    "",       "",         "a",          "abbr",     "address",  "area",    "article",  "aside",      "audio",
    "b",      "base",     "blockquote", "body",     "br",       "button",  "canvas",   "caption",    "center",
    "cite",   "code",     "col",        "colgroup", "datalist", "dd",      "del",      "details",    "dfn",
    "dialog", "div",      "dl",         "dt",       "em",       "embed",   "fieldset", "figcaption", "figure",
    "font",   "footer",   "form",       "frameset", "h1",       "h2",      "h3",       "h4",         "h5",
    "h6",     "head",     "header",     "hgroup",   "hr",       "html",    "i",        "iframe",     "img",
    "input",  "ins",      "kbd",        "label",    "legend",   "li",      "link",     "main",       "map",
    "mark",   "math",     "menu",       "meta",     "nav",      "noembed", "noframes", "noscript",   "object",
    "ol",     "optgroup", "option",     "p",        "param",    "picture", "pre",      "progress",   "q",
    "rp",     "rt",       "ruby",       "s",        "samp",     "script",  "section",  "select",     "small",
    "source", "span",     "strike",     "strong",   "style",    "sub",     "summary",  "sup",        "svg",
    "table",  "tbody",    "td",         "template", "textarea", "tfoot",   "th",       "thead",      "time",
    "title",  "tr",       "track",      "tt",       "u",        "ul",      "var",      "video",      "wbr",
    "xmp"};

using enum HtmlTag;
constexpr HtmlTag kVoid[] = {area, base, br, col, embed, hr, img, input, link, meta, param, source, track, wbr};
constexpr HtmlTag kBlock[] = {address, article,  aside,  blockquote, body,     caption,    center, dd,     details,
                              dialog,  div,      dl,     dt,         fieldset, figcaption, figure, footer, form,
                              h1,      h2,       h3,     h4,         h5,       h6,         header, hgroup, hr,
                              html,    legend,   li,     main,       menu,     nav,        ol,     p,      pre,
                              section, summary,  table,  tbody,      td,       tfoot,      th,     thead,  tr,
                              ul,      optgroup, option, xmp};
constexpr HtmlTag kRaw[] = {script, style, title, textarea, iframe, noembed, noframes, xmp};

struct TagFacts {
  bool is_void = false, block = false, raw = false;
};
constexpr std::array<TagFacts, kHtmlTags> make_facts() {
  std::array<TagFacts, kHtmlTags> f{};
  for (const HtmlTag t : kVoid) f[static_cast<size_t>(t)].is_void = true;
  for (const HtmlTag t : kBlock) f[static_cast<size_t>(t)].block = true;
  for (const HtmlTag t : kRaw) f[static_cast<size_t>(t)].raw = true;
  return f;
}
constexpr std::array<TagFacts, kHtmlTags> kFacts = make_facts();
const TagFacts& facts(HtmlTag t) { return kFacts[static_cast<size_t>(t)]; }

// A name of at most 10 letters as a number: 5 bits a letter or digit, so that no two names are the same.
constexpr uint64_t name_code(std::string_view name) {
  uint64_t code = name.size();
  for (const char c : name) code = code << 6 | (static_cast<uint64_t>(c) & 0x1F) | (c >= '0' && c <= '9' ? 0x20 : 0);
  return code;
}
constexpr size_t kSlots = 512;
constexpr size_t slot_of(uint64_t code) { return static_cast<size_t>((code * 0x9e3779b97f4a7c15ull) >> 55); }
struct TagTable {
  std::array<uint64_t, kSlots> codes{};
  std::array<HtmlTag, kSlots> tags{};
};
constexpr TagTable make_table() {
  TagTable t;
  for (size_t i = 2; i < kHtmlTags; ++i) {
    const uint64_t code = name_code(kNames[i]);
    size_t at = slot_of(code);
    while (t.codes[at] != 0) at = (at + 1) % kSlots;
    t.codes[at] = code, t.tags[at] = static_cast<HtmlTag>(i);
  }
  return t;
}
constexpr TagTable kTable = make_table();

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_name(std::string_view s) {
  return std::ranges::all_of(s, [](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
}

}  // namespace

HtmlTag html_tag(std::string_view name) {
  constexpr size_t kLongest = 10;
  if (name.empty() || name.size() > kLongest || !is_name(name)) return other;
  const uint64_t code = name_code(name);
  for (size_t at = slot_of(code); kTable.codes[at] != 0; at = (at + 1) % kSlots)
    if (kTable.codes[at] == code) return kTable.tags[at];
  return other;
}

bool is_void(HtmlTag tag) { return facts(tag).is_void; }
bool is_block(HtmlTag tag) { return facts(tag).block; }
bool is_heading(HtmlTag tag) { return tag >= h1 && tag <= h6; }

bool same_html_word(std::string_view a, std::string_view lower) {
  return a.size() == lower.size() && std::ranges::equal(a, lower, [](char x, char y) { return html_lower(x) == y; });
}

size_t HtmlScanner::behind(size_t i, std::string_view what) const {
  const size_t at = i < s_.size() ? s_.find(what, i) : s_.npos;
  return at == s_.npos ? s_.size() : at + what.size();
}

HtmlToken HtmlScanner::next() {
  if (raw_ != other) {
    const HtmlToken t = read_raw();
    if (!t.text.empty()) return t;
  }
  while (at_ < s_.size()) {
    if (s_[at_] == '<') {
      const char c = at_ + 1 < s_.size() ? s_[at_ + 1] : ' ';
      if (is_letter(c) || (c == '/' && at_ + 2 < s_.size() && is_letter(s_[at_ + 2]))) return read_tag();
      if (c == '!' || c == '?' || c == '/') {
        skip_markup();
        continue;
      }
    }
    const size_t begin = at_;
    const size_t stop = s_.find('<', begin + 1);
    at_ = stop == s_.npos ? s_.size() : stop;
    return {.kind = HtmlToken::Kind::text, .tag = HtmlTag::text, .text = s_.substr(begin, at_ - begin)};
  }
  return {};
}

void HtmlScanner::skip_markup() {
  if (s_.substr(at_, 4) == "<!--") {
    // "<!-->" and "<!--->" are whole comments.
    const std::string_view rest = s_.substr(at_ + 4, 2);
    at_ = rest.starts_with('>') || rest == "->" ? behind(at_ + 4, ">") : behind(at_ + 4, "-->");
  } else if (s_.substr(at_, 9) == "<![CDATA[") {
    at_ += 9;
  } else {
    at_ = behind(at_, ">");
  }
}

// Up to its closing tag, which is left to come; an element that is never closed takes the rest of the page.
HtmlToken HtmlScanner::read_raw() {
  const HtmlTag tag = raw_;
  const std::string_view name = kNames[static_cast<size_t>(tag)];
  raw_ = other;
  const size_t begin = at_;
  size_t end = s_.find("</", begin);
  while (end != s_.npos && !same_html_word(s_.substr(end + 2, name.size()), name)) end = s_.find("</", end + 2);
  at_ = end == s_.npos ? s_.size() : end;
  return {.kind = HtmlToken::Kind::text, .tag = HtmlTag::text, .text = s_.substr(begin, at_ - begin)};
}

HtmlToken HtmlScanner::read_tag() {
  HtmlToken t;
  size_t i = at_ + 1;
  t.kind = s_[i] == '/' ? HtmlToken::Kind::close : HtmlToken::Kind::open;
  i += t.kind == HtmlToken::Kind::close;
  const size_t begin = i;
  while (i < s_.size() && s_[i] != '>' && s_[i] != '/' && !is_html_space(s_[i])) ++i;
  t.text = s_.substr(begin, i - begin);
  t.tag = html_tag(t.text);
  at_ = i;
  read_attributes(t);
  if (t.kind == HtmlToken::Kind::open && facts(t.tag).raw) raw_ = t.tag;
  return t;
}

void HtmlScanner::read_attributes(HtmlToken& t) {
  size_t i = at_;
  while (i < s_.size() && s_[i] != '>') {
    if (is_html_space(s_[i]) || s_[i] == '/') {
      t.self_closed = s_[i] == '/' || (t.self_closed && is_html_space(s_[i]));
      ++i;
      continue;
    }
    t.self_closed = false;
    HtmlAttribute a;
    const size_t begin = i++;
    while (i < s_.size() && s_[i] != '=' && s_[i] != '>' && s_[i] != '/' && !is_html_space(s_[i])) ++i;
    a.name = s_.substr(begin, i - begin);
    while (i < s_.size() && is_html_space(s_[i])) ++i;
    if (i < s_.size() && s_[i] == '=') {
      ++i;
      while (i < s_.size() && is_html_space(s_[i])) ++i;
      const char quote = i < s_.size() ? s_[i] : '\0';
      if (quote == '"' || quote == '\'') {
        const size_t end = std::min(s_.find(quote, i + 1), s_.size());
        a.value = s_.substr(i + 1, end - i - 1);
        i = std::min(end + 1, s_.size());
      } else {
        const size_t from = i;
        while (i < s_.size() && s_[i] != '>' && !is_html_space(s_[i])) ++i;
        a.value = s_.substr(from, i - from);
      }
    }
    if (t.attributes < kMaxAttributes) attributes_[t.attributes++] = a;
  }
  at_ = std::min(i + 1, s_.size());
}

}  // namespace quern::text
