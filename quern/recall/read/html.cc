// HTML as readable text. Elements that hold no text of the page (scripts, styles) and those that only lead elsewhere
// (nav, footer, tables of contents, side bars) are left out with all that they hold.
#include <algorithm>
#include <array>

#include "quern/recall/read/document.h"
#include "quern/text/unicode/utf8.h"

namespace quern::recall {
namespace {

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }
std::string lowered(std::string_view s) {
  std::string out(s);
  for (char& c : out) c = lower(c);
  return out;
}

template <size_t N>
bool among(const std::array<std::string_view, N>& list, std::string_view x) {
  return std::find(list.begin(), list.end(), x) != list.end();
}

constexpr std::array<std::string_view, 6> kRaw = {"script", "style", "textarea", "iframe", "noembed", "noframes"};
constexpr std::array<std::string_view, 7> kNotText = {"nav",    "footer", "svg",   "template",
                                                      "select", "button", "object"};
// Names of classes and ids, as generators of documentation and of pages use them.
constexpr std::array<std::string_view, 22> kNavigation = {
    "headerlink",      "nav",           "navbar",   "navigation", "navheader", "navfooter",
    "breadcrumb",      "breadcrumbs",   "toc",      "contents",   "quickview", "toctree-wrapper",
    "sidebar",         "sphinxsidebar", "related",  "menu",       "footer",    "page-toc",
    "tableofcontents", "toc-box",       "skiplink", "toplang"};
constexpr std::array<std::string_view, 35> kBlock = {
    "p",   "div",    "section",    "article", "main",     "header",  "aside",   "ul",    "ol",
    "li",  "dl",     "dt",         "dd",      "table",    "tr",      "caption", "thead", "blockquote",
    "pre", "figure", "figcaption", "form",    "fieldset", "hr",      "h1",      "h2",    "h3",
    "h4",  "h5",     "h6",         "address", "details",  "summary", "center",  "body"};
constexpr std::array<std::string_view, 14> kVoid = {"br",   "hr",  "img", "input", "meta",   "link",  "area",
                                                    "base", "col", "wbr", "embed", "source", "track", "param"};

struct Tag {
  std::string name;
  bool closing = false, self_closed = false, navigation = false;
};

bool leads_elsewhere(std::string_view attribute, std::string_view value) {
  if (attribute == "role") return lowered(value) == "navigation";
  if (attribute == "aria-hidden") return lowered(value) == "true";
  if (attribute == "hidden") return true;
  if (attribute != "class" && attribute != "id") return false;
  for (size_t begin = 0; begin < value.size();) {
    const size_t end = std::min(value.find_first_of(" \t\r\n", begin), value.size());
    if (end > begin && among(kNavigation, lowered(value.substr(begin, end - begin)))) return true;
    begin = end + 1;
  }
  return false;
}

// The tag at s[i] == '<' behind which a letter or '/' stands; i moves behind it.
Tag read_tag(std::string_view s, size_t& i) {
  Tag t;
  ++i;
  if (i < s.size() && s[i] == '/') t.closing = true, ++i;
  while (i < s.size() && s[i] != '>' && s[i] != '/' && !is_space(s[i])) t.name += lower(s[i++]);
  while (i < s.size() && s[i] != '>') {
    if (is_space(s[i]) || s[i] == '/') {
      t.self_closed = s[i] == '/';
      ++i;
      continue;
    }
    t.self_closed = false;
    const size_t begin = i;
    while (i < s.size() && s[i] != '=' && s[i] != '>' && s[i] != '/' && !is_space(s[i])) ++i;
    const std::string name = lowered(s.substr(begin, i - begin));
    while (i < s.size() && is_space(s[i])) ++i;
    std::string_view value;
    if (i < s.size() && s[i] == '=') {
      ++i;
      while (i < s.size() && is_space(s[i])) ++i;
      const char quote = i < s.size() ? s[i] : '\0';
      if (quote == '"' || quote == '\'') {
        const size_t end = std::min(s.find(quote, i + 1), s.size());
        value = s.substr(i + 1, end - i - 1);
        i = std::min(end + 1, s.size());
      } else {
        const size_t from = i;
        while (i < s.size() && s[i] != '>' && !is_space(s[i])) ++i;
        value = s.substr(from, i - from);
      }
    } else if (i == begin) {
      ++i;  // a stray mark
    }
    t.navigation = t.navigation || (!t.closing && leads_elsewhere(name, value));
  }
  if (i < s.size()) ++i;
  return t;
}

class HtmlReader {
 public:
  explicit HtmlReader(std::string_view s) : s_(s) {}
  ReadDocument read() {
    for (size_t i = 0; i < s_.size();) {
      const size_t open = std::min(s_.find('<', i), s_.size());
      if (open > i && skip_depth_ == 0) put_text(s_.substr(i, open - i));
      i = open;
      if (i < s_.size()) i = markup(i);
    }
    end_heading();
    while (!d_.text.empty() && is_space(d_.text.back())) d_.text.pop_back();
    std::erase_if(d_.headings, [&](const HeadingMark& h) { return h.title.empty() || h.at >= d_.text.size(); });
    d_.title = plain_title(title_);
    return std::move(d_);
  }

