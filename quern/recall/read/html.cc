// HTML as readable text. Elements that hold no text of the page (scripts, styles) and those that only lead elsewhere
// (nav, footer, tables of contents, side bars) are left out with all that they hold.
#include <algorithm>
#include <array>

#include "quern/recall/read/document.h"
#include "quern/text/html/encoding.h"
#include "quern/text/html/entities.h"
#include "quern/text/html/scanner.h"

namespace quern::recall {
namespace {

using text::HtmlTag;
using text::HtmlToken;
using text::is_html_space;
using enum text::HtmlTag;

template <size_t N>
bool among(const std::array<std::string_view, N>& list, std::string_view x) {
  return std::find(list.begin(), list.end(), x) != list.end();
}

// Elements without text of the page; and those that only lead elsewhere, with all that they hold.
bool is_raw(HtmlTag t) {
  return t == script || t == style || t == textarea || t == iframe || t == noembed || t == noframes;
}
bool is_not_text(HtmlTag t) {
  return t == nav || t == footer || t == svg || t == template_ || t == select || t == button || t == object;
}
// Names of classes and ids, as generators of documentation and of pages use them.
constexpr std::array<std::string_view, 22> kNavigation = {
    "headerlink",      "nav",           "navbar",   "navigation", "navheader", "navfooter",
    "breadcrumb",      "breadcrumbs",   "toc",      "contents",   "quickview", "toctree-wrapper",
    "sidebar",         "sphinxsidebar", "related",  "menu",       "footer",    "page-toc",
    "tableofcontents", "toc-box",       "skiplink", "toplang"};
std::string lowered(std::string_view s) {
  std::string out(s);
  for (char& c : out) c = text::html_lower(c);
  return out;
}

bool leads_elsewhere(const text::HtmlAttribute& a) {
  const std::string name = lowered(a.name);
  if (name == "role") return text::same_html_word(a.value, "navigation");
  if (name == "aria-hidden") return text::same_html_word(a.value, "true");
  if (name == "hidden") return true;
  if (name != "class" && name != "id") return false;
  for (size_t begin = 0; begin < a.value.size();) {
    const size_t end = std::min(a.value.find_first_of(" \t\r\n", begin), a.value.size());
    if (end > begin && among(kNavigation, lowered(a.value.substr(begin, end - begin)))) return true;
    begin = end + 1;
  }
  return false;
}

class HtmlReader {
 public:
  explicit HtmlReader(std::string_view s) : scan_(s) {}
  ReadDocument read() {
    for (HtmlToken t = scan_.next(); t.kind != HtmlToken::Kind::end; t = scan_.next()) {
      if (t.kind == HtmlToken::Kind::text) {
        if (skip_depth_ == 0 && !raw_) put_text(t.text);
      } else {
        raw_ = t.kind == HtmlToken::Kind::open && is_raw(t.tag);
        if (!is_raw(t.tag)) markup(t);
      }
    }
    end_heading();
    while (!d_.text.empty() && is_html_space(d_.text.back())) d_.text.pop_back();
    std::erase_if(d_.headings, [&](const HeadingMark& h) { return h.title.empty() || h.at >= d_.text.size(); });
    d_.title = plain_title(title_);
    return std::move(d_);
  }

 private:
  bool leaves_out(const HtmlToken& t) const {
    if (t.self_closed || text::is_void(t.tag) || t.tag == body || t.tag == html) return false;
    if (is_not_text(t.tag)) return true;
    for (size_t i = 0; i < t.attributes; ++i)
      if (leads_elsewhere(scan_.attribute(i))) return true;
    return false;
  }
  void markup(const HtmlToken& t) {
    const bool closing = t.kind == HtmlToken::Kind::close;
    if (skip_depth_ > 0) {
      if (lowered(t.text) == skip_ && !t.self_closed) skip_depth_ += closing ? -1 : 1;
    } else if (!closing && leaves_out(t)) {
      skip_ = lowered(t.text), skip_depth_ = 1;
    } else {
      tag(t.tag, closing);
    }
  }
  void tag(HtmlTag t, bool closing) {
    if (t == HtmlTag::title) {
      in_title_ = !closing;
    } else if (text::is_heading(t)) {
      end_heading();
      break_to(2);
      heading_ = closing ? 0 : static_cast<uint32_t>(t) - static_cast<uint32_t>(h1) + 1;
      if (!closing) d_.headings.push_back({d_.text.size(), heading_, ""});
    } else if (t == pre) {
      break_to(2);
      pre_ = closing ? std::max(0, pre_ - 1) : pre_ + 1;
    } else if (t == br) {
      break_to(1);
    } else if (t == td || t == th) {
      if (!closing && !d_.text.empty() && d_.text.back() != '\n') put_space();
    } else if (text::is_block(t) && !is_quiet(t)) {
      break_to(t == li || t == dt || t == dd || t == tr ? 1 : 2);
      if (t == li && !closing) d_.text += "- ";
    }
  }
  // Blocks without lines of their own here.
  static bool is_quiet(HtmlTag t) { return t == tbody || t == tfoot || t == html || t == option || t == optgroup; }
  void end_heading() {
    if (heading_ == 0) return;
    HeadingMark& h = d_.headings.back();
    h.title = plain_title(std::string_view(d_.text).substr(std::min<size_t>(h.at, d_.text.size())));
    heading_ = 0;
  }
  void put_space() {
    if (!d_.text.empty() && !is_html_space(d_.text.back())) d_.text += ' ';
  }
  void break_to(size_t lines) {
    if (d_.text.empty()) return;
    while (!d_.text.empty() && (d_.text.back() == ' ' || d_.text.back() == '\t')) d_.text.pop_back();
    size_t have = 0;
    while (have < d_.text.size() && have < lines && d_.text[d_.text.size() - 1 - have] == '\n') ++have;
    d_.text.append(lines - have, '\n');
  }
  void put_text(std::string_view piece) {
    std::string& out = in_title_ ? title_ : d_.text;
    for (size_t i = 0; i < piece.size();) {
      const char c = piece[i];
      if (c == '&') {
        if (const size_t n = text::append_entity(piece, i, out); n > 0) {
          i += n;
          continue;
        }
      }
      ++i;
      if (pre_ > 0 && !in_title_ ? c == '\r' : is_html_space(c)) {
        if (!out.empty() && !is_html_space(out.back())) out += ' ';
        continue;
      }
      out += c;
    }
  }

  text::HtmlScanner scan_;
  ReadDocument d_;
  std::string title_, skip_;
  int skip_depth_ = 0, pre_ = 0;
  uint32_t heading_ = 0;  // the level of the one being read
  bool in_title_ = false, raw_ = false;
};

}  // namespace

ReadDocument read_html(std::string_view content) {
  std::string buffer;
  return HtmlReader(text::decode_page(content, "", buffer).text).read();
}

}  // namespace quern::recall
