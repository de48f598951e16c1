// Word lists that users bring, and counts of their entries in a text. An entry counts as in the published pipeline: as
// a case-sensitive regular expression with non-overlapping matches from left to right; a duplicate entry counts twice.
// Entries without special characters go through one automaton together.
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/corpus/text/aho_corasick.h"
#include "quern/text/unicode/regex.h"

namespace quern::corpus {

// A list's file: FILE.txt, an entry a line, or FILE.json, {"words": […]}.
std::vector<std::string> read_word_list(const std::filesystem::path& file);

class WordLists {
 public:
  explicit WordLists(const std::vector<std::vector<std::string>>& lists);
  // The folder holds NAME.txt (an entry a line, its spaces count) or NAME.json ({"words": […]}) for at least one of
  // `names`; a list that is missing is empty, another .txt or .json file is an Error.
  static WordLists load(const std::filesystem::path& folder, std::span<const char* const> names);
  size_t size() const { return lists_; }
  bool empty(size_t list) const { return entries_[list] == 0; }

 private:
  friend class WordCounter;
  struct Use {  // an entry's matches count for a list, `times` each
    uint32_t list, times;
  };
  size_t lists_ = 0;
  std::vector<size_t> entries_;  // of each list
  AhoCorasick words_;
  std::vector<uint64_t> word_bytes_;
  std::vector<std::vector<Use>> word_uses_;
  struct Pattern {
    text::Regex regex;
    std::vector<Use> uses;
  };
  std::vector<Pattern> patterns_;
};

class WordCounter {  // one a thread
 public:
  explicit WordCounter(std::shared_ptr<const WordLists> lists);
  std::span<const uint64_t> count(std::string_view utf8);  // by list; valid until the next call

 private:
  std::shared_ptr<const WordLists> lists_;
  std::vector<uint64_t> counts_, free_from_;
  text::RegexScratch scratch_;
};

}  // namespace quern::corpus
