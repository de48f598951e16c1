#include "quern/corpus/licenses/licenses.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <set>

#include "quern/base/error.h"
#include "quern/base/json.h"
#include "quern/base/nearest.h"
#include "quern/corpus/bytes/ascii.h"
#include "quern/corpus/licenses/license_phrases.h"
#include "quern/corpus/licenses/license_versions.h"
#include "quern/corpus/licenses/spdx.h"
#include "quern/corpus/text/aho_corasick.h"

namespace quern::corpus {
namespace {

using Hit = LicenseScratch::Hit;

constexpr size_t kMaxFullText = 40'000;  // GPL-3.0 has 35,000 characters
constexpr size_t kMaxClauses = 2'600;

constexpr std::string_view kPermissive[] = {
    "0BSD",       "Apache", "Beerware", "BSD",     "BSL",  "CC-BY",        "CC0",     "curl",
    "FSFAP",      "FSFUL",  "FSFULLR",  "FTL",     "HPND", "ICU",          "IJG",     "ISC",
    "libtiff",    "Libpng", "MIT",      "MIT-CMU", "NCSA", "NTP",          "PHP",     "PSF",
    "PostgreSQL", "Python", "TCL",      "UPL",     "Vim",  "Unlicense",    "Unicode", "Unicode-DFS",
    "W3C",        "WTFPL",  "X11",      "Zlib",    "ZPL",  "public-domain"};
constexpr std::string_view kPermissiveWord = "permissive";

const AhoCorasick& phrase_automaton() {
  static const AhoCorasick automaton = [] {
    std::vector<std::string> words;
    for (const LicensePhrase& p : license_phrases()) words.emplace_back(p.words);
    return AhoCorasick(words);
  }();
  return automaton;
}

// Letters and digits, letters small; 0: others.
constexpr std::array<char, 256> kFolded = [] {
  std::array<char, 256> t{};
  for (size_t c = 0; c < 128; ++c)
    if (ascii_alnum(static_cast<char>(c))) t[c] = ascii_lower(static_cast<char>(c));
  return t;
}();

// Text as plain words (license_phrases.h), with a space behind each.
void plain_words(std::string_view text, std::string& words) {
  words.resize(2 * text.size() + 2);  // ">=" is a word of its own
  char* const out = words.data();
  size_t n = 0, word = 0;  // word: where the last one begins
  const auto end_word = [&] {
    if (n == word) return;
    if (n - word >= 7 && std::memcmp(out + word, "licenc", 6) == 0) out[word + 5] = 's';
    out[n++] = ' ', word = n;
  };
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (const char folded = kFolded[static_cast<unsigned char>(c)]; folded != 0) {
      out[n++] = folded;
    } else if (n > word &&
               ((c == '.' && ascii_digit(out[n - 1]) && i + 1 < text.size() && ascii_digit(text[i + 1])) ||
                (c == '+' && (ascii_digit(out[n - 1]) || out[n - 1] == 'l')))) {
      out[n++] = c;
    } else {
      end_word();
      if (c == '>' && i + 1 < text.size() && text[i + 1] == '=') out[n++] = '>', out[n++] = '=';
    }
  }
  end_word();
  words.resize(n);
}

// Phrases that are whole words, without those inside others.
void find_phrases(LicenseScratch& s) {
  s.hits.clear();
  const std::span<const LicensePhrase> phrases = license_phrases();
  phrase_automaton().scan(s.words, [&](uint32_t phrase, size_t end) {
    const std::string_view w = phrases[phrase].words;
    const size_t begin = end - w.size();
    const char next = end < s.words.size() ? s.words[end] : ' ';
    if (begin > 0 && s.words[begin - 1] != ' ') return;
    if (next != ' ' && next != '+' && !(w.ends_with("gpl") && (next == 'v' || ascii_digit(next)))) return;
    s.hits.push_back({begin, end, phrase});
  });
  std::ranges::sort(
      s.hits, [](const Hit& a, const Hit& b) { return a.begin != b.begin ? a.begin < b.begin : a.end > b.end; });
  size_t kept = 0, covered = 0;
  for (const Hit& h : s.hits)
    if (h.end > covered) covered = h.end, s.hits[kept++] = h;
  s.hits.resize(kept);
}

bool in_family(std::string_view id, std::string_view family) {
  if (!id.starts_with(family)) return false;
  const size_t n = family.size();
  return id.size() == n || (id[n] == '-' && id.size() > n + 1 && ascii_digit(id[n + 1]));
}

class LicenseReader {
 public:
  explicit LicenseReader(LicenseScratch& s) : s_(s) {}

