#include "quern/memory/time/time_words.h"

#include <string>

#include "quern/memory/time/lexicon.h"

namespace quern::memory {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_alpha(char c) { return (c >= 'a' && c <= 'z') || static_cast<unsigned char>(c) >= 0x80; }

class WordScanner {
 public:
  WordScanner(std::string_view text, DateOrder order) : order_(order) {
    out_.lower.resize(text.size());
    for (size_t i = 0; i < text.size(); ++i)
      out_.lower[i] = text[i] >= 'A' && text[i] <= 'Z' ? static_cast<char>(text[i] + 32) : text[i];
    s_ = out_.lower;
    capital_ = text;
  }
  TimeWords run() {
    while (at_ < s_.size()) {
      if (is_digit(s_[at_]))
        scan_number();
      else if (is_alpha(s_[at_]) && !dash() && !quote())
        scan_word();
      else
        scan_mark();
    }
    return std::move(out_);
  }

 private:
  bool starts(std::string_view what) const { return s_.substr(at_).starts_with(what); }
  bool dash() const { return starts("\xE2\x80\x93") || starts("\xE2\x80\x94"); }
  bool quote() const {
    return starts("\xE2\x80\x98") || starts("\xE2\x80\x99") || starts("\xE2\x80\x9C") || starts("\xE2\x80\x9D");
  }

  void scan_mark() {
    const char c = s_[at_];
    if (dash()) {
      before_ = '-', at_ += 3;
    } else if (quote()) {
      at_ += 3;
    } else {
      if (c == '\'' && at_ + 2 < s_.size() && is_digit(s_[at_ + 1]) && is_digit(s_[at_ + 2]) &&
          (at_ + 3 == s_.size() || (!is_digit(s_[at_ + 3]) && !is_alpha(s_[at_ + 3])))) {  // '23
        push(at_, at_ + 3).lex = Lex::year;
        out_.tokens.back().value = 2000 + (s_[at_ - 2] - '0') * 10 + (s_[at_ - 1] - '0');
        return;
      }
      if (c == '.' || c == '?' || c == '!' || c == '\n') starts_ = true;
      if (c != ' ' && c != '\t' && c != '"' && c != '\'' && c != '*' && c != '_') before_ = c;
      if (before_ == 0) before_ = ' ';
      ++at_;
    }
  }

  Token& push(size_t begin, size_t end) {
    Token t;
    t.begin = static_cast<uint32_t>(begin), t.end = static_cast<uint32_t>(end);
    t.before = out_.tokens.empty() ? (before_ == ' ' ? '\0' : before_) : before_ == 0 ? '|' : before_;
    t.starts = starts_;
    t.capital = capital_[begin] >= 'A' && capital_[begin] <= 'Z';
    before_ = 0, starts_ = false;
    at_ = end;
    out_.tokens.push_back(t);
    return out_.tokens.back();
  }

  void scan_word() {
    size_t end = at_;
    std::string word;
    while (end < s_.size()) {
      if (s_.substr(end).starts_with("\xE2\x80\x99")) {  // a typeset apostrophe
        word += '\'', end += 3;
        continue;
      }
      if (s_.substr(end).starts_with("\xE2\x80") && end + 2 < s_.size() &&
          static_cast<unsigned char>(s_[end + 2]) < 0xA0)
        break;
      if (!is_alpha(s_[end]) && s_[end] != '\'' && !(is_digit(s_[end]) && end > at_)) break;
      word += s_[end++];
    }
    while (!word.empty() && word.back() == '\'') word.pop_back();
    Token& t = push(at_, end);
    // q2: a quarter
    if (word.size() == 2 && word[0] == 'q' && word[1] >= '1' && word[1] <= '4') {
      t.lex = Lex::quarter, t.value = word[1] - '0';
      return;
    }
    const LexiconEntry* e = lexicon_find(word);
    if (!e && word.size() > 2 && word.ends_with("'s")) word.resize(word.size() - 2), e = lexicon_find(word);
    if (!e && (e = lexicon_mend(word))) t.mended = true;
    if (!e) return;
    t.lex = e->lex, t.value = e->value, t.word = e->word, t.weak = e->weak, t.plural = e->plural;
  }

  size_t digits_from(size_t i, int& value) const {
    size_t n = 0;
    int64_t v = 0;
    while (i + n < s_.size() && is_digit(s_[i + n])) {
      if (v < 100'000'000) v = v * 10 + (s_[i + n] - '0');
      ++n;
    }
    value = static_cast<int>(v);
    return n;
  }

  void scan_number() {
    const size_t begin = at_;
    int a = 0;
    const size_t na = digits_from(begin, a);
    size_t end = begin + na;
    if (scan_date(begin, na, a)) return;
    if (end < s_.size() && s_[end] == ':') {
      int m = 0;
      if (digits_from(end + 1, m) == 2 && a < 24 && m < 60)
        return scan_clock(begin, end + 3, a * 3600 + m * 60, false);
    }
    const std::string_view tail = s_.substr(end);
    for (const char* suffix : {"st", "nd", "rd", "th"})
      if (tail.starts_with(suffix) && (tail.size() == 2 || (!is_alpha(tail[2]) && !is_digit(tail[2])))) {
        Token& t = push(begin, end + 2);
        t.lex = Lex::ordinal, t.value = a, t.digits = true;
        return;
      }
    if (a <= 24 && na <= 2 && meridiem(end)) return scan_clock(begin, end, a * 3600, true);
    while (end < s_.size() && (is_alpha(s_[end]) || is_digit(s_[end]))) ++end;
    const bool plain = end == begin + na;
    Token& t = push(begin, end);
    if (!plain) return;  // "4k", "3d": a word
    t.lex = Lex::number, t.value = a, t.digits = true;
  }

