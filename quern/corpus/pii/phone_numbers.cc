#include "quern/corpus/pii/phone_numbers.h"

#include <algorithm>
#include <array>
#include <string>

#include "quern/corpus/pii/calling_codes.h"

namespace quern::corpus {
namespace {

// Words behind which digits are a telephone number; the second list only with a colon between.
constexpr auto kPhoneWords = std::to_array<std::string_view>(
    {"tel",     "telephone", "telephones", "telefon", "telefono", "teléfono", "telefone", "téléphone", "tél",
     "telefax", "telefaks",  "telefoon",   "phone",   "phones",   "fax",      "faks",     "fone",      "whatsapp",
     "tlf",     "puh",       "тел",        "телефон", "факс",     "電話",     "电话"});
constexpr auto kWeakPhoneWords =
    std::to_array<std::string_view>({"cell", "mobile", "mob", "mobil", "móvil", "celular", "handy", "ph", "gsm",
                                     "hotline", "cellphone", "call", "voice"});
// Words that may stand between.
constexpr auto kBetweenWords = std::to_array<std::string_view>(
    {"no", "nr", "number", "numbers", "num", "is", "home", "work", "office", "us", "toll", "free", "direct"});

// One number: the text, its groups, and where a '+' or '(' before the first group is.
class PhoneReader {
 public:
  PhoneReader(std::string_view s, const DigitGroups& g) : s_(s), g_(g), first_(g.group[0].begin) {
    for (size_t k = 0; k < g.count; ++k) digits_.append(s.substr(g.group[k].begin, g.group[k].size()));
  }

  // With the groups that stand behind spaced signs: only a number that is called one has those.
  TextRange read_spaced() const {
    const char before = at(first_, -1);
    const size_t begin = before == '+' || before == '(' ? first_ - 1 : first_;
    if (number_came_before(s_, begin) || !follows_phone_word(begin)) return {};
    if (before == '+') return international(begin);
    return by_name(begin);
  }

  TextRange read() const {
    const char before = at(first_, -1);
    if (before == '+' || ((before == '(' || before == ' ') && at(first_, -2) == '+'))
      return international(first_ - (before == '+' ? 1 : 2));
    const size_t begin = before == '(' ? first_ - 1 : first_;
    if (number_came_before(s_, begin)) return {};
    const bool named = follows_phone_word(begin);
    if (digits_.starts_with("00") && (g_.count > 1 || named))
      if (const TextRange r = by_calling_code(begin, 2, named); !r.empty()) return r;
    if (const TextRange r = north_american(begin, named); !r.empty()) return r;
    if (digits_[0] == '0')
      if (const TextRange r = with_trunk_zero(begin); !r.empty()) return r;
    return named ? by_name(begin) : TextRange{};
  }

 private:
  char at(size_t i, int offset) const {
    const size_t k = i + static_cast<size_t>(offset);
    return k < s_.size() ? s_[k] : '\0';  // before the beginning, k is huge
  }
  char separator(size_t group) const { return g_.group[group].before; }

  // Whether a number of n groups may end there.
  bool ends(size_t n) const {
    if (n < g_.count) return separator(n) == ' ' || separator(n) == '(' || separator(n) == '/';
    const size_t end = g_.group[n - 1].end;
    if ((at(end, 0) | 32) == 'x' && ascii_digit(at(end, 1))) return true;  // an extension
    return !number_goes_on(s_, end, "-./:");
  }
  TextRange range(size_t begin, size_t n) const { return {begin, g_.group[n - 1].end}; }

  TextRange international(size_t plus) const {
    if (at(plus, -1) == '+') --plus;  // "++49"
    const char before = at(plus, -1);
    if (ascii_alnum(before) || before == '_' || before == '+' || before == ')') return {};
    const bool named = follows_phone_word(plus);
    if (!named && s_[plus + 1] != '(' && plus + 1 < first_) return {};  // "+ 49" and "++49" are sums elsewhere
    return by_calling_code(before == '(' && g_.count > 1 && separator(1) == ')' ? plus - 1 : plus, 0, named);
  }