  void run() {
    for (std::string& id : s_.ids) found_[std::move(id)] = Strength::stated;
    stops_.assign(s_.hits.size(), s_.words.size());
    for (size_t i = s_.hits.size(); i-- > 1;)
      stops_[i - 1] = phrase(i).id == phrase(i - 1).id ? stops_[i] : s_.hits[i].begin;
    for (size_t i = 0; i < s_.hits.size(); ++i) {
      const LicensePhrase& p = phrase(i);
      if (denied(s_.words, s_.hits[i].begin)) continue;
      if (p.kind == PhraseKind::license) add(p.id);
      if (p.kind == PhraseKind::family || p.kind == PhraseKind::pointer || p.kind == PhraseKind::versioned) family(i);
      if (p.kind == PhraseKind::creative && !title_follows(i)) add(creative_commons(s_.words, place(i)));
      if (p.kind == PhraseKind::head) clauses(i);
      if (p.kind == PhraseKind::full_text) full_text(p.id), i = end_of_text(i);
    }
    s_.ids.clear();
    for (const auto& [id, strength] : found_)
      if (!overruled(id, strength)) s_.ids.push_back(id);
  }

 private:
  const LicensePhrase& phrase(size_t hit) const { return license_phrases()[s_.hits[hit].phrase]; }

  // From where its text lies, from a version without a word about others, from a plain statement.
  enum class Strength { pointed, bare, stated };

  void add(std::string_view id, Strength strength = Strength::stated) {
    if (id == "Perl") {
      add("Artistic-1.0-Perl"), add("GPL-1.0-or-later");
    } else if (!id.empty()) {
      Strength& most = found_[std::string(id)];
      most = std::max(most, strength);
    }
  }

  // Where a hit stands, up to the next one that names another license.
  NamePlace place(size_t i) const { return {s_.hits[i].begin, s_.hits[i].end, stops_[i]}; }

  // "Creative Commons" in front of "Attribution-ShareAlike 4.0 International", which is a phrase of its own.
  bool title_follows(size_t i) const {
    return i + 1 < s_.hits.size() && s_.hits[i + 1].begin <= s_.hits[i].end + 1 &&
           phrase(i + 1).kind == PhraseKind::license && phrase(i + 1).id.starts_with("CC-");
  }

  void family(size_t i) {
    const LicensePhrase& p = phrase(i);
    const bool pointer = p.kind == PhraseKind::pointer;
    const std::vector<SaidVersion> said = versions_near(s_.words, place(i), *license_family(p.id));
    for (const SaidVersion& v : said)
      add(v.id, pointer ? Strength::pointed : v.bare ? Strength::bare : Strength::stated);
    if (said.empty() && p.kind != PhraseKind::versioned) add(p.id, pointer ? Strength::pointed : Strength::stated);
  }

  // It does not say whether later versions are meant; what stands around it does.
  void full_text(std::string_view id) {
    const LicenseFamily* f = license_family(id.substr(0, id.find('-')));
    add(std::string(id) + (f && f->gnu ? "-only" : ""), f && f->gnu ? Strength::bare : Strength::stated);
  }

  bool overruled(const std::string& id, Strength strength) const {
    const std::string family = id.substr(0, id.find('-'));
    return std::ranges::any_of(found_, [&](const auto& other) {
      if (other.first == id) return false;
      if (in_family(other.first, id)) return true;  // a family of which a version is there
      if (strength == Strength::pointed)
        return other.second != Strength::pointed && other.first != family && in_family(other.first, family);
      if (id == "public-domain") return other.first == "CC0-1.0" || other.first == "Unlicense";
      return strength == Strength::bare && other.first == id.substr(0, id.rfind('-')) + "-or-later";
    });
  }

