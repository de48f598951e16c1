// The words by which licenses are known: names, addresses of their texts, and a few words of those that have no name in
// them. As plain words: lower case, "licence" as "license", a dot only between digits, a space for everything else.
#pragma once
#include <array>
#include <span>
#include <string_view>

namespace quern::corpus {

enum class PhraseKind : unsigned char {
  license,    // names `id`
  family,     // names `id` in a version that stands near
  pointer,    // a family, where its text lies: counts when nothing else says a version
  versioned,  // a family's name that means something else without a version
  creative,   // a Creative Commons license, by the elements that follow
  full_text,  // the head of the full text of `id`, which goes on to the last end_of_text near enough
  end_of_text,
  head,    // the beginning of a text that is `id` when no clause follows
  clause,  // makes the text before it `id`
};

struct LicensePhrase {
  std::string_view words;
  PhraseKind kind;
  std::string_view id;
};
std::span<const LicensePhrase> license_phrases();

// Versions of a family, with spaces around; for GNU's, an identifier says -only or -or-later.
struct LicenseFamily {
  std::string_view id, versions;
  bool gnu = false;
};
const LicenseFamily* license_family(std::string_view id);  // null: none
std::span<const LicenseFamily> license_families();

}  // namespace quern::corpus
