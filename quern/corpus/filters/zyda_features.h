// Features of Zyda's filter rules, in one pass over the raw text, and the squeezing of long runs of rule characters.
// Lengths are code points; \w \s \d are Python's (char_class.h). "compat" is the published arithmetic: patterns are
// regular expressions as written there, so `xml version=` counts with or without "<" or "?" before it, and "www." is
// "www" and any character but a line end. Cost: ASCII text about one byte per cycle with AVX2; blocks of 32 bytes with
// other characters are decoded one by one.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace quern::corpus {

struct ZydaFeatures {
  uint64_t chars = 0;       // of the raw text
  uint64_t separators = 0;  // \s - / \ . : pieces between them, empty ones too, are the words of the mean
  uint64_t symbols = 0;     // neither \w nor \s
  uint64_t digits = 0;
  uint64_t xml = 0, xml_version = 0, lorem_ipsum = 0, https = 0, less = 0, greater = 0, quote_colon = 0, www = 0;
  uint64_t length = 0;  // code points of the squeezed text
  uint64_t runs = 0;    // of the squeezed text: maximal runs of one \w of seven and more

  double mean_word_length() const {
    return chars == 0 ? 0 : static_cast<double>(chars - separators) / static_cast<double>(separators + 1);
  }
  double fraction(uint64_t n) const { return chars == 0 ? 0 : static_cast<double>(n) / static_cast<double>(chars); }
  bool operator==(const ZydaFeatures&) const = default;
};

// Everything but length and runs. The hints say whether squeezing may change the text and whether a run of seven may
// be in it; false is certain.
struct RunHints {
  bool squeeze = true, runs = true;
};
RunHints count_zyda(std::string_view utf8, ZydaFeatures& f);

// Runs of - _ / \ LF CR . , : ? U+00A0 of ten and more, of TAB of twenty, of spaces of forty become one. Returns
// whether anything changed; out is the squeezed text then. `dropped` is the code points that went.
bool squeeze_zyda(std::string_view utf8, std::string& out, uint64_t& dropped);

uint64_t count_runs(std::string_view utf8);  // of one \w, seven and more

// All of it. The text that goes on is `squeezed` if that was changed, else utf8; the view says which.
std::string_view zyda_features(std::string_view utf8, std::string& squeezed, ZydaFeatures& f);

namespace zyda {  // for the versions by instruction set
RunHints count_ref(std::string_view s, ZydaFeatures& f);
RunHints count_avx2(std::string_view s, ZydaFeatures& f);
// Code points that start in s[from, to), into classes and hints; patterns apart.
void count_classes(std::string_view s, size_t from, size_t to, ZydaFeatures& f, RunHints& hints);
}  // namespace zyda

}  // namespace quern::corpus
