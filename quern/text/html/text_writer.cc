#include "quern/text/html/text_writer.h"

#include <fmt/format.h>

#include "quern/text/html/entities.h"
#include "quern/text/html/label_lines.h"

namespace quern::text {
namespace {

using enum HtmlTag;

bool is_line(HtmlTag t) { return t == li || t == dt || t == dd || t == tr || t == option || t == caption; }
int level_of(HtmlTag heading) { return static_cast<int>(heading) - static_cast<int>(h1) + 1; }
bool is_cell(HtmlTag t) { return t == td || t == th; }
bool is_list(HtmlTag t) { return t == ul || t == ol || t == menu; }
bool is_row_group(HtmlTag t) { return t == tbody || t == thead || t == tfoot; }

}  // namespace

// The line that ends here goes if it is no part of the text.
void TextWriter::end_line() {
  if (pre_ > 0 || out_.empty() || out_.back() == '\n') return;
  const size_t before = out_.rfind('\n'), begin = before == out_.npos ? 0 : before + 1;
  if (is_label_line(std::string_view(out_).substr(begin))) out_.resize(begin);
}

void TextWriter::break_to(size_t lines) {
  end_line();
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
  if (is_heading(t)) begin_heading(level_of(t));
  if (is_list(t)) lists_.push_back(t == ol ? 0 : -1);
  if (t == tr) row_begun_ = false;
  if (t == pre || t == xmp) ++pre_;
}

// Headings of this level and below that end the text.
void TextWriter::drop_empty_headings(int level) {
  while (!headings_.empty() && headings_.back().level >= level) {
    const Heading& h = headings_.back();
    if (h.begin < out_.size()) {
      if (h.end == h.begin || out_.find_first_not_of(" \n", h.end) != out_.npos) return;
      out_.resize(h.begin);
    }
    headings_.pop_back();
  }
}

void TextWriter::begin_heading(int level) {
  drop_empty_headings(level);
  headings_.push_back({out_.size(), out_.size(), level});
}

void TextWriter::leave_out() {
  constexpr size_t kLabel = 100;  // bytes
  drop_empty_headings(1);
  const size_t end = out_.find_last_not_of(" \n");
  if (end == out_.npos || out_[end] != ':') return;
  const size_t line = out_.rfind('\n', end), begin = line == out_.npos ? 0 : line + 1;
  if (end - begin < kLabel) out_.resize(begin);
}

void TextWriter::close(HtmlTag t) {
  if (is_heading(t) && !headings_.empty()) headings_.back().end = out_.size();
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
  end_line();
  drop_empty_headings(1);
  while (!out_.empty() && is_html_space(out_.back())) out_.pop_back();
  return std::move(out_);
}

}  // namespace quern::text
