// Tokens of mathematical text: ASCII, LaTeX commands and the usual characters beyond ASCII.
#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>

#include "quern/math/expression.h"

namespace quern::math {
namespace {

using Kind = MathTokenKind;
constexpr char kGroup = '\x01';  // "{,}" between digits

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

constexpr std::array<std::string_view, 33> kNames = {
    "arcsin", "arccos",   "arctan", "asin",  "acos", "atan", "sinh", "cosh", "tanh", "sin", "cos",
    "tan",    "cot",      "sec",    "csc",   "sqrt", "cbrt", "exp",  "log",  "ln",   "lg",  "abs",
    "pi",     "infinity", "inf",    "infty", "frac", "cup",  "or",   "and",  "in",   "oo",  "binom"};

const std::map<std::string_view, std::string_view> kSpelled = {
    {"arcsin", "asin"},    {"arccos", "acos"},       {"arctan", "atan"},        {"ln", "log"},
    {"infty", "infinity"}, {"inf", "infinity"},      {"oo", "infinity"},        {"dfrac", "frac"},
    {"tfrac", "frac"},     {"cfrac", "frac"},        {"dbinom", "binom"},       {"tbinom", "binom"},
    {"over", "over"},      {"emptyset", "emptyset"}, {"varnothing", "emptyset"}};

const std::map<std::string_view, std::string_view> kSigns = {  // LaTeX commands
    {"cdot", "*"},  {"times", "*"},    {"ast", "*"},      {"div", "/"},  {"pm", "±"},
    {"mp", "∓"},    {"lbrace", "\\{"}, {"rbrace", "\\}"}, {"circ", "°"}, {"degree", "°"},
    {"lvert", "|"}, {"rvert", "|"},    {"vert", "|"},     {"mid", "|"}};

constexpr std::array<std::string_view, 26> kGreek = {
    "alpha",  "beta",  "gamma",  "delta", "epsilon", "varepsilon", "zeta", "eta",   "theta",
    "iota",   "kappa", "lambda", "mu",    "nu",      "xi",         "rho",  "sigma", "phi",
    "varphi", "chi",   "psi",    "omega", "Delta",   "Omega",      "tau",  "ell"};

constexpr std::array<std::string_view, 21> kSkipped = {
    "left", "right", "big",  "Big",  "bigg",      "Bigg",  "quad",      "qquad", "displaystyle", "limits", "boxed",
    "bigl", "bigr",  "Bigl", "Bigr", "thinspace", "space", "textstyle", "biggl", "biggr",        "hfill"};

constexpr std::array<std::string_view, 9> kTextCommands = {"text", "mathrm", "textbf", "mathbf", "operatorname",
                                                           "mbox", "textrm", "mathit", "textit"};

const std::map<std::string_view, std::string_view> kCharacters = {  // beyond ASCII: what is read instead
    {"−", "-"},    {"–", "-"},  {"×", "*"},        {"·", "*"}, {"⋅", "*"},   {"∙", "*"},
    {"÷", "/"},    {"±", "±"},  {"∓", "∓"},        {"°", "°"}, {"∪", "cup"}, {"∈", "in"},
    {"√", "sqrt"}, {"π", "pi"}, {"∞", "infinity"}, {"⁄", "/"}, {"∕", "/"},   {"∅", "emptyset"}};

const std::map<std::string_view, std::string_view> kGreekLetters = {
    {"α", "\\alpha"}, {"β", "\\beta"},  {"γ", "\\gamma"}, {"δ", "\\delta"}, {"ε", "\\epsilon"}, {"ζ", "\\zeta"},
    {"η", "\\eta"},   {"θ", "\\theta"}, {"ι", "\\iota"},  {"κ", "\\kappa"}, {"λ", "\\lambda"},  {"μ", "\\mu"},
    {"ν", "\\nu"},    {"ξ", "\\xi"},    {"ρ", "\\rho"},   {"σ", "\\sigma"}, {"τ", "\\tau"},     {"φ", "\\phi"},
    {"χ", "\\chi"},   {"ψ", "\\psi"},   {"ω", "\\omega"}, {"Δ", "\\Delta"}, {"Ω", "\\Omega"}};

const std::map<std::string_view, std::array<std::string_view, 2>> kFractions = {
    {"½", {"1", "2"}}, {"⅓", {"1", "3"}}, {"⅔", {"2", "3"}}, {"¼", {"1", "4"}}, {"¾", {"3", "4"}},
    {"⅕", {"1", "5"}}, {"⅖", {"2", "5"}}, {"⅗", {"3", "5"}}, {"⅘", {"4", "5"}}, {"⅙", {"1", "6"}},
    {"⅚", {"5", "6"}}, {"⅛", {"1", "8"}}, {"⅜", {"3", "8"}}, {"⅝", {"5", "8"}}, {"⅞", {"7", "8"}}};

// One blank, as it may also stand between groups of three digits; the last three: no-break, thin, narrow no-break.
constexpr std::array<std::string_view, 9> kBlanks = {
    " ", "~", "\\,", "\\;", "\\:", "\\ ", "\u00a0", "\u2009", "\u202f"};

// Read as one word after a number, where other letters are a product: 5 cm, but 5 xy.
constexpr std::array<std::string_view, 52> kUnits = {
    "cm", "mm",  "km",  "dm",  "nm",  "kg",     "mg",      "ml",   "mL",    "cl",    "ft",     "yd",    "mi",
    "lb", "lbs", "oz",  "gal", "hr",  "hrs",    "min",     "mins", "sec",   "secs",  "ms",     "kW",    "kWh",
    "kJ", "kN",  "kPa", "Pa",  "Hz",  "kHz",    "MHz",     "GHz",  "mph",   "kph",   "cc",     "mol",   "rad",
    "GB", "MB",  "kB",  "in",  "day", "second", "seconds", "pint", "pints", "point", "points", "piece", "pieces"};

constexpr std::array<std::string_view, 10> kRaised = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};

template <size_t N>
bool among(const std::array<std::string_view, N>& words, std::string_view w) {
  return std::ranges::find(words, w) != words.end();
}

class Tokenizer {
 public:
  Tokenizer(std::string_view text, MathCommas commas) : commas_(commas) {
    if (text.size() > kMaxMathText)
      throw MathUnreadable(fmt::format("the answer has {} bytes: at most {} are read", text.size(), kMaxMathText));
    for (size_t i = 0; i < text.size(); ++i) {
      const bool group = text.substr(i, 3) == "{,}";
      if (group)
        text_ += kGroup, i += 2;
      else if (text.substr(i, 2) == "\\!")
        ++i;
      else
        text_ += text[i];
    }
  }

