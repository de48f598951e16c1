#include "quern/memory/ask/unknown_speaker.h"

#include <algorithm>
#include <initializer_list>

#include "quern/memory/time/among.h"
#include "quern/recall/words/tokens.h"

namespace quern::memory {
namespace {

constexpr std::string_view kSaying[] = {
    "say",      "said",    "says",    "saying", "tell",   "told",   "tells",    "mention", "mentioned", "write",
    "wrote",    "written", "ask",     "asked",  "reply",  "answer", "answered", "replied", "suggest",   "suggested",
    "think",    "thought", "text",    "texted", "send",   "sent",   "post",     "posted",  "promise",   "promised",
    "complain", "claim",   "claimed", "talk",   "talked", "speak",  "spoke",    "spoken",  "report"};
constexpr std::string_view kNoNames[] = {
    "i",       "you",    "he",    "she",    "it",       "we",         "they",      "me",       "us",
    "him",     "her",    "them",  "anyone", "anybody",  "someone",    "somebody",  "everyone", "everybody",
    "no",      "nobody", "one",   "all",    "both",     "who",        "what",      "which",    "that",
    "this",    "these",  "those", "people", "else",     "other",      "others",    "each",     "either",
    "neither", "none",   "any",   "some",   "anything", "everything", "something", "nothing",  "the",
    "a",       "an",     "my",    "your",   "his",      "our",        "their",     "and",      "or",
    "not",     "ever",   "even",  "also",   "just",     "really",     "already",   "first",    "last",
    "there",   "as",     "how",   "when",   "where",    "why",        "been",      "once",     "then",
    "never",   "always", "so"};

class NameFinder {
 public:
  NameFinder(std::string_view text, const TimeWords& words, const std::vector<std::string>& people)
      : text_(text), w_(words), n_(words.tokens.size()), people_(people) {}

  std::optional<std::string> run() const {
    for (size_t i = 0; i < n_; ++i) {
      if (auxiliary(i) && name(i + 1)) {
        const size_t end = name_end(i + 1);
        if (saying(end) || (capital(i + 1) && saying_later(end))) return words(i + 1, end);
      }
      if (!capital(i) || !name(i)) continue;
      const size_t end = name_end(i);
      if (!w_.tokens[i].starts && (saying_past(end) || (said(end, "at") && saying_past(end + 1))))
        return words(i, end);  // "what Peter at said": French
      if (i > 1 && saying_past(i - 1) && any_of(i - 2, {"what", "which", "that"})) return words(i, end);  // Spanish
      if (i > 0 && any_of(i - 1, {"from", "by"}) && i > 1 && spoken(i - 2)) return words(i, end);
      if (i > 1 && said(i - 1, "to") && said(i - 2, "according")) return words(i, end);
      if (i > 1 && any_of(i - 1, {"but", "except", "besides"}) &&
          any_of(i - 2, {"everyone", "everybody", "anyone", "anybody", "all", "else"}))
        return words(i, end);
      if (w_.spelling(i).ends_with("'s") && spoken(i + 1)) return words(i, end);
    }
    return std::nullopt;
  }

 private:
  bool said(size_t i, std::string_view s) const { return i < n_ && w_.spelling(i) == s; }
  bool any_of(size_t i, std::initializer_list<std::string_view> list) const {
    return i < n_ && among(w_.spelling(i), list);
  }
  bool auxiliary(size_t i) const { return any_of(i, {"did", "does", "has", "had", "have", "would", "do"}); }
  bool capital(size_t i) const { return i < n_ && w_.tokens[i].capital; }
  bool saying(size_t i) const { return i < n_ && among(w_.spelling(i), kSaying); }
  bool saying_past(size_t i) const {
    return any_of(i, {"said", "says", "told", "wrote", "mentioned", "asked", "answered", "replied", "texted"});
  }
  bool saying_later(size_t i) const {
    for (size_t k = i; k < n_ && !w_.tokens[k].starts; ++k)
      if (among(w_.spelling(k), kSaying)) return true;
    return false;
  }
  bool spoken(size_t i) const {
    return any_of(i, {"messages", "message", "turns", "turn", "words", "remarks", "remark", "texts", "statements",
                      "everything", "anything", "last", "first"}) ||
           (i < n_ && w_.tokens[i].lex == Lex::number);
  }
  // A word that can be a name, and no speaker's.
  bool name(size_t i) const {
    if (i >= n_) return false;
    const Token& t = w_.tokens[i];
    std::string word(w_.spelling(i));
    if (word.ends_with("'s")) word.resize(word.size() - 2);
    if (t.lex != Lex::other || (t.word != Word::none && !t.capital) || t.digits || word.size() < 2) return false;
    if (word.find('\'') != word.npos || among(word, kNoNames) || among(word, kSaying) || recall::is_stopword(word))
      return false;
    return std::find(people_.begin(), people_.end(), word) == people_.end();
  }
  size_t name_end(size_t i) const {
    size_t end = i + 1;
    while (capital(end) && end < i + 3 && w_.tokens[end].before == ' ' && name(end)) ++end;
    return end;
  }
  std::string words(size_t from, size_t to) const {
    std::string out(text_.substr(w_.tokens[from].begin, w_.tokens[to - 1].end - w_.tokens[from].begin));
    if (out.ends_with("'s")) out.resize(out.size() - 2);
    return out;
  }

  std::string_view text_;
  const TimeWords& w_;
  size_t n_;
  const std::vector<std::string>& people_;
};

}  // namespace

std::optional<std::string> unknown_speaker(std::string_view text, const TimeWords& words,
                                           const std::vector<std::string>& people) {
  return NameFinder(text, words, people).run();
}

}  // namespace quern::memory
