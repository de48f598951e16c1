// FineWeb's own rules (arXiv 2406.17557, section 3.6), against pages that are lists and menus: the share of lines that
// end like a sentence, the share of short lines, the share of text in duplicate lines, and line feeds per word. Lines
// of white space only are not counted. A text without lines fails the first rule.
#include <unordered_set>

#include "quern/corpus/filters/filter_makers.h"
#include "quern/corpus/text/text_pieces.h"
#include "quern/text/unicode/utf8.h"

namespace quern::corpus {
namespace {

constexpr const char* kRules[] = {"line_ends<0.12", "short_lines>0.67", "repeated_line_chars>0.01",
                                  "line_feeds_a_word>0.3"};

class FineWeb : public DocumentFilter {
 public:
  std::span<const char* const> rules() const override { return kRules; }
  FilterResult apply(std::string_view text) override {
    split_lines(text, lines_), split_words(text, words_);
    std::erase_if(lines_, [](std::string_view l) { return trimmed(l).empty(); });
    uint64_t ends = 0, short_lines = 0, again = 0;
    std::unordered_set<std::string_view> seen;
    for (std::string_view l : lines_) {
      const uint64_t n = text::utf8_length(l);
      ends += ends_like_a_sentence(l);
      short_lines += n <= 30;
      if (!seen.insert(l).second) again += n;
    }
    const uint64_t feeds = count_of(text, "\n"), length = text::utf8_length(text) - feeds;
    const auto share = [](uint64_t a, uint64_t b) {
      return b == 0 ? 0 : static_cast<double>(a) / static_cast<double>(b);
    };
    const bool fails[] = {share(ends, lines_.size()) < 0.12, share(short_lines, lines_.size()) > 0.67,
                          share(again, length) > 0.01, share(feeds, words_.size()) > 0.3};
    FilterResult j;
    j.text = text;
    for (size_t i = 0; i < std::size(fails); ++i) j.failing |= uint64_t{fails[i]} << i;
    return j;
  }

 private:
  std::vector<std::string_view> lines_, words_;
};

}  // namespace

FilterMaker fineweb_filter(const std::string&) {
  return [] { return std::make_unique<FineWeb>(); };
}

}  // namespace quern::corpus
