// Porter's stemmer (M. F. Porter, 1980, "An algorithm for suffix stripping"), the original rules. A word is seen as
// [C](VC)^m[V] with runs of consonants C and vowels V; "measure" below is m. Words of one or two letters stay.
#include <algorithm>

#include "quern/recall/words/tokens.h"

namespace quern::recall {
namespace {

struct Rule {
  std::string_view ending, put;
};

constexpr Rule kStep2[] = {{"ational", "ate"}, {"tional", "tion"}, {"enci", "ence"},   {"anci", "ance"},
                           {"izer", "ize"},    {"abli", "able"},   {"alli", "al"},     {"entli", "ent"},
                           {"eli", "e"},       {"ousli", "ous"},   {"ization", "ize"}, {"ation", "ate"},
                           {"ator", "ate"},    {"alism", "al"},    {"iveness", "ive"}, {"fulness", "ful"},
                           {"ousness", "ous"}, {"aliti", "al"},    {"iviti", "ive"},   {"biliti", "ble"}};
constexpr Rule kStep3[] = {{"icate", "ic"}, {"ative", ""}, {"alize", "al"}, {"iciti", "ic"},
                           {"ical", "ic"},  {"ful", ""},   {"ness", ""}};
constexpr std::string_view kStep4[] = {"ement", "ance", "ence", "able", "ible", "ment", "ant", "ent", "ion", "ism",
                                       "ate",   "iti",  "ous",  "ive",  "ize",  "al",   "er",  "ic",  "ou"};

class Stemmer {
 public:
  explicit Stemmer(std::string& word) : w_(word) {}
  void run() {
    plural();
    past();
    if (ends("y") && vowel_before(1)) w_.back() = 'i';
    replace(kStep2);
    replace(kStep3);
    strip();
    final_e();
  }

 private:
  bool consonant(size_t i) const {
    switch (w_[i]) {
      case 'a':
      case 'e':
      case 'i':
      case 'o':
      case 'u':
        return false;
      case 'y':
        return i == 0 || !consonant(i - 1);
      default:
        return true;
    }
  }
  int measure(size_t n) const {  // of the first n letters
    int m = 0;
    for (size_t i = 1; i < n; ++i) m += consonant(i) && !consonant(i - 1);
    return m;
  }
  bool ends(std::string_view e) const {  // the last letter first: most endings fall there
    return !w_.empty() && w_.back() == e.back() && std::string_view(w_).ends_with(e);
  }
  size_t stem(size_t ending) const { return w_.size() - ending; }
  bool vowel_before(size_t ending) const {
    for (size_t i = 0; i < stem(ending); ++i)
      if (!consonant(i)) return true;
    return false;
  }
  bool doubled() const {
    const size_t n = w_.size();
    return n >= 2 && w_[n - 1] == w_[n - 2] && consonant(n - 1);
  }
  bool short_end(size_t n) const {  // consonant, vowel, consonant that is no w, x or y
    return n >= 3 && consonant(n - 3) && !consonant(n - 2) && consonant(n - 1) && w_[n - 1] != 'w' &&
           w_[n - 1] != 'x' && w_[n - 1] != 'y';
  }
  void cut(size_t letters) { w_.resize(w_.size() - letters); }

  void plural() {
    if (ends("sses") || ends("ies")) {
      cut(2);
    } else if (ends("s") && !ends("ss")) {
      cut(1);
    }
  }
  void past() {
    if (ends("eed")) {
      if (measure(stem(3)) > 0) cut(1);
      return;
    }
    const size_t ending = ends("ed") ? 2 : ends("ing") ? 3 : 0;
    if (ending == 0 || !vowel_before(ending)) return;
    cut(ending);
    if (ends("at") || ends("bl") || ends("iz")) {
      w_ += 'e';
    } else if (doubled() && !ends("l") && !ends("s") && !ends("z")) {
      cut(1);
    } else if (measure(w_.size()) == 1 && short_end(w_.size())) {
      w_ += 'e';
    }
  }
  template <size_t N>
  void replace(const Rule (&rules)[N]) {  // the longest ending that fits decides, whether or not its condition holds
    const Rule* best = nullptr;
    for (const Rule& r : rules)
      if (ends(r.ending) && (!best || r.ending.size() > best->ending.size())) best = &r;
    if (!best || measure(stem(best->ending.size())) == 0) return;
    cut(best->ending.size());
    w_ += best->put;
  }
  void strip() {
    std::string_view best;
    for (std::string_view e : kStep4)
      if (ends(e) && e.size() > best.size()) best = e;
    const size_t n = stem(best.size());
    if (best.empty() || measure(n) <= 1) return;
    if (best == "ion" && !(n > 0 && (w_[n - 1] == 's' || w_[n - 1] == 't'))) return;
    cut(best.size());
  }
  void final_e() {
    if (ends("e")) {
      const size_t n = stem(1);
      const int m = measure(n);
      if (m > 1 || (m == 1 && !short_end(n))) cut(1);
    }
    if (ends("ll") && measure(w_.size()) > 1) cut(1);
  }

  std::string& w_;
};

}  // namespace

void porter_stem(std::string& lower) {
  if (lower.size() < 3 || lower.size() > 64) return;
  if (!std::all_of(lower.begin(), lower.end(), [](char c) { return c >= 'a' && c <= 'z'; })) return;
  Stemmer(lower).run();
}

}  // namespace quern::recall