  // A calling code behind `skip` digits.
  TextRange by_calling_code(size_t begin, size_t skip, bool named) const {
    const CallingCode* code = calling_code(std::string_view(digits_).substr(std::min(skip, digits_.size())));
    if (!code) return {};
    const size_t head = skip + calling_code_length(*code);
    if (head > g_.group[0].size() || (skip > 0 && digits_.substr(head).starts_with('0')))
      return {};  // 0069 0307: a table
    for (size_t n = g_.count; n > 0; --n) {
      size_t total = g_.digits(n);
      if (total < head + 4 || total < 7 || !ends(n)) continue;
      if (n == 2 && separator(1) == '.' && !named) continue;  // +1.2345678901
      if (n == 1 && total < 8) continue;
      size_t national = total - head, zero = 0;
      for (size_t k = 1; k < n; ++k)  // "(0)", for calls from within
        if (separator(k) == '(' && g_.group[k].size() == 1 && s_[g_.group[k].begin] == '0') zero = 1;
      if (zero == 0 && digits_[head] == '0') zero = 1;
      const bool fits = national >= code->min && national <= code->max;
      const bool fits_without = zero == 1 && national - 1 >= code->min && national - 1 <= code->max;
      if (!fits && !fits_without) continue;
      if (code->code == 1 && !is_north_american(std::string_view(digits_).substr(head + zero))) continue;
      return range(begin, n);
    }
    return {};
  }

  static bool is_north_american(std::string_view ten) {
    if (ten.size() < 10 || ten[0] < '2' || ten[1] == '9' || ten[3] < '2') return false;
    return !(ten[1] == '1' && ten[2] == '1') && !(ten[4] == '1' && ten[5] == '1');
  }

  TextRange north_american(size_t begin, bool named) const {
    const size_t k = digits_[0] == '1' && g_.group[0].size() == 1 ? 1 : 0;
    if (g_.count >= k + 2 && g_.group[k].size() == 3 && g_.group[k + 1].size() == 7) {  // (212) 5550142
      const bool open = (k == 0 ? at(first_, -1) : separator(1)) == '(' && separator(k + 1) == ')';
      return open && ends(k + 2) && is_north_american(std::string_view(digits_).substr(k)) ? range(begin, k + 2)
                                                                                           : TextRange{};
    }
    if (g_.count < k + 3 || g_.group[k].size() != 3 || g_.group[k + 1].size() != 3 || g_.group[k + 2].size() != 4)
      return {};
    const char open = k == 0 ? at(first_, -1) : separator(1), a = separator(k + 1), b = separator(k + 2);
    const bool parentheses = open == '(' && a == ')';
    const bool joined =
        (a == b && (a == '-' || a == '.')) || (b == '-' && (a == '/' || a == ' ')) || (a == ' ' && b == ' ' && named);
    if ((!parentheses && !joined) || b == '/' || b == '(' || b == ')' || !ends(k + 3)) return {};
    if (!is_north_american(std::string_view(digits_).substr(k))) return {};
    return range(parentheses || k == 1 ? begin : first_, k + 3);
  }

  TextRange with_trunk_zero(size_t begin) const {
    if (digits_.size() < 8 || digits_[1] == '0') return {};
    const bool in_parentheses = begin < first_ && g_.count > 1 && separator(1) == ')';
    if (in_parentheses || (g_.count > 1 && separator(1) == '/')) return by_area_code(begin);
    if (begin < first_ || digits_before(begin)) return {};
    if (g_.sizes({2, 2, 2, 2, 2}) && g_.count == 5) return in_pairs() ? range(first_, 5) : TextRange{};
    static constexpr std::initializer_list<size_t> kForms[] = {
        {3, 4, 4}, {4, 3, 4}, {5, 6}, {5, 3, 3}, {2, 4, 4}, {3, 3, 4}, {4, 2, 4}, {5, 5}, {3, 3, 2, 2}, {4, 3, 2, 2}};
    if (digits_[1] == '4' && g_.sizes({4, 3, 3}) && g_.one_separator(3, " -") && ends(3))  // mobiles of Australia
      return range(first_, 3);
    for (const auto& form : kForms)
      if (g_.sizes(form) && g_.one_separator(form.size(), " -") && ends(form.size()))
        return range(first_, form.size());
    return {};
  }

