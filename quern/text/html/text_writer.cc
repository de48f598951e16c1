#include "quern/text/html/text_writer.h"

#include <fmt/format.h>

#include "quern/text/html/entities.h"

namespace quern::text {
namespace {

using enum HtmlTag;

bool is_line(HtmlTag t) { return t == li || t == dt || t == dd || t == tr || t == option || t == caption; }
bool is_cell(HtmlTag t) { return t == td || t == th; }
bool is_list(HtmlTag t) { return t == ul || t == ol || t == menu; }
bool is_row_group(HtmlTag t) { return t == tbody || t == thead || t == tfoot; }

}  // namespace

void TextWriter::break_to(size_t lines) {
  while (!out_.empty() && (out_.back() == ' ' || out_.back() == '\t')) out_.pop_back();
  if (out_.empty() || out_.ends_with("\n- ")) return;
  size_t have = 0;
  while (have < out_.size() && have < lines && out_[out_.size() - 1 - have] == '\n') ++have;
  out_.append(lines - have, '\n');
}

void TextWriter::open(HtmlTag t) {
  if (t == br) {
    break_to(1);
  } else if (is_cell(t)) {
    if (row_begun_ && !out_.empty() && out_.back() != '\n') out_ += out_.back() == ' ' ? "| " : " | ";
    row_begun_ = true;
  } else if (t == li) {
    break_to(1);
    if (lists_.size() > 1) out_.append(2 * (lists_.size() - 1), ' ');
    if (!lists_.empty() && lists_.back() >= 0)
      out_ += fmt::format("{}. ", ++lists_.back());
    else
      out_ += "- ";
  } else if (is_block(t)) {
    break_to(is_line(t) || is_row_group(t) || (is_list(t) && !lists_.empty()) ? 1 : 2);
  }
  if (is_list(t)) lists_.push_back(t == ol ? 0 : -1);
  if (t == tr) row_begun_ = false;
  if (t == pre || t == xmp) ++pre_;
}

void TextWriter::close(HtmlTag t) {
  if (t == pre || t == xmp) --pre_;
  if (is_list(t)) lists_.pop_back();
  if (is_block(t) && !is_cell(t)) break_to(is_line(t) || is_row_group(t) || (is_list(t) && !lists_.empty()) ? 1 : 2);
}

void TextWriter::put_preformatted(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    if (text[i] == '&')
      if (const size_t n = append_entity(text, i, out_); n > 0) {
        i += n;
        continue;
      }
    if (text[i] != '\r') out_ += text[i];
    ++i;
  }
}

void TextWriter::put(std::string_view text) {
  if (pre_ > 0) return put_preformatted(text);
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (is_html_space(c)) {
      if (!out_.empty() && !is_html_space(out_.back())) out_ += ' ';
      ++i;
      continue;
    }
    if (c == '&')
      if (const size_t n = append_entity(text, i, out_); n > 0) {
        i += n;
        continue;
      }
    size_t end = i + 1;
    while (end < text.size() && !is_html_space(text[end]) && text[end] != '&') ++end;
    out_ += text.substr(i, end - i);
    i = end;
  }
}

std::string TextWriter::take() {
  while (!out_.empty() && is_html_space(out_.back())) out_.pop_back();
  return std::move(out_);
}

}  // namespace quern::text