  void clauses(size_t i) {
    std::string_view id = phrase(i).id;
    for (size_t k = i + 1; k < s_.hits.size() && s_.hits[k].begin < s_.hits[i].end + kMaxClauses; ++k) {
      if (phrase(k).kind == PhraseKind::head) break;
      if (phrase(k).kind == PhraseKind::clause) id = std::max(id, phrase(k).id);
    }
    add(id);
  }

  // The last hit of a full text that begins with hit i: i itself when its end does not follow.
  size_t end_of_text(size_t i) const {
    size_t last = i;
    for (size_t k = i + 1; k < s_.hits.size() && s_.hits[k].end < s_.hits[i].begin + kMaxFullText; ++k) {
      if (phrase(k).kind == PhraseKind::full_text) break;
      if (phrase(k).kind == PhraseKind::end_of_text) last = k;
    }
    return last;
  }

  LicenseScratch& s_;
  std::map<std::string, Strength> found_;
  std::vector<size_t> stops_;  // by hit
};

// Whether these two words stand at `at`, with whatever a line's end has between; an empty second one: any.
bool two_words_at(std::string_view s, size_t at, std::string_view first, std::string_view second) {
  const auto is = [&](std::string_view word) { return same_ascii_word(s.substr(at, word.size()), word); };
  if (!is(first)) return false;
  at += first.size();
  for (int k = 0; k < 12 && !second.empty() && at < s.size() && !ascii_alnum(s[at]); ++k) ++at;
  return is(second);
}

// Whether one of 64 places has the first letters of a word in `kLicenseWords`, so written that the compiler vectorizes
// it.
bool maybe_license_word(const char* s) {
  unsigned char any = 0;
  for (size_t k = 0; k < 64; ++k) {
    const auto a = static_cast<unsigned char>(s[k] | 32), b = static_cast<unsigned char>(s[k + 1] | 32),
               c = static_cast<unsigned char>(s[k + 2] | 32), d = static_cast<unsigned char>(s[k + 3] | 32);
    const auto three = [&](char x, char y, char z) {
      return static_cast<unsigned char>((a == x) & (b == y) & (c == z));
    };
    any |= three('l', 'i', 'c') & (d == 'e');
    any |= three('p', 'e', 'r') & (d == 'm');
    any |= three('r', 'e', 'd') & (d == 'i');
    any |= three('p', 'u', 'b') & (d == 'l');
    any |= three('c', 'r', 'e') & (d == 'a');
    any |= three('s', 'a', 'm') & (d == 'e');
    any |= (three('m', 'p', 'l') | three('e', 'p', 'l')) & ((d == ' ') | (d == '-') | (d == 'v'));
    any |= three('c', 'd', 'd') | three('w', 't', 'f') | three('b', 's', 'd');
    any |= three('g', 'f', 'd') | three('g', 'p', 'l') | three('c', 'c', '0') | three('c', 'c', '-') |
           three('c', 'c', ' ');
  }
  return any != 0;
}

// A short name that is a word by itself, with a version behind those that need one. Of 0BSD, the place of its B.
bool short_name_at(std::string_view s, size_t at) {
  const auto is = [&](std::string_view word) { return same_ascii_word(s.substr(at, word.size()), word); };
  const auto after = [&](size_t n) { return at + n < s.size() ? s[at + n] : ' '; };
  if (is("bsd")) return at > 0 && s[at - 1] == '0' && (at == 1 || !ascii_alnum(s[at - 2])) && !ascii_alnum(after(3));
  if (at > 0 && ascii_alnum(s[at - 1])) return false;
  if (is("wtfpl")) return !ascii_alnum(after(5));
  const size_t name = is("cddl") ? 4 : is("mpl") || is("epl") ? 3 : 0;
  if (name == 0) return false;
  size_t behind = name;
  while (behind < name + 3 && (after(behind) == ' ' || after(behind) == '-' || (after(behind) | 32) == 'v')) ++behind;
  return behind > name && ascii_digit(after(behind));
}

bool license_word_at(std::string_view s, size_t at) {
  static constexpr std::pair<std::string_view, std::string_view> kLicenseWords[] = {{"licen", ""},
                                                                                    {"permission", "is"},
                                                                                    {"permission", "to"},
                                                                                    {"permitted", "in"},
                                                                                    {"redistribution", "and"},
                                                                                    {"public", "domain"},
                                                                                    {"publicdomain", ""},
                                                                                    {"creative", "commons"},
                                                                                    {"creativecommons", ""},
                                                                                    {"same", "terms"},
                                                                                    {"gfdl", ""},
                                                                                    {"gpl", ""},
                                                                                    {"cc0", ""},
                                                                                    {"cc-b", ""},
                                                                                    {"cc b", ""}};
  return std::ranges::any_of(kLicenseWords, [&](const auto& w) { return two_words_at(s, at, w.first, w.second); }) ||
         short_name_at(s, at);
}

}  // namespace

