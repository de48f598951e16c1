#include "quern/corpus/licenses/license_versions.h"

#include <algorithm>

#include "quern/corpus/bytes/ascii.h"

namespace quern::corpus {
namespace {

constexpr int kWordsAhead = 16, kWordsBack = 14;

// Whether `list`, words with spaces around, has the word.
bool listed(std::string_view list, std::string_view word) {
  if (word.empty()) return false;
  for (size_t at = 0; (at = list.find(word, at)) != list.npos; ++at)
    if (list[at - 1] == ' ' && list[at + word.size()] == ' ') return true;
  return false;
}

constexpr std::string_view kBeforeVersion =
    " license licenses licensed as published by the free software foundation inc fsf either gnu gpl lgpl agpl gfdl "
    "fdl general "
    "public affero lesser library documentation only at of its in under terms and or version versions ver v ";
constexpr std::string_view kAfterVersion =
    " or at your option any of the this license gnu general public lesser library affero documentation free as "
    "published by "
    "software foundation inc fsf version versions and gpl lgpl agpl apache mozilla dated june february november 1991 "
    "1999 2007 ";
constexpr std::string_view kBackToVersion =
    " of the gnu or at your option any later newer version versions and public ";
constexpr std::string_view kLater = " later newer above higher greater up >= ";

std::string_view next_word(std::string_view s, size_t& i) {
  while (i < s.size() && s[i] == ' ') ++i;
  const size_t begin = i;
  while (i < s.size() && s[i] != ' ') ++i;
  return s.substr(begin, i - begin);
}

std::string_view word_before(std::string_view s, size_t& i) {
  while (i > 0 && s[i - 1] == ' ') --i;
  const size_t end = i;
  while (i > 0 && s[i - 1] != ' ') --i;
  return s.substr(i, end - i);
}

struct VersionWord {
  std::string number;  // empty: none
  bool later = false, only = false;
};

// "2", "v2", "2.0", "2+".
VersionWord version_word(std::string_view w, std::string_view versions) {
  VersionWord v;
  if (w.starts_with('v')) w.remove_prefix(1);
  if (w.ends_with('+')) v.later = true, w.remove_suffix(1);
  if (w.empty() || w.size() > 4 || !ascii_digit(w[0])) return {};
  v.number = w;
  if (w.size() == 1) v.number += ".0";
  if (!listed(versions, v.number)) return {};
  return v;
}

SaidVersion said(const LicenseFamily& f, const VersionWord& v) {
  return {std::string(f.id) + "-" + v.number +
              (!f.gnu    ? ""
               : v.later ? "-or-later"
                         : "-only"),
          f.gnu && !v.later && !v.only};
}

// Behind a version: whether later ones are meant, and further versions ("2 or 3").
void read_after(std::string_view words, size_t i, size_t stop, VersionWord& v, std::vector<VersionWord>& more,
                std::string_view versions, int further = 4) {
  if (further == 0) return;
  std::string_view last;
  for (int n = 0; n < kWordsAhead && i < stop; ++n) {
    const std::string_view w = next_word(words, i);
    if (listed(kLater, w)) {
      v.later = true;
      return;
    }
    if (w == "only") {
      v.only = true;
      return;
    }
    if (VersionWord other = version_word(w, versions); !other.number.empty()) {
      if (last != "or" && last != "and" && last != "version" && last != "v") return;
      read_after(words, i, stop, other, more, versions, further - 1);
      more.push_back(other);
      return;
    }
    if (!listed(kAfterVersion, w)) return;
    last = w;
  }
}

}  // namespace

std::vector<SaidVersion> versions_near(std::string_view words, NamePlace at, const LicenseFamily& family) {
  std::vector<SaidVersion> ids;
  bool or_later = false;
  size_t i = at.end;
  for (int n = 0; n < kWordsAhead && i < at.stop; ++n) {
    const std::string_view w = next_word(words, i);
    if (w == ">=") {
      or_later = true;
      continue;
    }
    if (VersionWord v = version_word(w, family.versions); !v.number.empty()) {
      std::vector<VersionWord> all;
      read_after(words, i, at.stop, v, all, family.versions);
      v.later = v.later || or_later;
      all.push_back(v);
      for (const VersionWord& x : all) ids.push_back(said(family, x));
      return ids;
    }
    if (!listed(kBeforeVersion, w)) break;
  }
  i = at.begin;
  or_later = false;
  for (int n = 0; n < kWordsBack && i > 0; ++n) {
    const std::string_view w = word_before(words, i);
    if (VersionWord v = version_word(w, family.versions); !v.number.empty()) {
      size_t k = i;
      const std::string_view before = word_before(words, k);
      v.later = v.later || or_later;
      if (w[0] == 'v' || before == "version" || before == "versions" || before == "v") ids.push_back(said(family, v));
      return ids;
    }
    if (!listed(kBackToVersion, w)) return ids;
    or_later = or_later || w == "later" || w == "newer";
  }
  return ids;
}

bool denied(std::string_view words, size_t begin) {
  constexpr int kFar = 10;  // words
  size_t i = begin;
  for (int n = 0; n < kFar && i > 0; ++n) {
    const std::string_view w = word_before(words, i);
    if (w == "not" || w == "never") return true;
    if (!listed(" under the a an any of terms licensed released distributed available covered published gnu be by ",
                w))
      return false;
  }
  return false;
}

std::string creative_commons(std::string_view words, NamePlace at) {
  bool by = words.substr(at.begin, at.end - at.begin).ends_with(" by"), nc = false, sa = false, nd = false;
  std::string version;
  size_t i = at.end;
  for (int n = 0; n < 14 && i < at.stop; ++n) {
    const std::string_view w = next_word(words, i);
    if (w == "attribution" || w == "by") {
      by = true;
    } else if (w == "noncommercial" || w == "nc" || w == "commercial") {
      nc = true;
    } else if (w == "sharealike" || w == "sa" || w == "share") {  // in two words: the second follows
      sa = true;
      if (w == "share") next_word(words, i);
    } else if (w == "noderivatives" || w == "noderivs" || w == "nd" || w == "derivatives" || w == "derivs") {
      nd = true;
    } else if (VersionWord v = version_word(w, " 1.0 2.0 2.5 3.0 4.0 "); !v.number.empty()) {
      version = v.number;
      break;
    } else if (!listed(" license licenses licensed under the a an non no cc version v international unported "
                       "generic public ",
                       w)) {
      break;
    }
  }
  if (!by) return {};
  return std::string("CC-BY") + (nc ? "-NC" : "") + (nd ? "-ND" : "") + (sa ? "-SA" : "") +
         (version.empty() ? "" : "-" + version);
}

}  // namespace quern::corpus
