// The shared parts of the two parsers.
#include "quern/text/grammar/reader.h"

#include "quern/text/unicode/utf8.h"

namespace quern::text {

GrammarReader::GrammarReader(GrammarBuilder& b, std::string_view what, std::string_view text)
    : b_(b), what_(what), text_(text) {
  if (const size_t bad = utf8_error(text); bad != text.npos) at_ = bad, refuse("the text is not valid UTF-8");
}

void GrammarReader::refuse_text(const std::string& why) const {
  size_t line = 1, column = 1;
  for (size_t i = 0; i < at_ && i < text_.size(); ++i)
    text_[i] == '\n' ? (++line, column = 1) : column += (text_[i] & 0xC0) != 0x80;
  fail("{}, line {} column {}: {}", what_, line, column, why);
}

std::optional<GrammarReader::Repetition> GrammarReader::repetition() {
  Repetition r{.from = at_};
  if (peek() == '+') {
    r.minimum = 1;
  } else if (peek() == '?') {
    r.maximum = 1;
  } else if (peek() == '{') {
    ++at_;
    r.minimum = r.maximum = number();
    if (peek() == ',') ++at_, r.maximum = peek() == '}' ? -1 : number();
    if (peek() != '}') refuse("expected '}}' at the end of a repetition");
  } else if (peek() != '*') {
    return {};
  }
  ++at_;
  return r;
}

GrammarItem GrammarReader::repeat(GrammarItem item, const Repetition& r) {
  try {
    return b_.repeat(item, r.minimum, r.maximum);
  } catch (const Error& e) {
    at_ = r.from;
    refuse("{}", e.what());
  }
}

int64_t GrammarReader::number() {
  int64_t n = 0;
  if (!(peek() >= '0' && peek() <= '9')) refuse("expected a number of repetitions");
  for (; peek() >= '0' && peek() <= '9'; ++at_)
    if (n = n * 10 + (peek() - '0'); n > 1000 * GrammarBuilder::kMaxRepeats) refuse("the number is too large");
  return n;
}

char32_t GrammarReader::hexadecimal(int digits) {
  char32_t cp = 0;
  for (int i = 0; i < digits; ++i, ++at_) {
    const char c = static_cast<char>(peek() | 0x20);
    const bool digit = peek() >= '0' && peek() <= '9';
    if (!digit && !(c >= 'a' && c <= 'f')) refuse("expected {} hexadecimal digits", digits);
    cp = cp * 16 + static_cast<char32_t>(digit ? peek() - '0' : c - 'a' + 10);
  }
  if (cp > 0x10FFFF || (cp >= 0xD800 && cp <= 0xDFFF)) refuse("{:X} is no character", static_cast<uint32_t>(cp));
  return cp;
}

}  // namespace quern::text