bool has_license_word(std::string_view s) {
  size_t i = 0;
  for (; i + 67 <= s.size(); i += 64) {
    if (!maybe_license_word(s.data() + i)) continue;
    for (size_t k = i; k < i + 64; ++k)
      if (license_word_at(s, k)) return true;
  }
  for (; i < s.size(); ++i)
    if (license_word_at(s, i)) return true;
  return false;
}

const std::vector<std::string>& find_licenses(std::string_view text, LicenseScratch& scratch) {
  scratch.ids.clear();
  if (!has_license_word(text)) return scratch.ids;
  plain_words(text, scratch.words);
  find_phrases(scratch);
  find_spdx_expressions(text, scratch.ids);
  LicenseReader(scratch).run();
  return scratch.ids;
}

namespace {

// The names in a JSON list, or the value itself.
std::vector<std::string> stated_names(std::string_view stated) {
  if (!stated.starts_with('[')) return {std::string(stated)};
  try {
    std::vector<std::string> names;
    const Json list = Json::parse(stated, "a list of licenses");
    for (const Json& name : list.as_array())
      if (name.is_string()) names.push_back(name.as_string());
    return names;
  } catch (const Error&) {  // "[MIT]" as a text
    return {std::string(stated)};
  }
}

}  // namespace

const std::vector<std::string>& find_licenses(std::string_view text, std::string_view stated,
                                              LicenseScratch& scratch) {
  find_licenses(text, scratch);
  if (stated.empty()) return scratch.ids;
  std::set<std::string> all(scratch.ids.begin(), scratch.ids.end());
  for (const std::string& name : stated_names(stated)) {
    find_licenses("License: " + name + "\n", scratch);
    all.insert(scratch.ids.begin(), scratch.ids.end());
  }
  scratch.ids.clear();
  for (const std::string& id : all)  // a family goes where a version of it is there
    if (std::ranges::none_of(all, [&](const std::string& other) { return other != id && in_family(other, id); }))
      scratch.ids.push_back(id);
  return scratch.ids;
}

LicenseChoice::LicenseChoice(const std::string& ids, const char* form) {
  std::set<std::string> known = {"public-domain", "BSD",         "GPL",      "CC-BY",      "CC-BY-SA",
                                 "CC-BY-NC",      "CC-BY-NC-SA", "CC-BY-ND", "CC-BY-NC-ND"};
  for (const LicenseFamily& f : license_families()) known.emplace(f.id);
  for (const std::string& id : spdx_identifiers()) known.insert(id);
  for (size_t at = 0; at <= ids.size();) {
    const size_t end = std::min(ids.find(',', at), ids.size());
    const std::string one = ids.substr(at, end - at);
    at = end + 1;
    if (one == kPermissiveWord) {
      names_.insert(names_.end(), std::begin(kPermissive), std::end(kPermissive));
      continue;
    }
    const std::string id = known.contains(one) ? one : spdx_identifier(one);
    if (id.empty())
      fail("'{}' in {}: expected permissive, SPDX identifiers, or families like GPL, with commas between{}", one,
           form, did_you_mean(one, {known.begin(), known.end()}));
    names_.push_back(id);
  }
}

bool LicenseChoice::has(std::string_view id) const {
  return std::ranges::any_of(names_, [&](const std::string& name) { return in_family(id, name); });
}

}  // namespace quern::corpus