  std::vector<MathToken> read() {
    while (at_ < text_.size()) step();
    out_.push_back({.kind = Kind::end});
    return std::move(out_);
  }

 private:
  enum class Brace : uint8_t { shown, hidden };
  std::string_view rest() const { return std::string_view(text_).substr(at_); }
  char peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  void put(Kind kind, std::string_view text) { put({.kind = kind, .text = std::string(text)}); }
  void put(MathToken token) {
    token.after_space = std::exchange(spaced_, false);
    out_.push_back(std::move(token));
  }

  // At the start of `text`; empty: none.
  static std::string_view blank_in(std::string_view text) {
    const auto blank = std::ranges::find_if(kBlanks, [&](std::string_view b) { return text.starts_with(b); });
    return blank == kBlanks.end() ? std::string_view() : *blank;
  }

  void step() {
    const char c = peek();
    if (const std::string_view blank = blank_in(rest()); !blank.empty()) {
      spaced_ = true, at_ += blank.size();
    } else if (std::string_view("\t\r\n").find(c) != std::string_view::npos) {
      spaced_ = true, ++at_;
    } else if (c == '\\') {
      command();
    } else if (is_digit(c) || (c == '.' && is_digit(peek(1)))) {
      number();
    } else if (is_letter(c)) {
      letters();
    } else if (rest().starts_with("**")) {
      put(Kind::sign, "^"), at_ += 2;
    } else if (std::string_view("+-*/^()[]{},;=%!|_").find(c) != std::string_view::npos) {
      ++at_;
      if (is_hidden(c)) {
        spaced_ = true;
      } else {
        if (c == '(' || c == '[' || c == '{') ++depth_;
        if (c == ')' || c == ']' || c == '}') --depth_;
        put(Kind::sign, std::string_view(&c, 1));
      }
    } else {
      beyond_ascii();
    }
  }

