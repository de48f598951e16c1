// Times of day in other languages. Their tables leave numbers in English and the words of the clock as marks:
//   hour~                behind the hour: Uhr, heures, 点
//   las~                 in front of it: a las, las
//   half_past~ quarter_past~ quarter_to~ three_quarters~ minus~ sharp~ minute~    behind the hour
//   half_to~ three_quarters_to~ past~ to~                                        in front of it: halb acht, zehn nach sechs
// What is found becomes one piece that the time grammar reads: "20:15", and up to twelve "8 o'clock", "half past 8".
#include <algorithm>
#include <optional>

#include "quern/base/error.h"
#include "quern/memory/time/lexicon.h"
#include "quern/memory/wording/table.h"

namespace quern::memory {
namespace {

bool digit(char c) { return c >= '0' && c <= '9'; }

struct Hours {
  int minutes = 0;  // of the day
  size_t end = 0;   // of the pieces
  bool spelled = false;
};

std::string clock_piece(int minutes) {
  const int h = minutes / 60, m = minutes % 60;
  if (h > 12 || h == 0) return fmt::format("{}:{:02}", h % 24, m);
  if (m == 0) return fmt::format("{} o'clock", h);
  if (m == 30) return fmt::format("half past {}", h);
  if (m == 15) return fmt::format("quarter past {}", h);
  if (m == 45 && h < 12) return fmt::format("quarter to {}", h + 1);
  return fmt::format("{}:{:02}", h, m);
}

class ClockReader {
 public:
  explicit ClockReader(const std::vector<WordPiece>& pieces) : p_(pieces) {}

  std::optional<Hours> at(size_t i) const {
    if (auto h = joined(i)) return tail(*h);
    if (auto h = before_hour(i)) return h;
    const bool led = is(i, "las~");
    int n = 0;
    const size_t k = number(led ? i + 1 : i, 24, n);
    if (!k) return std::nullopt;
    if (is(k, "hour~") && !duration(i, k)) return tail({n * 60, k + 1, false});
    if (led && is(k, "hours")) return Hours{n * 60, k + 1, false};
    if (led && ends(k)) return tail({n * 60, k, false});
    return std::nullopt;
  }

  // The hour that another one shares its word with: "zwischen 18 und 20 Uhr", "de 8 a 10 h", "entre las 6 y las 8"
  std::optional<Hours> shared(size_t i) const {
    int n = 0;
    size_t k = number(is(i, "las~") ? i + 1 : i, 24, n);
    if (!k || k == i) return std::nullopt;
    const bool joins = is(k, "and") || is(k, "until") || is(k, "to") || is(k, "a~") || is(k, "dao~") || dash(k);
    if (!joins) return std::nullopt;
    const auto other = at(dash(k) && !is(k, "and") ? k : k + 1);
    if (!other) return std::nullopt;
    return Hours{n * 60, k, false};
  }

 private:
  bool is(size_t i, std::string_view w) const { return i < p_.size() && p_[i].word == w; }
  // "il y a deux heures", "les 48 dernieres heures": so many of them, not an hour of the day
  bool duration(size_t i, size_t mark) const {
    constexpr std::string_view kBefore[] = {"ilya~", "les~",   "these",  "ces~",
                                            "last",  "during", "within", "derniers~"};
    const bool before =
        i > 0 && std::find(std::begin(kBefore), std::end(kBefore), p_[i - 1].word) != std::end(kBefore);
    return before || is(mark + 1, "derniers~") || is(mark + 1, "later") || is(mark + 1, "ago");
  }
  bool dash(size_t i) const {
    return i < p_.size() && (p_[i].before == "-" || p_[i].before == " - " || p_[i].before.find("\xE2\x80\x93") == 0);
  }
  // Nothing follows that the number could count.
  bool ends(size_t i) const {
    if (i >= p_.size() || p_[i].before.find_first_of(",?.!;") != std::string::npos) return true;
    const LexiconEntry* e = lexicon_find(folded(p_[i].word));
    if (p_[i].word == "last" || p_[i].word == "ultimos~" || p_[i].word == "times" || p_[i].word == "veces~")
      return false;
    return !e || (e->lex != Lex::unit && e->lex != Lex::ordinal && e->lex != Lex::number && e->lex != Lex::session &&
                  e->lex != Lex::response);
  }

  size_t number(size_t i, int most, int& n) const {
    if (i >= p_.size()) return 0;
    const std::string& w = p_[i].word;
    if (!w.empty() && w.size() <= 2 && std::all_of(w.begin(), w.end(), digit)) {
      n = std::stoi(w);
      return n <= most ? i + 1 : 0;
    }
    if (w == "a") {  // a la una
      n = 1;
      return i + 1;
    }
    const LexiconEntry* e = lexicon_find(folded(w));
    if (!e || e->lex != Lex::number || e->value >= 100) return 0;
    n = e->value;
    if (n >= 20 && i + 1 < p_.size())
      if (const LexiconEntry* one = lexicon_find(p_[i + 1].word);
          one && one->lex == Lex::number && one->value >= 1 && one->value <= 9)
        n += one->value, ++i;
    return n <= most ? i + 1 : 0;
  }

