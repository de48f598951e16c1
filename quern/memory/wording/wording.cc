#include "quern/memory/wording/wording.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <span>
#include <utility>

#include "quern/base/error.h"
#include "quern/memory/time/lexicon.h"
#include "quern/memory/wording/table.h"

namespace quern::memory {
namespace {

bool word_byte(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '\'' ||
         static_cast<unsigned char>(c) >= 0x80;
}

// Bytes of a mark of punctuation beyond ASCII; 0 when none stands there.
size_t wide_mark(std::string_view s) {
  for (const std::string_view m :
       {"\xE2\x80\x93", "\xE2\x80\x94", "\xE2\x80\x98", "\xE2\x80\x9C", "\xE2\x80\x9D", "\xE2\x80\x9E",
        "\xE2\x80\xA6", "\xC2\xBF",     "\xC2\xA1",     "\xC2\xAB",     "\xC2\xBB",     "\xE3\x80\x81",
        "\xE3\x80\x82", "\xEF\xBC\x8C", "\xEF\xBC\x9F", "\xEF\xBC\x81", "\xEF\xBC\x9A", "\xEF\xBC\x9B",
        "\xEF\xBC\x88", "\xEF\xBC\x89", "\xC2\xA0"})
    if (s.starts_with(m)) return m.size();
  return 0;
}

std::string plain_mark(std::string_view m) {
  if (m == "\xE3\x80\x81" || m == "\xEF\xBC\x8C") return ", ";
  if (m == "\xEF\xBC\x9F") return "? ";
  if (m == "\xE3\x80\x82" || m == "\xEF\xBC\x81") return ". ";
  if (m == "\xEF\xBC\x9A") return ": ";
  if (m == "\xEF\xBC\x9B") return "; ";
  if (m == "\xC2\xBF" || m == "\xC2\xA1" || m == "\xC2\xA0") return " ";
  return std::string(m);
}

bool digit(std::string_view text, size_t i) { return i < text.size() && text[i] >= '0' && text[i] <= '9'; }

// 24/06/2022, 24.6.2022 and 2022-06-24 are words.
bool date_goes_on(const std::string& word, std::string_view text, size_t i) {
  if (i + 1 >= text.size() || !digit(text, i + 1) || !digit(word, 0) || !digit(word, word.size() - 1)) return false;
  const bool year_first = word.size() == 4 || word.find('-') != word.npos;
  return text[i] == '/' || text[i] == '.' || (text[i] == '-' && year_first && word.size() < 10);
}

struct SplitText {
  std::vector<WordPiece> words;
  std::string tail;  // behind the last word
};

// Words and what stands between them. An apostrophe belongs to its word, the typeset one too.
SplitText split(std::string_view text) {
  SplitText out;
  std::string between;
  for (size_t i = 0; i < text.size();) {
    if (const size_t mark = wide_mark(text.substr(i)); mark && !text.substr(i).starts_with("\xE2\x80\x99")) {
      between += plain_mark(text.substr(i, mark)), i += mark;
      continue;
    }
    if (!word_byte(text[i]) || (text[i] == '\'' && (i == 0 || !word_byte(text[i - 1])))) {
      between += text[i++];
      continue;
    }
    std::string word;
    while (i < text.size() && word_byte(text[i])) {
      if (text.substr(i).starts_with("\xE2\x80\x99")) {
        word += '\'', i += 3;
        continue;
      }
      if (wide_mark(text.substr(i))) break;
      word += text[i++];
      if (date_goes_on(word, text, i)) word += text[i++];
    }
    out.words.push_back({std::move(word), std::move(between), false});
    between.clear();
  }
  out.tail = std::move(between);
  return out;
}

bool has_han(std::string_view text) {
  for (size_t i = 0; i + 2 < text.size(); ++i) {
    const unsigned char a = static_cast<unsigned char>(text[i]);
    if (a >= 0xE4 && a <= 0xE9) return true;
  }
  return false;
}

struct Tongue {
  Language language;
  const WordingTexts& (*texts)();
};
constexpr Tongue kTongues[] = {{Language::german, german_wording},
                               {Language::french, french_wording},
                               {Language::spanish, spanish_wording},
                               {Language::chinese, chinese_wording}};

const WordingTable& table_of(Language l) {
  static const auto* const tables = [] {
    auto* t = new std::vector<WordingTable>();
    for (const Tongue& tongue : kTongues) t->emplace_back(tongue.texts());
    return t;
  }();
  return (*tables)[static_cast<size_t>(l) - 1];
}

// Elisions and hyphens part words: l'apres-midi, jusqu'au.
std::vector<WordPiece> parted(const std::vector<WordPiece>& words) {
  std::vector<WordPiece> out;
  for (const WordPiece& w : words) {
    const size_t mark = w.word.find('\'');
    if (mark == std::string::npos || mark + 1 >= w.word.size() || mark > 5 || folded(w.word) == "aujourd'hui") {
      out.push_back(w);
      continue;
    }
    out.push_back({w.word.substr(0, mark + 1), w.before, false});
    out.push_back({w.word.substr(mark + 1), " ", false});
  }
  return out;
}

// Looked up in the tables: names stand there with a capital, so that no entry is theirs.
std::vector<std::string> folded_all(const std::vector<WordPiece>& words, const std::vector<std::string>& names = {}) {
  std::vector<std::string> out;
  for (const WordPiece& w : words) {
    out.push_back(folded(w.word));
    if (std::find(names.begin(), names.end(), out.back()) != names.end() && !out.back().empty())
      out.back()[0] = static_cast<char>(out.back()[0] - 32);
  }
  return out;
}

size_t english_words(const std::vector<std::string>& folded) {
  static constexpr std::array<std::string_view, 62> kCommon = {
      "what",  "did",    "we",   "was",  "were",  "is",    "are",  "the",   "in",       "on",         "about",
      "talk",  "talked", "say",  "said", "they",  "you",   "have", "has",   "had",      "been",       "does",
      "do",    "which",  "who",  "when", "where", "how",   "why",  "there", "anything", "everything", "something",
      "came",  "come",   "up",   "our",  "their", "it",    "that", "this",  "of",       "from",       "to",
      "with",  "and",    "or",   "for",  "me",    "my",    "give", "show",  "tell",     "please",     "only",
      "other", "two",    "them", "so",   "at",    "whats", "wut"};
  size_t n = 0;
  for (const std::string& w : folded)
    n += std::find(kCommon.begin(), kCommon.end(), w) != kCommon.end() || lexicon_find(w) ? 1 : 0;
  return n;
}

// The language with the most words that it knows; English when another does not have clearly more.
Language language_of(const std::vector<WordPiece>& words, const std::vector<WordPiece>& parts,
                     const std::vector<std::string>& names) {
  const std::vector<std::string> plain = folded_all(words, names), split = folded_all(parts, names);
  const size_t english = english_words(plain);
  Language best = Language::english;
  size_t most = english;
  for (const Language l : {Language::german, Language::french, Language::spanish}) {
    const size_t n = table_of(l).known(l == Language::french ? split : plain);
    if (n > most) most = n, best = l;
  }
  return best;
}

// Digits of a number in Han characters up to 99, or of four digits one by one (二〇二四); empty when it is none.
std::string han_number(std::string_view w) {
  static constexpr std::string_view kDigits[] = {"零", "一", "二", "三", "四", "五", "六", "七", "八", "九"};
  int tens = 0, ones = 0;
  bool ten = false, any = false;
  std::string row;
  for (size_t i = 0; i < w.size(); i += 3) {
    const std::string_view c = w.substr(i, 3);
    if (c == "十") {
      tens = any ? ones : 1, ones = 0, ten = any = true;
      continue;
    }
    const auto* const d = std::find(std::begin(kDigits), std::end(kDigits), c);
    if (d == std::end(kDigits) && c != "两" && c != "〇") return {};
    ones = d == std::end(kDigits) ? (c == "两" ? 2 : 0) : static_cast<int>(d - std::begin(kDigits));
    row += std::to_string(ones);
    any = true;
  }
  if (!ten && w.size() > 3) return row.size() == 4 ? row : std::string();
  return any ? std::to_string(ten ? 10 * tens + ones : ones) : std::string();
}

// Bytes of the characters of a number at i.
size_t han_digits(std::string_view text, size_t i) {
  size_t n = 0;
  for (bool more = true; more;) {
    more = false;
    for (const std::string_view c : {"一", "二", "三", "四", "五", "六", "七", "八", "九", "十", "零", "〇", "两"})
      if (text.substr(i + n).starts_with(c)) n += c.size(), more = true;
  }
  return n;
}

// A number of several characters that no entry has whole: 三十六, and 第二十三. Its English, and its bytes.
std::pair<std::string, size_t> long_han_number(std::string_view text, size_t i, size_t entry) {
  constexpr std::string_view kOrdinal = "第";
  const bool ordinal = text.substr(i).starts_with(kOrdinal);
  const size_t mark = ordinal ? kOrdinal.size() : 0, n = han_digits(text, i + mark);
  if (n < 6 || mark + n <= entry) return {};
  const std::string digits = han_number(text.substr(i + mark, n));
  if (digits.empty()) return {};
  return {digits + (ordinal ? "th" : ""), mark + n};
}

// Bytes of the longest name that stands at i; names are in lower case.
size_t name_at(std::string_view text, size_t i, const std::vector<std::string>& names) {
  size_t longest = 0;
  for (const std::string& n : names)
    if (n.size() > longest && n.size() > 3 && folded(text.substr(i, n.size())) == folded(n)) longest = n.size();
  return longest;
}

// Bytes of a date or a time of day in digits at i.
size_t digits_at(std::string_view text, size_t i) {
  size_t n = 0, marks = 0;
  while (digit(text, i + n)) {
    while (digit(text, i + n)) ++n;
    const char mark = i + n < text.size() ? text[i + n] : '\0';
    if ((mark != '-' && mark != '/' && mark != ':' && mark != '.') || !digit(text, i + n + 1)) break;
    ++n, ++marks;
  }
  return marks ? n : 0;
}

// Chinese has no spaces: the longest entry that stands there is a word; digits are, and runs of other letters.
std::vector<WordPiece> cut(std::string_view text, std::string& tail, const std::vector<std::string>& names) {
  const WordingTable& table = table_of(Language::chinese);
  std::vector<WordPiece> out;
  std::string between = " ";
  for (size_t i = 0; i < text.size();) {
    if (const size_t mark = wide_mark(text.substr(i))) {
      between += plain_mark(text.substr(i, mark)), i += mark;
      continue;
    }
    if (const size_t n = name_at(text, i, names)) {
      out.push_back({std::string(text.substr(i, n)), between, true, true});
      between = " ", i += n;
      continue;
    }
    if (const size_t n = digits_at(text, i)) {  // 2024-03-06, 3/6, 18:30
      out.push_back({std::string(text.substr(i, n)), between, false});
      between = " ", i += n;
      continue;
    }
    const size_t entry = table.longest_at(text, i);
    if (auto [number, bytes] = long_han_number(text, i, entry); bytes) {
      out.push_back({std::move(number), between, true});
      between = " ", i += bytes;
      continue;
    }
    if (const size_t n = entry) {
      out.push_back({std::string(text.substr(i, n)), between, true});
      between = " ", i += n;
      continue;
    }
    const unsigned char c = static_cast<unsigned char>(text[i]);
    if (c < 0x80) {
      size_t end = i;
      const bool number = text[i] >= '0' && text[i] <= '9';
      while (end < text.size() && static_cast<unsigned char>(text[end]) < 0x80 && word_byte(text[end]) &&
             (!number || (text[end] >= '0' && text[end] <= '9')))
        ++end;
      if (end == i) {
        between += text[i++];
        continue;
      }
      out.push_back({std::string(text.substr(i, end - i)), between, false});
      between = " ", i = end;
      continue;
    }
    const size_t n = c >= 0xF0 ? 4 : c >= 0xE0 ? 3 : 2;
    out.push_back({std::string(text.substr(i, n)), between, false});
    between = " ", i += n;
  }
  tail = between;
  return out;
}

// 2022年5月6日: May 6 2022. Also without the year or the day; numbers before 点 and 次 become digits.
void han_dates(std::vector<WordPiece>& words) {
  auto number = [&](size_t i) -> std::string {
    if (i >= words.size() || words[i].word.empty()) return {};
    const std::string& w = words[i].word;
    if (w.find_first_not_of("0123456789") == std::string::npos) return w;
    return han_number(w);
  };
  auto is = [&](size_t i, std::string_view w) { return i < words.size() && words[i].word == w; };
  // "十二月，24号不算": a comma parts them.
  auto joined_on = [&](size_t i) { return i < words.size() && words[i].before.find(',') == std::string::npos; };
  std::vector<WordPiece> out;
  for (size_t i = 0; i < words.size();) {
    size_t k = i;
    std::string year, month, day;
    if (number(k).size() == 4 && is(k + 1, "年")) year = number(k), k += 2;
    if (!number(k).empty() && (is(k + 1, "月") || is(k + 1, "月份"))) {
      month = number(k), k += 2;
      if (joined_on(k) && !number(k).empty() && (is(k + 1, "日") || is(k + 1, "号") || is(k + 1, "號")))
        day = number(k), k += 2;
    } else if (k < words.size() && words[k].word.ends_with("月")) {
      month = han_number(words[k].word.substr(0, words[k].word.size() - 3));
      if (!month.empty()) ++k;
      if (!month.empty() && joined_on(k) && !number(k).empty() && (is(k + 1, "日") || is(k + 1, "号")))
        day = number(k), k += 2;
    } else if (year.empty() && !number(k).empty() && (is(k + 1, "号") || is(k + 1, "日"))) {
      const int d = std::atoi(number(k).c_str());
      const bool to = i > 0 && (is(i - 1, "到") || is(i - 1, "至") || is(i - 1, "~"));
      const bool bare = out.size() > 1 && out[out.size() - 2].word.ends_with("th");  // "on the 4th to the 6th"
      if (!to) out.push_back({"on", words[i].before, true});
      if (!to || bare) out.push_back({"the", " ", true});
      out.push_back({std::to_string(d) + "th", " ", true});
      i = k + 2;
      continue;
    }
    const int m = std::atoi(month.c_str());
    if (k == i || (!month.empty() && (m < 1 || m > 12))) {
      out.push_back(words[i++]);
      continue;
    }
    std::string before = words[i].before;
    if (m) out.push_back({month_name(m), std::exchange(before, " "), true});
    if (!day.empty()) out.push_back({day, std::exchange(before, " "), true});
    if (!year.empty()) out.push_back({year, std::exchange(before, " "), true});
    i = k;
  }
  words = std::move(out);
}

std::string joined(const std::vector<WordPiece>& pieces, const std::string& tail) {
  std::string out;
  for (const WordPiece& p : pieces) {
    if (p.word.empty() && p.before.find_first_not_of(' ') == std::string::npos) continue;
    if (p.before == " " && (out.empty() || out.back() == ' ')) {
      out += p.word;
      continue;
    }
    out += p.before + p.word;
  }
  return out + tail;
}

// "Februarwochenende" is "Wochenende im Februar", "Montagmittag" is "Montag Mittag".
std::vector<WordPiece> german_parts(const std::vector<WordPiece>& words) {
  static constexpr std::string_view kMonths[] = {"januar", "februar", "marz",      "april",   "mai",      "juni",
                                                 "juli",   "august",  "september", "oktober", "november", "dezember"};
  static constexpr std::string_view kInMonth[] = {"woche", "wochen",   "wochenende", "wochenenden", "halfte",
                                                  "mitte", "anfang",   "ende",       "tage",        "tag",
                                                  "tagen", "gesprach", "gesprache"};
  static constexpr std::string_view kDays[] = {"montag",  "dienstag", "mittwoch", "donnerstag",
                                               "freitag", "samstag",  "sonntag",  "sonnabend"};
  static constexpr std::string_view kInDay[] = {"morgen", "vormittag", "mittag",  "nachmittag", "abend",
                                                "nacht",  "fruh",      "morgens", "abends",     "nachmittags"};
  auto among = [](std::string_view w, std::span<const std::string_view> list) {
    return std::find(list.begin(), list.end(), w) != list.end();
  };
  std::vector<WordPiece> out;
  for (const WordPiece& w : words) {
    const std::string lower = folded(w.word);
    auto begun = [&](std::span<const std::string_view> list,
                     std::span<const std::string_view> rest) -> std::string_view {
      for (const std::string_view m : list)
        if (lower.starts_with(m) && among(std::string_view(lower).substr(m.size()), rest)) return m;
      return {};
    };
    const std::string_view month = begun(kMonths, kInMonth), day = begun(kDays, kInDay);
    if (!month.empty()) {
      out.push_back({lower.substr(month.size()), w.before, false});
      out.push_back({"im", " ", false});
      out.push_back({std::string(month), " ", false});
    } else if (!day.empty()) {
      out.push_back({std::string(day), w.before, false});
      out.push_back({lower.substr(day.size()), " ", false});
    } else {
      out.push_back(w);
    }
  }
  return out;
}

// "ce soir-là", "cette semaine-là": that one; "ce" by itself is this one.
void far_demonstratives(std::vector<WordPiece>& words, std::vector<std::string>& spelled) {
  for (size_t i = 2; i < words.size(); ++i) {
    if (spelled[i] != "la" || words[i].before != "-") continue;
    for (size_t back = i - 1; back > 0 && i - back < 4; --back) {
      std::string& w = spelled[back - 1];
      if (w != "ce" && w != "cet" && w != "cette") continue;
      w = "ce_la";
      words.erase(words.begin() + static_cast<std::ptrdiff_t>(i));
      spelled.erase(spelled.begin() + static_cast<std::ptrdiff_t>(i));
      break;
    }
  }
}

// "6." in German is the sixth, before a word or behind "am", "dem" and the like.
void ordinal_points(std::vector<WordPiece>& words, const std::string& tail) {
  static constexpr std::string_view kLeading[] = {"am",  "dem", "den",  "vom", "zum", "der",
                                                  "das", "die", "beim", "bis", "des"};
  for (size_t i = 0; i < words.size(); ++i) {
    WordPiece& w = words[i];
    const bool number =
        !w.word.empty() && w.word.size() <= 2 && w.word.find_first_not_of("0123456789") == std::string::npos;
    const std::string& behind = i + 1 < words.size() ? words[i + 1].before : tail;
    if (!number || behind.empty() || behind[0] != '.') continue;
    const bool led =
        i > 0 && std::find(std::begin(kLeading), std::end(kLeading), folded(words[i - 1].word)) != std::end(kLeading);
    if (i + 1 < words.size() && behind == ". ") {
      w.word += "th", words[i + 1].before = " ";
    } else if (led) {
      w.word += "th";
    }
  }
}

}  // namespace

const char* language_name(Language l) {
  switch (l) {
    case Language::english:
      return "English";
    case Language::german:
      return "German";
    case Language::french:
      return "French";
    case Language::spanish:
      return "Spanish";
    case Language::chinese:
      return "Chinese";
  }
  return "";
}

PlainWording plain_wording(std::string_view question, const std::vector<std::string>& names) {
  PlainWording out;
  if (has_han(question)) {
    out.language = Language::chinese;
    std::string tail;
    std::vector<WordPiece> words = cut(question, tail, names);
    han_dates(words);
    out.text = joined(table_of(Language::chinese).translate(words, folded_all(words, names)), tail);
    for (const std::string_view month : {"March ", "May "})  // at the beginning it could be a verb
      if (out.text.starts_with(month)) out.text = "in " + out.text;
    return out;
  }
  SplitText s = split(question);
  const std::vector<WordPiece> parts = parted(s.words);
  out.language = language_of(s.words, parts, names);
  if (out.language == Language::english) {
    plain_english(s.words, out.notes);
    out.text = joined(s.words, s.tail);
    return out;
  }
  if (out.language == Language::german) {
    ordinal_points(s.words, s.tail);
    s.words = german_parts(s.words);
  }
  std::vector<WordPiece> words = out.language == Language::french ? parts : s.words;
  std::vector<std::string> spelled = folded_all(words, names);
  if (out.language == Language::french) far_demonstratives(words, spelled);
  for (size_t i = 0; i < words.size(); ++i)
    words[i].name = std::find(names.begin(), names.end(), folded(words[i].word)) != names.end();
  for (size_t i = 0; i < words.size(); ++i)
    if (std::string mended = table_of(out.language).mended(spelled[i]); !mended.empty()) {
      out.notes.push_back(fmt::format("'{}' is read as '{}'", words[i].word, mended));
      spelled[i] = std::move(mended);
    }
  out.text = joined(table_of(out.language).translate(words, spelled), s.tail);
  return out;
}

}  // namespace quern::memory
