// The words of the documentation: terms of the field that must occur in it, and private words that must not.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "tests/docs/markdown.h"

namespace quern::docs {

struct WordList {
  std::vector<std::string> wanted;  // "+ KV cache"
  struct Unwanted {
    std::string word, instead;
  };
  std::vector<Unwanted> unwanted;  // "- attention cache: KV cache"
};
WordList read_words(
    std::string_view text);  // a line each, # begins a comment; throws Error naming a line of neither form

// Letters of any case; a line break counts as a blank, emphasis does not count. A wanted term may go on ("KV
// caches"); an unwanted one is a word of its own, unless the list has it as a stem ("quantis*"). Only the prose of a
// page is searched, not its code.
std::vector<std::string> missing_words(const std::vector<Page>& pages, const WordList& words);
std::vector<Complaint> unwanted_words(const std::vector<Page>& pages, const WordList& words);

}  // namespace quern::docs