  // "18h", "18h30", "20uhr15" as one word, "8.30" in front of the clock's word
  std::optional<Hours> joined(size_t i) const {
    if (i >= p_.size()) return std::nullopt;
    const std::string w = folded(p_[i].word);
    size_t n = 0;
    while (n < w.size() && n < 2 && digit(w[n])) ++n;
    if (n == 0 || n == w.size()) return std::nullopt;
    const int hour = std::stoi(w.substr(0, n));
    const std::string_view rest = std::string_view(w).substr(n);
    const bool point = rest[0] == '.' && is(i + 1, "hour~");
    const size_t mark = rest.starts_with("uhr")          ? 3
                        : rest.starts_with("hrs")        ? 3
                        : rest.starts_with("h") || point ? 1
                                                         : 0;
    if (!mark || hour > 24) return std::nullopt;
    const std::string_view minutes = rest.substr(mark);
    if (minutes.empty()) {
      int m = 0;
      if (const size_t k = number(i + 1, 59, m); k && p_[i + 1].word.size() == 2 && ends(k))
        return Hours{hour * 60 + m, k, false};
      return Hours{hour * 60, i + 1, false};
    }
    if (minutes.size() != 2 || !digit(minutes[0]) || !digit(minutes[1])) return std::nullopt;
    const int m = std::stoi(std::string(minutes));
    if (m > 59) return std::nullopt;
    return Hours{hour * 60 + m, point ? i + 2 : i + 1, false};
  }

  // halb acht, drei viertel acht, viertel nach sechs, zehn vor sechs [Uhr]
  std::optional<Hours> before_hour(size_t i) const {
    int less = 0, n = 0, m = 0;
    size_t k = 0;
    if (is(i, "half_to~"))
      less = 30, k = i + 1;
    else if (is(i, "three_quarters_to~"))
      less = 15, k = i + 1;
    else if (is(i, "quarter_to_hour~"))
      less = 15, k = i + 1;
    else if (is(i, "quarter_past_hour~"))
      less = -15, k = i + 1;
    else if (const size_t count = number(i, 29, m); count && (is(count, "after") || is(count, "vor~")))
      less = is(count, "after") ? -m : m, k = count + 1;
    if (!k) return std::nullopt;
    size_t end = number(k, 24, n);
    if (!end) return std::nullopt;
    const bool named = is(end, "hour~");
    if (named) ++end;
    if (!named && !ends(end)) return std::nullopt;
    return Hours{(n * 60 - less + 24 * 60) % (24 * 60), end, true};
  }

  // What follows the hour: "et demie", "menos cuarto", "15", "y diez", "sharp"
  Hours tail(Hours h) const {
    int m = 0;
    if (is(h.end, "half_past~"))
      h.minutes += 30, ++h.end;
    else if (is(h.end, "quarter_past~"))
      h.minutes += 15, ++h.end;
    else if (is(h.end, "three_quarters~"))
      h.minutes += 45, ++h.end;
    else if (is(h.end, "quarter_to~"))
      h.minutes += 24 * 60 - 15, ++h.end;
    else if (is(h.end, "minus~") || is(h.end, "except")) {
      if (const size_t k = number(h.end + 1, 29, m); k && ends(k)) h.minutes += 24 * 60 - m, h.end = k;
    } else if (const size_t k = number(is(h.end, "and") ? h.end + 1 : h.end, 59, m);
               k && (ends(k) || is(k, "minute~")) && p_[h.end].before.find_first_of(",;?!") == std::string::npos &&
               !is(k, "hour~")) {
      h.minutes += m, h.end = is(k, "minute~") || is(k, "minutes") ? k + 1 : k;
    }
    if (is(h.end, "sharp~")) ++h.end;
    h.minutes %= 24 * 60;
    return h;
  }

  const std::vector<WordPiece>& p_;
};

}  // namespace

bool is_clock_piece(std::string_view w) {
  if (w.ends_with(" o'clock") || w.starts_with("half past ") || w.starts_with("quarter past ") ||
      w.starts_with("quarter to "))
    return true;
  const size_t colon = w.find(':');
  return colon != w.npos && colon > 0 && w.size() == colon + 3 && digit(w[0]) && digit(w[colon + 1]);
}

void clock_words(std::vector<WordPiece>& pieces) {
  std::vector<WordPiece> out;
  for (size_t i = 0; i < pieces.size();) {
    const ClockReader reader(pieces);
    auto hours = reader.at(i);
    if (!hours) hours = reader.shared(i);
    if (!hours) {
      out.push_back(pieces[i++]);
      continue;
    }
    out.push_back({clock_piece(hours->minutes), pieces[i].before, true});
    i = hours->end;
  }
  pieces = std::move(out);
}

}  // namespace quern::memory