 private:
  size_t behind(size_t i, std::string_view what) const {
    const size_t at = s_.find(what, i);
    return at == s_.npos ? s_.size() : at + what.size();
  }
  // What begins at s_[i] == '<'; returns where it ends.
  size_t markup(size_t i) {
    if (s_.substr(i, 4) == "<!--") return behind(i + 4, "-->");
    if (s_.substr(i, 9) == "<![CDATA[") return i + 9;
    const char next = i + 1 < s_.size() ? s_[i + 1] : ' ';
    if (next == '!' || next == '?') return behind(i, ">");
    if (!is_letter(next) && !(next == '/' && i + 2 < s_.size() && is_letter(s_[i + 2]))) {
      if (skip_depth_ == 0) put_text("<");
      return i + 1;
    }
    const Tag t = read_tag(s_, i);
    if (!t.closing && among(kRaw, t.name)) return raw_end(i, t.name);
    if (skip_depth_ > 0) {
      if (t.name == skip_ && !t.self_closed) skip_depth_ += t.closing ? -1 : 1;
      return i;
    }
    if (!t.closing && (t.navigation || among(kNotText, t.name)) && !among(kVoid, t.name) && !t.self_closed &&
        t.name != "body" && t.name != "html") {
      skip_ = t.name, skip_depth_ = 1;
      return i;
    }
    tag(t);
    return i;
  }
  size_t raw_end(size_t i, const std::string& name) const {
    for (size_t at = s_.find("</", i); at != s_.npos; at = s_.find("</", at + 2))
      if (lowered(s_.substr(at + 2, name.size())) == name) return behind(at, ">");
    return s_.size();
  }
  void tag(const Tag& t) {
    if (t.name == "title") {
      in_title_ = !t.closing;
    } else if (t.name.size() == 2 && t.name[0] == 'h' && t.name[1] >= '1' && t.name[1] <= '6') {
      end_heading();
      break_to(2);
      if (!t.closing)
        heading_ = static_cast<uint32_t>(t.name[1] - '0'), d_.headings.push_back({d_.text.size(), heading_, ""});
    } else if (t.name == "pre") {
      break_to(2);
      pre_ = t.closing ? std::max(0, pre_ - 1) : pre_ + 1;
    } else if (t.name == "br") {
      break_to(1);
    } else if (t.name == "td" || t.name == "th") {
      if (!t.closing && !d_.text.empty() && d_.text.back() != '\n') put_space();
    } else if (among(kBlock, t.name)) {
      const bool close = t.name == "li" || t.name == "dt" || t.name == "dd" || t.name == "tr";
      break_to(close ? 1 : 2);
      if (t.name == "li" && !t.closing) d_.text += "- ";
    }
  }
  void end_heading() {
    if (heading_ == 0) return;
    HeadingMark& h = d_.headings.back();
    h.title = plain_title(std::string_view(d_.text).substr(std::min<size_t>(h.at, d_.text.size())));
    heading_ = 0;
  }
  void put_space() {
    if (!d_.text.empty() && !is_space(d_.text.back())) d_.text += ' ';
  }
  void break_to(size_t lines) {
    if (d_.text.empty()) return;
    while (!d_.text.empty() && (d_.text.back() == ' ' || d_.text.back() == '\t')) d_.text.pop_back();
    size_t have = 0;
    while (have < d_.text.size() && have < lines && d_.text[d_.text.size() - 1 - have] == '\n') ++have;
    d_.text.append(lines - have, '\n');
  }
  void put_text(std::string_view text) {
    std::string& out = in_title_ ? title_ : d_.text;
    for (size_t i = 0; i < text.size();) {
      const char c = text[i];
      if (c == '&') {
        if (const size_t n = append_entity(text, i, out); n > 0) {
          i += n;
          continue;
        }
      }
      ++i;
      if (pre_ > 0 && !in_title_ ? c == '\r' : is_space(c)) {
        if (!out.empty() && !is_space(out.back())) out += ' ';
        continue;
      }
      out += c;
    }
  }

  std::string_view s_;
  ReadDocument d_;
  std::string title_, skip_;
  int skip_depth_ = 0, pre_ = 0;
  uint32_t heading_ = 0;  // the level of the one being read
  bool in_title_ = false;
};

// Pages from before UTF-8: Latin-1 and Windows-1252 by their declaration.
std::string decoded(std::string_view s) {
  constexpr char16_t kUpper[32] = {0x20AC, 0x81,   0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021,
                                   0x02C6, 0x2030, 0x0160, 0x2039, 0x0152, 0x8D,   0x017D, 0x8F,
                                   0x90,   0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014,
                                   0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0x9D,   0x017E, 0x0178};
  std::string out;
  for (const char c : s) {
    const auto b = static_cast<unsigned char>(c);
    text::utf8_append(out, b >= 0x80 && b < 0xA0 ? char32_t{kUpper[b - 0x80]} : char32_t{b});
  }
  return out;
}

}  // namespace

ReadDocument read_html(std::string_view content) {
  if (text::utf8_error(content) != content.npos) {
    const std::string head = lowered(content.substr(0, 2048));
    if (head.find("charset=iso-8859-1") != head.npos || head.find("charset=\"iso-8859-1") != head.npos ||
        head.find("windows-1252") != head.npos)
      return HtmlReader(decoded(content)).read();
  }
  return HtmlReader(content).read();
}

}  // namespace quern::recall
