#include "quern/memory/wording/table.h"

#include <algorithm>
#include <utility>

#include "quern/memory/time/lexicon.h"

namespace quern::memory {
namespace {

template <class F>
void each_part(std::string_view text, char separator, F&& f) {
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(separator, at), text.size());
    f(text.substr(at, end - at));
    at = end + 1;
  }
}

std::vector<std::string> words_in(std::string_view text) {
  std::vector<std::string> out;
  each_part(text, ' ', [&](std::string_view w) {
    if (!w.empty()) out.emplace_back(w);
  });
  return out;
}

std::vector<std::string> words_in_lines(std::string_view text) {
  std::string one(text);
  std::replace(one.begin(), one.end(), '\n', ' ');
  return words_in(one);
}

// Lines "left = right".
template <class F>
void each_line(std::string_view text, F&& f) {
  each_part(text, '\n', [&](std::string_view line) {
    const size_t middle = line.find(" =");
    if (middle != line.npos) f(line.substr(0, middle), line.substr(middle + 2));
  });
}

bool digits(std::string_view w) {
  return !w.empty() && std::all_of(w.begin(), w.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool is_ordinal_digits(std::string_view w) {
  return w.size() > 2 && digits(w.substr(0, w.size() - 2)) &&
         (w.ends_with("th") || w.ends_with("st") || w.ends_with("nd") || w.ends_with("rd"));
}

std::string lower_ascii(std::string_view w) {
  std::string out(w);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  return out;
}

bool is_holiday(std::string_view w) { return w.ends_with('^'); }

// "Good_Friday^" as it is read in the end.
std::string holiday_text(std::string_view w) {
  std::string out(w.substr(0, w.size() - 1));
  std::replace(out.begin(), out.end(), '_', ' ');
  return out;
}

bool of_time(const std::string& word) {
  if (is_holiday(word) || is_clock_piece(word)) return true;
  const std::string w = lower_ascii(word);
  if (!w.empty() && w[0] >= '0' && w[0] <= '9') return true;
  const LexiconEntry* e = lexicon_find(w);
  if (!e) return false;
  if (e->lex != Lex::other) return true;
  switch (e->word) {
    case Word::last:
    case Word::past:
    case Word::previous:
    case Word::this_:
    case Word::the:
    case Word::of:
    case Word::our:
    case Word::ago:
    case Word::early:
    case Word::mid:
    case Word::late:
    case Word::a:
    case Word::noon:
    case Word::midnight:
    case Word::am:
    case Word::pm:
    case Word::very:
    case Word::one:
      return true;
    default:
      return false;
  }
}

// A slip in it changes the time: one of time itself, a mark, or what sets a bound.
bool places_time(const std::string& word) {
  static constexpr std::string_view kBounds[] = {"before",  "after",  "since",  "until",
                                                 "between", "except", "during", "recently"};
  return of_time(word) || word.ends_with('~') ||
         std::find(std::begin(kBounds), std::end(kBounds), word) != std::end(kBounds);
}

bool matches(std::string_view element, const WordPiece& piece) {
  const std::string& word = piece.word;
  if (element == "@n") return piece.name;
  if (element[0] != '@' || element.size() != 2) return element == word;
  const std::string w = lower_ascii(word);
  if (element == "@d") return digits(w) && w.size() <= 2;
  if (element == "@y") return digits(w) && w.size() == 4;
  if (element == "@o" && is_ordinal_digits(w)) return true;
  if (element == "@h" || (element == "@x" && is_holiday(w))) return is_holiday(w);
  if (element == "@c") return is_clock_piece(w);
  const LexiconEntry* e = lexicon_find(w);
  if (!e) return false;
  switch (element[1]) {
    case 'u':
      return e->lex == Lex::unit;
    case 'w':
      return e->lex == Lex::weekday;
    case 'm':
      return e->lex == Lex::month;
    case 's':
      return e->lex == Lex::session || e->lex == Lex::response;
    case 'p':
      return e->lex == Lex::part;
    case 'o':
      return e->lex == Lex::ordinal;
    case 'x':
      return e->lex == Lex::unit || e->lex == Lex::weekday || e->lex == Lex::month || e->lex == Lex::season ||
             e->lex == Lex::part || e->lex == Lex::session || e->lex == Lex::response;
    default:
      return false;
  }
}

bool counts(const std::string& word) {
  const std::string w = lower_ascii(word);
  if (digits(w)) return true;
  const LexiconEntry* e = lexicon_find(w);
  return e && (e->lex == Lex::number || e->word == Word::a || e->word == Word::few || e->word == Word::several ||
               e->word == Word::couple || e->word == Word::half || e->word == Word::dozen);
}

}  // namespace

WordingTable::WordingTable(const WordingTexts& texts) {
  auto add_line = [&](std::string_view left, const std::vector<std::string>& english) {
    each_part(left, '|', [&](std::string_view spelling) {
      std::vector<std::string> source = words_in(spelling);
      if (source.empty()) return;
      longest_ = std::max(longest_, source[0].size());
      phrases_[source[0]].push_back({source, english});
    });
  };
  for (const std::string_view lines : {texts.words, texts.numbers})
    each_line(lines, [&](std::string_view left, std::string_view right) { add_line(left, words_in(right)); });
  each_line(texts.holidays, [&](std::string_view left, std::string_view right) {
    std::string name(right.substr(1));
    std::replace(name.begin(), name.end(), ' ', '_');
    add_line(left, {name + "^"});
  });
  for (const auto& [first, list] : phrases_)
    for (const Phrase& p : list)
      if (p.source.size() == 1 && first.size() >= 4 && std::any_of(p.english.begin(), p.english.end(), places_time))
        timely_.emplace_back(first, p.english);
  for (auto& [first, list] : phrases_)
    std::stable_sort(list.begin(), list.end(),
                     [](const Phrase& a, const Phrase& b) { return a.source.size() > b.source.size(); });
  for (const std::string& own : words_in_lines(texts.own)) own_.emplace(own);
  each_line(texts.orders, [&](std::string_view left, std::string_view right) {
    rules_.push_back({words_in(left), words_in(right)});
  });
  each_line(texts.rest,
            [&](std::string_view left, std::string_view right) { rest_[words_in(left).at(0)] = words_in(right); });
}

size_t WordingTable::known(const std::vector<std::string>& folded) const {
  size_t n = 0;
  for (size_t i = 0; i < folded.size();) {
    size_t taken = 0;
    if (const auto at = phrases_.find(folded[i]); at != phrases_.end())
      for (const Phrase& p : at->second)
        if (p.source.size() <= folded.size() - i &&
            std::equal(p.source.begin(), p.source.end(), folded.begin() + static_cast<std::ptrdiff_t>(i))) {
          taken = p.source.size();
          break;
        }
    n += taken, i += std::max<size_t>(taken, 1);
  }
  return n;
}

// Of four letters only two that changed places or one that was doubled; of five also one that was lost.
std::string WordingTable::mended(const std::string& folded) const {
  if (folded.size() < 4 || has(folded) || own_.contains(folded)) return {};
  for (size_t i = 1; i < folded.size(); ++i)  // one letter twice: of any word, also a small one ("paas")
    if (folded[i] == folded[i - 1])
      if (std::string once = folded.substr(0, i) + folded.substr(i + 1); once.size() > 2 && has(once)) return once;
  const std::pair<std::string, std::vector<std::string>>* found = nullptr;
  for (const auto& entry : timely_) {
    const std::string& t = entry.first;
    const bool swapped = t.size() == folded.size() && std::is_permutation(t.begin(), t.end(), folded.begin());
    const bool lost = folded.size() == 4 && t.size() == 5;
    if ((t.size() == 4 || folded.size() == 4) && !swapped && !lost && folded.size() <= t.size()) continue;
    if (!one_edit_apart(folded, t)) continue;
    if (found && found->second != entry.second) return {};
    found = &entry;
  }
  return found ? found->first : std::string();
}

size_t WordingTable::longest_at(std::string_view text, size_t i) const {
  for (size_t n = std::min(longest_, text.size() - i); n > 0; --n)
    if (phrases_.contains(std::string(text.substr(i, n)))) return n;
  return 0;
}

std::vector<WordPiece> WordingTable::translate(const std::vector<WordPiece>& words,
                                               const std::vector<std::string>& folded) const {
  std::vector<WordPiece> out;
  for (size_t i = 0; i < words.size();) {
    const Phrase* found = nullptr;
    if (const auto at = phrases_.find(folded[i]); at != phrases_.end())
      for (const Phrase& p : at->second) {
        bool here = p.source.size() <= words.size() - i;
        for (size_t k = 0; here && k < p.source.size(); ++k)
          here = folded[i + k] == p.source[k] &&
                 (k == 0 || words[i + k].before.find_first_of(",;?!:") == std::string::npos);
        if (here) {
          found = &p;
          break;
        }
      }
    if (!found) {
      out.push_back(words[i++]);
      continue;
    }
    std::string before = words[i].before;
    for (const std::string& e : found->english) out.push_back({e, std::exchange(before, " "), true});
    i += found->source.size();
    if (found->english.empty() && i < words.size() && before.find_first_not_of(' ') != std::string::npos &&
        !out.empty()) {
      // a mark that stood in front of a word that goes is kept in front of the next
      out.push_back({"", before, true});
    }
  }
  clock_words(out);
  reorder(out);
  return out;
}

// One rule at one place: the pieces that it found are replaced. Returns how many they are then, 0 where it does not fit.
size_t WordingTable::apply(const Rule& rule, std::vector<WordPiece>& pieces, size_t at) const {
  std::vector<std::pair<size_t, size_t>> found;
  size_t i = at;
  for (const std::string& element : rule.pattern) {
    const size_t begin = i;
    if (element == "#") {
      while (i < pieces.size() && counts(pieces[i].word)) ++i;
    } else if (element == "@t+") {
      while (i < pieces.size() && of_time(pieces[i].word) &&
             (i == begin || pieces[i].before.find_first_of(",;?!:") == std::string::npos))
        ++i;
    } else if (i < pieces.size() && matches(element, pieces[i])) {
      ++i;
    }
    if (i == begin) return 0;
    found.emplace_back(begin, i);
  }
  std::vector<WordPiece> fresh;
  for (const std::string& r : rule.result) {
    if (const bool final = r.size() == 3 && r[2] == '!'; r[0] == '$' && (r.size() == 2 || final)) {
      const auto [begin, end] = found.at(static_cast<size_t>(r[1] - '1'));
      for (size_t k = begin; k < end; ++k)
        fresh.push_back({final && is_holiday(pieces[k].word) ? holiday_text(pieces[k].word) : pieces[k].word,
                         k == begin ? " " : pieces[k].before, true, pieces[k].name});
      continue;
    }
    std::string word;  // "$2:00"
    for (size_t k = 0; k < r.size(); ++k) {
      if (r[k] == '$' && k + 1 < r.size())
        word += pieces[found.at(static_cast<size_t>(r[++k] - '1')).first].word;
      else
        word += r[k];
    }
    fresh.push_back({std::move(word), " ", true});
  }
  if (!fresh.empty()) fresh[0].before = pieces[at].before;
  pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(at), pieces.begin() + static_cast<std::ptrdiff_t>(i));
  pieces.insert(pieces.begin() + static_cast<std::ptrdiff_t>(at), fresh.begin(), fresh.end());
  return fresh.size();
}

void WordingTable::reorder(std::vector<WordPiece>& pieces) const {
  for (const Rule& rule : rules_)
    for (size_t at = 0; at < pieces.size();) at += std::max<size_t>(apply(rule, pieces, at), 1);
  std::vector<WordPiece> out;
  for (WordPiece& p : pieces) {
    if (is_holiday(p.word)) p.word = holiday_text(p.word);
    const auto at = rest_.find(p.word);
    if (at == rest_.end()) {
      out.push_back(std::move(p));
      continue;
    }
    std::string before = p.before;
    for (const std::string& e : at->second) out.push_back({e, std::exchange(before, " "), true});
  }
  pieces = std::move(out);
}

}  // namespace quern::memory
