#include "quern/memory/facts/word_phrase.h"

#include <algorithm>
#include <iterator>

#include "quern/recall/words/tokens.h"

namespace quern::memory {
namespace {

constexpr size_t kMaxGap = 6;
constexpr std::string_view kPlaces[] = {"in",   "im",   "bei",  "beim", "auf", "nach", "an",   "am",
                                        "fur",  "zu",   "a",    "au",   "aux", "en",   "dans", "sur",
                                        "pres", "chez", "pour", "para", "al",  "cerca"};

std::vector<std::string> parted(std::string_view text, char by) {
  std::vector<std::string> out;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(by, begin), text.size());
    std::string_view one = text.substr(begin, end - begin);
    while (one.starts_with(' ')) one.remove_prefix(1);
    while (one.ends_with(' ')) one.remove_suffix(1);
    if (!one.empty()) out.emplace_back(one);
    begin = end + 1;
  }
  return out;
}

}  // namespace

FoldedWords folded_words(std::string_view text) { return recall::words_of(text); }

bool mark_name(FoldedWords& words, std::string_view name) {
  const FoldedWords of = folded_words(name);
  bool there = false;
  for (size_t i = 0; !of.empty() && i + of.size() <= words.size(); ++i) {
    const size_t last = i + of.size() - 1;
    if (!std::equal(of.begin(), of.end() - 1, words.begin() + static_cast<std::ptrdiff_t>(i))) continue;
    if (words[last] != of.back() && words[last] != of.back() + "s") continue;
    words[i] = "@", there = true;
    words.erase(words.begin() + static_cast<std::ptrdiff_t>(i + 1),
                words.begin() + static_cast<std::ptrdiff_t>(last + 1));
  }
  return there;
}

WordPhrase::WordPhrase(std::string_view phrase) {
  for (const std::string& said : parted(phrase, ' ')) {
    PhraseElement& e = elements_.emplace_back();
    e.gap = said == "*";
    if (said == "<in>")
      for (const std::string_view place : kPlaces) e.words.push_back({std::string(place), false});
    else if (!e.gap)
      for (const std::string& one : parted(said, '/')) {
        const bool prefix = one.ends_with('-');
        e.words.push_back({one.substr(0, one.size() - (prefix ? 1 : 0)), prefix});
      }
  }
}

bool WordPhrase::PhraseElement::fits(const std::string& word) const {
  return std::any_of(words.begin(), words.end(), [&](const PhraseWord& w) {
    return word[0] == w.letters[0] && (w.prefix ? word.starts_with(w.letters) : word == w.letters);
  });
}

bool WordPhrase::from(const FoldedWords& words, size_t i, size_t element) const {
  if (element == elements_.size()) return true;
  const PhraseElement& e = elements_[element];
  if (!e.gap) return i < words.size() && e.fits(words[i]) && from(words, i + 1, element + 1);
  for (size_t gap = 0; gap <= kMaxGap && i + gap <= words.size(); ++gap)
    if (from(words, i + gap, element + 1)) return true;
  return false;
}

bool WordPhrase::in(const FoldedWords& words, size_t max_begin) const {
  for (size_t i = 0; i < words.size() && i <= max_begin; ++i)
    if (at(words, i)) return true;
  return false;
}

bool WordPhrase::names() const {
  return std::any_of(elements_.begin(), elements_.end(), [](const PhraseElement& e) { return e.fits("@"); });
}

std::string WordPhrase::plain_words() const {
  std::string out;
  for (const PhraseElement& e : elements_)
    if (e.words.size() == 1 && !e.words[0].prefix && e.words[0].letters != "@")
      out += (out.empty() ? "" : " ") + e.words[0].letters;
  return out;
}

std::vector<WordPhrase> word_phrases(std::string_view list) {
  std::vector<WordPhrase> out;
  for (const std::string& one : parted(list, '|')) out.emplace_back(one);
  return out;
}

bool any_in(std::span<const WordPhrase> phrases, const FoldedWords& words, size_t max_begin) {
  return std::any_of(phrases.begin(), phrases.end(), [&](const WordPhrase& p) { return p.in(words, max_begin); });
}

}  // namespace quern::memory
