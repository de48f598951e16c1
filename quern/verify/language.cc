#include "quern/verify/language.h"

#include <algorithm>
#include <array>
#include <set>

#include "quern/text/unicode/unicode.h"
#include "quern/text/unicode/utf8.h"

namespace quern::verify {
namespace {

struct Range {
  char32_t from, to;
  size_t script;
};
constexpr Range kRanges[] = {{0x41, 0x24F, 0},    {0x1E00, 0x1EFF, 0}, {0x400, 0x52F, 1},   {0x370, 0x3FF, 2},
                             {0x1F00, 0x1FFF, 2}, {0x3400, 0x9FFF, 3}, {0xF900, 0xFAFF, 3}, {0x20000, 0x3134F, 3},
                             {0x3040, 0x30FF, 4}, {0x1100, 0x11FF, 5}, {0x3130, 0x318F, 5}, {0xAC00, 0xD7AF, 5},
                             {0x600, 0x6FF, 6},   {0x750, 0x77F, 6},   {0x590, 0x5FF, 7},   {0x900, 0x97F, 8},
                             {0xE00, 0xE7F, 9}};

struct LetterCounts {
  std::array<size_t, 11> of = {};  // by script; the last: others
  size_t all = 0;
};

LetterCounts count_letters(std::string_view s) {
  LetterCounts n;
  for (size_t i = 0; i < s.size();) {
    const auto [cp, len] = text::utf8_at(s, i);
    i += len;
    if (!text::unicode_is_letter(cp)) continue;
    const auto* at = std::ranges::find_if(kRanges, [c = cp](const Range& r) { return c >= r.from && c <= r.to; });
    ++n.of[at == std::end(kRanges) ? 10 : at->script], ++n.all;
  }
  return n;
}

struct FrequentWords {
  const char* language;
  std::set<std::string_view> words;
};

const std::vector<FrequentWords>& frequent_words() {
  static const std::vector<FrequentWords> all = {
      {"en", {"the",  "of",    "and",   "to",   "is",    "that", "it",   "was",  "for",  "on",   "are",
              "with", "as",    "his",   "they", "be",    "at",   "this", "have", "from", "or",   "had",
              "by",   "but",   "not",   "what", "were",  "we",   "when", "your", "can",  "said", "there",
              "an",   "which", "their", "will", "would", "you",  "has",  "she",  "he"}},
      {"de", {"der",  "die",  "das",  "und",   "ist",  "nicht", "ein",   "eine", "ich",   "zu",    "den",
              "mit",  "von",  "sich", "auf",   "für",  "im",    "dem",   "auch", "es",    "an",    "werden",
              "aus",  "er",   "hat",  "dass",  "sie",  "nach",  "wird",  "bei",  "einer", "um",    "am",
              "sind", "noch", "wie",  "einem", "über", "einen", "so",    "zum",  "war",   "haben", "nur",
              "oder", "aber", "vor",  "zur",   "wir",  "kann",  "durch", "wenn"}},
      {"fr",
       {"le",   "la",   "les",  "de", "des",  "et",   "est",   "un",    "une", "du",   "en",  "que",  "qui",  "dans",
        "pour", "pas",  "sur",  "ce", "il",   "elle", "au",    "aux",   "par", "plus", "ne",  "se",   "avec", "son",
        "sont", "nous", "vous", "je", "mais", "ou",   "cette", "comme", "ils", "sa",   "été", "être", "leur", "à"}},
      {"es", {"el",   "la",   "los",   "las", "de",    "del",     "y",   "que",   "en",   "un",     "una",
              "es",   "se",   "por",   "con", "para",  "no",      "su",  "al",    "lo",   "como",   "más",
              "pero", "sus",  "le",    "ha",  "muy",   "está",    "son", "fue",   "ser",  "cuando", "hay",
              "todo", "esta", "entre", "nos", "sobre", "también", "era", "hasta", "desde"}},
      {"it", {"il",    "lo",    "la",   "gli", "le",     "di",    "del",   "della", "dei",    "e",      "che",
              "è",     "un",    "una",  "in",  "per",    "non",   "con",   "si",    "da",     "al",     "alla",
              "nel",   "nella", "sono", "ha",  "come",   "più",   "anche", "ma",    "questo", "questa", "dal",
              "delle", "ho",    "mi",   "era", "essere", "hanno", "tra",   "molto", "se"}},
      {"pt", {"o",     "a",      "os",  "as", "de",   "do",  "da",   "dos",  "das", "e",    "que",
              "é",     "um",     "uma", "em", "no",   "na",  "para", "com",  "não", "por",  "se",
              "mais",  "como",   "mas", "ao", "ele",  "ela", "seu",  "sua",  "ou",  "foi",  "são",
              "muito", "também", "nos", "já", "está", "eu",  "pelo", "pela", "até", "isso", "você"}},
      {"nl", {"de",   "het",  "een",    "en",    "van",  "is",  "dat", "in",    "op",    "te",  "zijn",
              "met",  "voor", "niet",   "die",   "aan",  "er",  "om",  "ook",   "als",   "dan", "maar",
              "bij",  "uit",  "naar",   "heeft", "hij",  "zij", "ze",  "wordt", "door",  "nog", "wat",
              "over", "deze", "worden", "kan",   "geen", "ik",  "je",  "werd",  "hebben"}}};
  return all;
}

std::vector<std::string> lower_words(std::string s) {
  text::unicode_lowercase(s);
  std::vector<std::string> out(1);
  for (size_t i = 0; i < s.size();) {
    const auto [cp, len] = text::utf8_at(s, i);
    if (text::unicode_is_letter(cp))
      out.back().append(s, i, len);
    else if (!out.back().empty())
      out.emplace_back();
    i += len;
  }
  return out;
}

}  // namespace

const std::vector<std::string>& known_scripts() {
  static const std::vector<std::string> all = {"latin",  "cyrillic", "greek",  "han",        "kana",
                                               "hangul", "arabic",   "hebrew", "devanagari", "thai"};
  return all;
}

const std::vector<std::string>& known_languages() {
  static const std::vector<std::string> all = {"en", "de", "fr", "es", "it", "pt", "nl", "ja", "zh", "ko"};
  return all;
}

std::string script_of(std::string_view given) {
  const LetterCounts n = count_letters(text::utf8_lossy(given));
  for (size_t k = 0; k < known_scripts().size(); ++k)
    if (n.all > 0 && n.of[k] * 10 >= n.all * 9) return known_scripts()[k];
  return {};
}

std::string language_of(std::string_view given) {
  const std::string s = text::utf8_lossy(given);
  const LetterCounts n = count_letters(s);
  if (n.all == 0) return {};
  const size_t han = n.of[3], kana = n.of[4];
  if ((han + kana) * 10 >= n.all * 8) return kana * 10 >= n.all ? "ja" : kana == 0 ? "zh" : "";
  if (n.of[5] * 10 >= n.all * 8) return "ko";
  if (n.of[0] * 10 < n.all * 9) return {};
  std::vector<std::pair<size_t, const char*>> scores;
  for (const FrequentWords& l : frequent_words()) scores.emplace_back(0, l.language);
  for (const std::string& w : lower_words(s))
    for (size_t k = 0; k < scores.size(); ++k) scores[k].first += frequent_words()[k].words.contains(w);
  std::ranges::sort(scores, [](const auto& a, const auto& b) { return a.first > b.first; });
  const bool sure = scores[0].first >= 3 && scores[0].first * 3 >= scores[1].first * 4;
  return sure ? scores[0].second : "";
}

}  // namespace quern::verify