  // The braces of \text{…} are.
  bool is_hidden(char c) {
    if (c == '{') braces_.push_back(Brace::shown);
    if (c != '}' || braces_.empty()) return false;
    const Brace last = braces_.back();
    braces_.pop_back();
    return last == Brace::hidden;
  }

  void command() {
    size_t end = at_ + 1;
    while (end < text_.size() && is_letter(text_[end])) ++end;
    const std::string name = text_.substr(at_ + 1, end - at_ - 1);
    if (name.empty()) return escaped();
    at_ = end;
    if (among(kSkipped, name)) return;
    if (among(kTextCommands, name)) {
      spaced_ = true;
      if (phrase()) return;
      if (peek() != '{') return;
      braces_.push_back(Brace::hidden), ++at_;
    } else if (const auto sign = kSigns.find(name); sign != kSigns.end()) {
      if (name == "lbrace") ++depth_;
      if (name == "rbrace") --depth_;
      put(Kind::sign, sign->second);
    } else if (const auto other = kSpelled.find(name); other != kSpelled.end()) {
      put(Kind::name, other->second);
    } else if (among(kGreek, name)) {
      variable("\\" + name);
    } else if (among(kNames, name)) {
      put(Kind::name, name);
    } else {
      throw MathUnreadable(fmt::format("'\\{}' is not known", name));
    }
  }

  // The words of \text{…} as one token, where they are letters alone and not all known: \text{cm}, \text{m per s}.
  bool phrase() {
    const size_t close = text_.find('}', at_);
    if (peek() != '{' || close == text_.npos) return false;
    std::string words;
    size_t longest = 0, letters = 0;
    for (char c : std::string_view(text_).substr(at_ + 1, close - at_ - 1)) {
      if (!is_letter(c) && std::string_view(" .'-/~").find(c) == std::string_view::npos) return false;
      letters = is_letter(c) ? letters + 1 : 0, longest = std::max(longest, letters);
      if (c != ' ' && c != '~')
        words += c;
      else if (!words.empty() && words.back() != ' ')
        words += ' ';
    }
    if (words.ends_with(' ')) words.pop_back();
    const std::string_view first = std::string_view(words).substr(0, words.find(' '));
    const std::string_view last = std::string_view(words).substr(words.rfind(' ') + 1);
    const auto joins = [](std::string_view w) { return w == "or" || w == "and"; };
    if (longest < 2 || among(kNames, words) || joins(first) || joins(last)) return false;
    at_ = close + 1;
    word(words);
    return true;
  }

  // A unit or a noun behind a value: compared as a whole, never as a product of its letters.
  void word(std::string_view words) {
    if (!follows_value()) throw MathUnreadable(fmt::format("the word '{}' stands where a value is expected", words));
    put(Kind::variable, fmt::format("\\text{{{}}}", words));
  }

  bool follows_value() const {
    if (out_.empty()) return false;
    const MathToken& t = out_.back();
    if (t.kind == Kind::variable && is_word(t)) return false;
    if (t.kind == Kind::name) return t.text == "pi" || t.text == "e" || t.text == "i";
    return t.kind != Kind::sign || t.is(")") || t.is("]") || t.is("}") || t.is("°") || t.is("*") || t.is("/") ||
           t.is("|") || t.is("%") || t.is("!");
  }

  static bool is_word(const MathToken& t) { return t.text.starts_with("\\text{"); }

  // Whether a run of letters in plain text is a word: a unit after a number, or what a product of letters is not.
  bool is_plain_word(std::string_view run) const {
    if (out_.empty() || run.size() < 2) return false;
    const MathToken& before = out_.back();
    const bool after_number = before.kind == Kind::number;
    const bool after_word = (before.is("/") || before.is("*")) && out_.size() >= 2 && is_word(out_[out_.size() - 2]);
    if ((after_number || after_word) && among(kUnits, run)) return run != "in" || at_ + run.size() == text_.size();
    const bool known = std::ranges::any_of(kNames, [&](std::string_view n) {
      return n.size() > 2 && n != "inf" && n != "and" ? run.find(n) != run.npos : run.starts_with(n) && n == "pi";
    });
    return after_number && spaced_ && run.size() >= 4 && !known && !std::ranges::is_sorted(run);
  }