  // Bytes of "am", "p.m." and the like after any spaces; 0 when there are none.
  size_t meridiem(size_t i, char* which = nullptr) const {
    size_t j = i;
    while (j < s_.size() && s_[j] == ' ') ++j;
    if (j - i > 1 || j >= s_.size() || (s_[j] != 'a' && s_[j] != 'p')) return 0;
    if (which) *which = s_[j];
    const std::string_view rest = s_.substr(j + 1);
    const size_t n = rest.starts_with(".m.") ? 3 : rest.starts_with(".m") ? 2 : rest.starts_with("m") ? 1 : 0;
    if (n == 0) return 0;
    const size_t end = j + 1 + n;
    if (end < s_.size() && (is_alpha(s_[end]) || is_digit(s_[end]))) return 0;
    return end - i;
  }

  void scan_clock(size_t begin, size_t end, int32_t seconds, bool whole_hour) {
    char which = 0;
    if (const size_t n = meridiem(end, &which)) {
      const int hour = seconds / 3600;
      if (hour <= 12) seconds += (which == 'p' ? (hour == 12 ? 0 : 12) : (hour == 12 ? -12 : 0)) * 3600;
      end += n;
    }
    Token& t = push(begin, end);
    t.lex = Lex::clock, t.value = seconds, t.digits = !whole_hour, t.weak = which == 0;
  }

  // Behind a full stop: the sentence is the same still.
  bool goes_on(size_t i) const {
    while (i < s_.size() && s_[i] == ' ') ++i;
    return i < capital_.size() && (capital_[i] == '?' || capital_[i] == ',' || is_alpha(capital_[i]));
  }

  // 2023-05-08, 2023/05/08, 5/8/2023, 8.5.2023, 5/8. Numbers joined otherwise stay numbers ("sessions 2-5").
  bool scan_date(size_t begin, size_t na, int a) {
    const size_t i = begin + na;
    if (i >= s_.size() || (s_[i] != '-' && s_[i] != '/' && s_[i] != '.')) return false;
    const char mark = s_[i];
    int b = 0, c = 0;
    const size_t nb = digits_from(i + 1, b);
    if (nb == 0 || (nb > 2 && nb != 4)) return false;
    const size_t j = i + 1 + nb;
    if (na == 4 && nb == 2 && mark == '-' && a >= 1900 && a < 2200 && b >= 1 && b <= 12 &&
        (j >= s_.size() || (s_[j] != '-' && !is_digit(s_[j]) && !is_alpha(s_[j])))) {  // 2023-12
      Token& t = push(begin, j);
      t.lex = Lex::date, t.year = static_cast<int16_t>(a), t.month = static_cast<int16_t>(b);
      return true;
    }
    if (nb == 4 && (na > 2 || mark != '/')) return false;
    if (na <= 2 && mark == '/' && nb == 4 && a >= 1 && a <= 12 && b >= 1900 && b < 2200) {  // 02/2024
      Token& t = push(begin, j);
      t.lex = Lex::date, t.year = static_cast<int16_t>(b), t.month = static_cast<int16_t>(a);
      return true;
    }
    const bool three = j < s_.size() && s_[j] == mark;
    const size_t nc = three ? digits_from(j + 1, c) : 0;
    auto put = [&](size_t end, int year, int month, int day) {
      if (end < s_.size() && (is_digit(s_[end]) || is_alpha(s_[end]))) return false;
      Token& t = push(begin, end);
      t.lex = Lex::date, t.year = static_cast<int16_t>(year), t.month = static_cast<int16_t>(month);
      t.day = static_cast<int16_t>(day);
      return true;
    };
    if (na == 4 && (nc == 1 || nc == 2)) return put(j + 1 + nc, a, b, c);
    if (na > 2) return false;
    const bool day_first = a > 12 || (b <= 12 && (mark == '.' || !order_.month_first));
    const int month = day_first ? b : a, day = day_first ? a : b;
    if (nc == 4 || nc == 2) return put(j + 1 + nc, nc == 2 ? 2000 + c : c, month, day);
    const bool ended = mark == '.' && three && goes_on(j + 1);  // 8.5., and not 8.5 where a sentence ends
    if ((three && !ended) || (mark != '/' && !ended) || month < 1 || month > 12 || day < 1 || day > 31) return false;
    if (!put(ended ? j + 1 : j, 0, month, day)) return false;
    out_.tokens.back().weak = true;  // could be a fraction
    return true;
  }

  DateOrder order_;
  std::string_view s_, capital_;
  TimeWords out_;
  size_t at_ = 0;
  char before_ = 0;
  bool starts_ = true;
};

}  // namespace

TimeWords time_words(std::string_view text, DateOrder order) { return WordScanner(text, order).run(); }

}  // namespace quern::memory
