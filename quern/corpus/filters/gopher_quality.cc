// Gopher's quality rules (arXiv 2112.11446, table A1): number of words, mean word length, symbols, bullets and
// ellipses, words with a letter, and two of eight very common English words. Words are split at white space; their
// lengths exclude ASCII punctuation at the ends, and words of punctuation only do not count in the mean. Cost: one
// pass over the text and one over its words.
#include <algorithm>
#include <string>

#include "quern/corpus/filters/filter_makers.h"
#include "quern/corpus/text/char_class.h"
#include "quern/corpus/text/text_pieces.h"
#include "quern/text/unicode/unicode.h"
#include "quern/text/unicode/utf8.h"

namespace quern::corpus {
namespace {

constexpr const char* kRules[] = {"words<50",         "words>100000", "mean_word<3",      "mean_word>10",
                                  "hashes>0.1",       "ellipses>0.1", "bullet_lines>0.9", "ellipsis_lines>0.3",
                                  "letter_words<0.8", "stop_words<2"};
constexpr std::string_view kStopWords[] = {"the", "be", "to", "of", "and", "that", "have", "with"};

bool has_letter(std::string_view w) {
  for (size_t i = 0; i < w.size();) {
    const text::Utf8Char c = text::utf8_at(w, i);
    if (c.cp < 0x80 ? (c.cp | 32) >= 'a' && (c.cp | 32) <= 'z' : text::unicode_is_letter(c.cp)) return true;
    i += c.len;
  }
  return false;
}

class GopherQuality : public DocumentFilter {
 public:
  std::span<const char* const> rules() const override { return kRules; }
  FilterResult apply(std::string_view text) override {
    split_words(text, words_), split_lines(text, lines_);
    uint64_t counted = 0, length = 0, letters = 0;
    bool seen[std::size(kStopWords)] = {};
    for (std::string_view w : words_) {
      const std::string_view core = without_punctuation(w);
      letters += has_letter(w);
      if (core.empty()) continue;
      ++counted, length += text::utf8_length(core);
      if (core.size() > 4) continue;
      for (size_t k = 0; k < std::size(kStopWords); ++k)
        seen[k] = seen[k] || (core.size() == kStopWords[k].size() && holds_ignoring_case(core, kStopWords[k]));
    }
    uint64_t bullets = 0, trailing = 0;
    for (std::string_view l : lines_) {
      const std::string_view t = trimmed(l);
      bullets += t.starts_with("-") || t.starts_with("•");
      trailing += t.ends_with("...") || t.ends_with("…");
    }
    const auto n = static_cast<double>(words_.size()), lines = static_cast<double>(lines_.size());
    const auto share = [&](uint64_t k, double of) { return of == 0 ? 0 : static_cast<double>(k) / of; };
    const double mean = share(length, static_cast<double>(counted));
    const bool fails[] = {words_.size() < 50,
                          words_.size() > 100000,
                          mean<3, mean> 10,
                          share(count_of(text, "#"), n) > 0.1,
                          share(count_of(text, "...") + count_of(text, "…"), n) > 0.1,
                          share(bullets, lines) > 0.9,
                          share(trailing, lines) > 0.3,
                          share(letters, n) < 0.8,
                          std::count(std::begin(seen), std::end(seen), true) < 2};
    FilterResult j;
    j.text = text;
    for (size_t i = 0; i < std::size(fails); ++i) j.failing |= uint64_t{fails[i]} << i;
    return j;
  }

 private:
  std::vector<std::string_view> words_, lines_;
};

}  // namespace

FilterMaker gopher_quality_filter(const std::string&) {
  return [] { return std::make_unique<GopherQuality>(); };
}

}  // namespace quern::corpus