  // Ten digits in pairs, neither out of a dump of bytes nor small numbers in a row.
  bool in_pairs() const {
    size_t small = 0;
    for (size_t k = 0; k < 5; ++k) small += s_[g_.group[k].begin] == '0';
    return small < 4 && g_.one_separator(5, " -.") && ends(5) && !bytes_around(first_, g_.group[4].end);
  }

  TextRange by_area_code(size_t begin) const {
    const size_t area = g_.group[0].size();
    if (area < 2 || area > 6) return {};
    for (size_t n = std::min<size_t>(g_.count, 5); n > 1; --n) {
      const size_t total = g_.digits(n);
      if (total < 8 || total > 12 || !ends(n)) continue;
      if (begin == first_ && n == 2 && g_.group[1].size() < 5) continue;  // 0123/2004
      bool fits = true;
      for (size_t k = 1; k < n; ++k)
        fits = fits && g_.group[k].size() > 1 && separator(k) != '(' && (k == 1 || separator(k) != '/');
      if (fits) return range(begin, n);
    }
    return {};
  }

  // Whatever groups a number that is called one has, but for a date's.
  TextRange by_name(size_t begin) const {
    for (size_t n = g_.count; n > 0; --n) {
      const size_t total = g_.digits(n);
      if (total < 7 || total > 15 || !ends(n)) continue;
      if (n == 3 && (g_.sizes({4, 2, 2}) || g_.sizes({2, 2, 4})) && separator(1) != ' ') continue;
      size_t single = 0;
      for (size_t k = 1; k < n; ++k) single += g_.group[k].size() == 1;
      if (single == 0 || (single == 1 && total > 8))
        return range(g_.count > 1 && separator(1) == ')' ? begin : first_, n);
    }
    return {};
  }

  bool digits_before(size_t begin) const { return at(begin, -1) == ' ' && begin > 1 && ascii_digit(at(begin, -2)); }

  // Whether two hexadecimal digits stand before or behind, as in a dump of bytes.
  bool bytes_around(size_t begin, size_t end) const {
    const auto hex = [&](size_t i, int o) { return hex_digit(at(i, o)) >= 0; };
    return (begin > 2 && hex(begin, -2) && hex(begin, -3) && !ascii_alnum(begin > 3 ? s_[begin - 4] : ' ')) ||
           (hex(end, 1) && hex(end, 2) && !ascii_alnum(at(end, 3)));
  }

  // Whether a word for telephone stands before `i`.
  bool follows_phone_word(size_t i) const {
    bool colon = false;
    for (int words = 0; words < 3; ++words) {
      for (int k = 0; k < 6 && i > 0; ++k) {
        const char c = s_[i - 1];
        if (i >= 3 && s_.substr(i - 3, 3) == "：") {
          colon = true, i -= 3;
          continue;
        }
        if (c != ' ' && c != ':' && c != '.' && c != '(' && c != ')' && c != '=' && c != '"' && c != '#' && c != '*')
          break;
        colon = colon || c == ':', --i;
      }
      const size_t end = i;
      while (i > 0 && end - i < 24 && (ascii_letter(s_[i - 1]) || (s_[i - 1] & 0x80))) --i;
      if (i == end || (i > 0 && (ascii_digit(s_[i - 1]) || s_[i - 1] == '_'))) return false;
      std::string word(s_.substr(i, end - i));
      std::ranges::transform(word, word.begin(), ascii_lower);
      const auto in = [&](const auto& list) { return std::ranges::find(list, word) != list.end(); };
      if (in(kPhoneWords) || (colon && in(kWeakPhoneWords))) return true;
      if (!in(kBetweenWords)) return false;
    }
    return false;
  }

  std::string_view s_;
  const DigitGroups& g_;
  size_t first_;
  std::string digits_;
};

}  // namespace

TextRange phone_at(std::string_view s, const DigitGroups& g) {
  if (g.with_spaced > g.count) {
    DigitGroups all = g;
    all.count = g.with_spaced;
    if (const TextRange r = PhoneReader(s, all).read_spaced(); !r.empty()) return r;
  }
  return PhoneReader(s, g).read();
}

}  // namespace quern::corpus