  void escaped() {
    const char c = peek(1);
    at_ += 2;
    if (c == '{' || c == '}') {
      depth_ += c == '{' ? 1 : -1;
      put(Kind::sign, c == '{' ? "\\{" : "\\}");
    } else if (c == '%' || c == '|') {
      put(Kind::sign, std::string_view(&c, 1));
    } else if (c != '$') {
      throw MathUnreadable("a backslash without a command");
    }
  }

  // Digits; commas between groups of three where no bracket is open, "{,}" and blanks anywhere.
  void number() {
    std::string digits;
    bool grouped = false;
    for (bool more = true; more; grouped = grouped || more) {
      while (is_digit(peek())) digits += text_[at_++];
      const bool comma = peek() == ',' && commas_ == MathCommas::group && depth_ == 0;
      const bool may = !digits.empty() && digits[0] != '0' && (grouped || digits.size() <= 3);
      more = may && (comma || peek() == kGroup) && is_group(at_ + 1);
      if (more) ++at_;
    }
    if (!grouped) blank_groups(digits);
    int64_t exponent = 0;
    if (peek() == '.' && (is_digit(peek(1)) || !repeated_digits(at_ + 1).digits.empty())) {
      for (++at_; is_digit(peek()); --exponent) digits += text_[at_++];
      if (const Repeated r = repeated_digits(at_); !r.digits.empty()) {
        at_ = r.end;
        return put({.kind = Kind::number,
                    .text = digits + std::string(r.digits),
                    .exponent = static_cast<int32_t>(exponent - static_cast<int64_t>(r.digits.size())),
                    .repeating = static_cast<int32_t>(r.digits.size())});
      }
    }
    const bool is_signed = peek(1) == '+' || peek(1) == '-';
    if ((peek() == 'e' || peek() == 'E') && is_digit(peek(is_signed ? 2 : 1))) {
      const bool minus = peek(1) == '-';
      int64_t given = 0;
      for (at_ += is_signed ? 2 : 1; is_digit(peek()); ++at_)
        given = std::min<int64_t>(given * 10 + (peek() - '0'), kMaxExponent + 1);
      if (given > kMaxExponent) throw MathUnreadable(fmt::format("an exponent beyond {}", kMaxExponent));
      exponent += minus ? -given : given;
    }
    put({.kind = Kind::number, .text = digits, .exponent = static_cast<int32_t>(exponent)});
  }

  // "1 250 000" behind its first digits: groups of three, always parted by the same blank. Not of "1 250/3", a mixed
  // number, nor where LaTeX would take one digit or number alone: \frac 1 250, 2^3 500.
  void blank_groups(std::string& digits) {
    if (digits.empty() || digits.size() > 3 || digits[0] == '0' || takes_one_argument()) return;
    const std::string_view blank = blank_in(rest());
    std::string groups;
    size_t end = at_, count = 0;
    while (!blank.empty() && text_.compare(end, blank.size(), blank) == 0 && is_group(end + blank.size())) {
      groups += text_.substr(end + blank.size(), 3);
      end += blank.size() + 3, ++count;
    }
    const size_t next = std::min(text_.find_first_not_of(' ', end), text_.size());
    if (count == 0 || (count == 1 && text_.compare(next, 1, "/") == 0)) return;
    digits += groups, at_ = end;
  }

  // What stands before a number is a command or a raising or lowering sign.
  bool takes_one_argument() const {
    if (out_.empty()) return false;
    const MathToken& t = out_.back();
    const bool joins = t.is_name("or") || t.is_name("and") || t.is_name("in");
    return t.is("^") || t.is("_") || (t.kind == Kind::name && !joins);
  }

  // \overline{3}, \overline3, \bar{3}: digits, and where they end.
  struct Repeated {
    std::string_view digits = {};
    size_t end = 0;
  };
  Repeated repeated_digits(size_t at) const {
    const std::string_view text = std::string_view(text_).substr(std::min(at, text_.size()));
    for (std::string_view command : {"\\overline", "\\bar"}) {
      if (!text.starts_with(command)) continue;
      const size_t from = std::min(text.find_first_not_of(' ', command.size()), text.size());
      if (from < text.size() && is_digit(text[from])) return {text.substr(from, 1), at + from + 1};
      if (from == text.size() || text[from] != '{') return {};
      const size_t end = std::min(text.find_first_not_of("0123456789", from + 1), text.size());
      if (end == text.size() || text[end] != '}') return {};
      return {text.substr(from + 1, end - from - 1), at + end + 1};
    }
    return {};
  }

