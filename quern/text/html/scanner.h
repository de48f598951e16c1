// Reads HTML as a row of tags and texts, as browsers cut it: attributes with any kind of quotes, comments, and elements
// whose content is no markup (script, style, title, …). Takes any bytes, never fails, copies nothing. Cost: linear.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace quern::text {

// clang-format off
enum class HtmlTag : uint8_t {
  other, text,
  a, abbr, address, area, article, aside, audio, b, base, blockquote, body, br, button, canvas, caption, center, cite,
  code, col, colgroup, datalist, dd, del, details, dfn, dialog, div, dl, dt, em, embed, fieldset, figcaption, figure, font,
  footer, form, frameset, h1, h2, h3, h4, h5, h6, head, header, hgroup, hr, html, i, iframe, img, input, ins, kbd,
  label, legend, li, link, main, map, mark, math, menu, meta, nav, noembed, noframes, noscript, object, ol, optgroup,
  option, p, param, picture, pre, progress, q, rp, rt, ruby, s, samp, script, section, select, small, source, span,
  strike, strong, style, sub, summary, sup, svg, table, tbody, td, template_, textarea, tfoot, th, thead, time, title, tr, track,
  tt, u, ul, var, video, wbr, xmp,
};
// clang-format on
constexpr size_t kHtmlTags = static_cast<size_t>(HtmlTag::xmp) + 1;

HtmlTag html_tag(std::string_view name);  // in any case of letters
bool is_void(HtmlTag tag);                // has no content: br, img, …
bool is_block(HtmlTag tag);               // begins and ends a line
bool is_heading(HtmlTag tag);             // h1 to h6

inline bool is_html_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
inline char html_lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }
bool same_html_word(std::string_view a, std::string_view lower);  // a in any case

struct HtmlAttribute {
  std::string_view name, value;
};

struct HtmlToken {
  enum class Kind : uint8_t { text, open, close, end };
  Kind kind = Kind::end;
  HtmlTag tag = HtmlTag::other;
  bool self_closed = false;
  std::string_view text;  // of a text; of a tag: its name
  size_t attributes = 0;  // how many of HtmlScanner::attribute() there are
};

class HtmlScanner {
 public:
  explicit HtmlScanner(std::string_view s) : s_(s) {}
  // An opening tag of an element without markup is followed by its content as one text, if there is any.
  HtmlToken next();
  const HtmlAttribute& attribute(size_t i) const { return attributes_[i]; }

 private:
  static constexpr size_t kMaxAttributes = 32;  // of a tag; those behind are passed over
  size_t behind(size_t i, std::string_view what) const;
  void skip_markup();  // comments, declarations, processing instructions at at_
  HtmlToken read_tag();
  HtmlToken read_raw();
  void read_attributes(HtmlToken& t);

  std::string_view s_;
  size_t at_ = 0;
  HtmlTag raw_ = HtmlTag::other;  // the element without markup whose content comes next
  std::array<HtmlAttribute, kMaxAttributes> attributes_;
};

}  // namespace quern::text