  bool is_group(size_t at) const {
    const auto digit = [&](size_t i) { return i < text_.size() && is_digit(text_[i]); };
    return digit(at) && digit(at + 1) && digit(at + 2) && !digit(at + 3);
  }

  void letters() {
    size_t end = at_;
    while (end < text_.size() && is_letter(text_[end])) ++end;
    const std::string_view run = std::string_view(text_).substr(at_, end - at_);
    if (is_plain_word(run)) {
      const std::string words(run);
      at_ = end;
      return word(words);
    }
    for (std::string_view name : kNames) {
      const bool whole_only = name == "or" || name == "and" || name == "in" || name == "inf" || name == "oo" ||
                              name == "cup" || name == "frac" || name == "binom";
      if (whole_only ? run != name : !run.starts_with(name)) continue;
      at_ += name.size();
      const auto other = kSpelled.find(name);
      return put(Kind::name, other == kSpelled.end() ? name : other->second);
    }
    const std::string letter(1, text_[at_++]);
    if (letter == "e" || letter == "i") return put(Kind::name, letter);
    variable(letter);
  }

  // With its index: x_1, x_{12}, x_a.
  void variable(std::string name) {
    if (peek() == '_') {
      size_t end = at_ + 1;
      if (peek(1) == '{') {
        const size_t close = text_.find('}', at_);
        if (close == text_.npos) throw MathUnreadable("a brace is not closed");
        name += "_" + text_.substr(at_ + 2, close - at_ - 2), end = close + 1;
      } else {
        while (end < text_.size() && (is_digit(text_[end]) || (end == at_ + 1 && is_letter(text_[end])))) ++end;
        name += text_.substr(at_, end - at_);
      }
      at_ = end;
    }
    put(Kind::variable, name);
  }

  void beyond_ascii() {
    size_t size = 1;
    while (at_ + size < text_.size() && (static_cast<unsigned char>(text_[at_ + size]) & 0xC0) == 0x80) ++size;
    const std::string_view character = rest().substr(0, size);
    if (const auto raised = std::ranges::find(kRaised, character); raised != kRaised.end()) return raised_digits();
    const auto known = kCharacters.find(character);
    if (known != kCharacters.end()) {
      at_ += size;
      const bool is_name = is_letter(known->second[0]);
      return put(is_name ? Kind::name : Kind::sign, known->second);
    }
    if (const auto greek = kGreekLetters.find(character); greek != kGreekLetters.end()) {
      at_ += size;
      return variable(std::string(greek->second));
    }
    if (const auto parts = kFractions.find(character); parts != kFractions.end()) {
      at_ += size;
      put(Kind::name, "frac");
      for (std::string_view part : parts->second) put(Kind::sign, "{"), put(Kind::number, part), put(Kind::sign, "}");
      return;
    }
    const auto lead = static_cast<unsigned char>(character[0]);
    if (size == 2 && (lead == 0xCE || lead == 0xCF)) {  // Greek
      at_ += size;
      return variable(std::string(character));
    }
    const size_t due = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC2 ? 2 : lead < 0x80 ? 1 : 0;
    if (lead < 0x20 || size != due) throw MathUnreadable(fmt::format("the byte {:#04x} is not a part of text", lead));
    throw MathUnreadable(fmt::format("'{}' is not a part of an expression", character));
  }

  void raised_digits() {
    std::string digits;
    for (bool more = true; more;) {
      more = false;
      for (size_t d = 0; d < kRaised.size(); ++d)
        if (rest().starts_with(kRaised[d]))
          digits += static_cast<char>('0' + d), at_ += kRaised[d].size(), more = true;
    }
    put(Kind::sign, "^"), put(Kind::number, digits);
  }

  MathCommas commas_;
  std::string text_ = {};
  size_t at_ = 0;
  int depth_ = 0;
  bool spaced_ = false;
  std::vector<Brace> braces_ = {};  // that are open
  std::vector<MathToken> out_ = {};
};

}  // namespace

std::vector<MathToken> math_tokens(std::string_view text, MathCommas commas) {
  return Tokenizer(text, commas).read();
}

}  // namespace quern::math
