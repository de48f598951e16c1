// Gopher's repetition rules (arXiv 2112.11446, table A1): the share of duplicate lines and paragraphs, by count and by
// text; the share of text covered by the most frequent 2-, 3- and 4-gram of words; the share in repeated 5- to
// 10-grams. Shares are of the text's code points.
//   top n-gram         its length (words and one space between each) times its count; of equally frequent n-grams the
//                      first; one that occurs once covers nothing
//   repeated n-grams   from left to right: an n-gram seen earlier counts its words' lengths, and the search continues
//                      after it
// Cost: one hash per n-gram and n, nine passes over the words.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "quern/corpus/filters/filter_makers.h"
#include "quern/corpus/bytes/hashing.h"
#include "quern/corpus/text/text_pieces.h"
#include "quern/text/unicode/utf8.h"

namespace quern::corpus {
namespace {

constexpr const char* kRules[] = {"paragraphs>0.3", "paragraph_chars>0.2", "lines>0.3",      "line_chars>0.2",
                                  "top_2gram>0.2",  "top_3gram>0.18",      "top_4gram>0.16", "5grams>0.15",
                                  "6grams>0.14",    "7grams>0.13",         "8grams>0.12",    "9grams>0.11",
                                  "10grams>0.1"};
constexpr double kTop[] = {0.2, 0.18, 0.16}, kAgain[] = {0.15, 0.14, 0.13, 0.12, 0.11, 0.10};

class GopherRepetition : public DocumentFilter {
 public:
  std::span<const char* const> rules() const override { return kRules; }
  FilterResult apply(std::string_view text) override {
    FilterResult j;
    j.text = text;
    const auto whole = static_cast<double>(text::utf8_length(text));
    size_t rule = 0;
    const auto test = [&](double value, double maximum) { j.failing |= uint64_t{value > maximum} << rule++; };
    const auto share = [&](uint64_t n) { return whole == 0 ? 0 : static_cast<double>(n) / whole; };
    split_paragraphs(text, pieces_);
    again(test, share);
    split_lines(text, pieces_);
    // Line feeds behind each other end one line.
    std::erase_if(pieces_, [&](std::string_view l) {
      return l.empty() && l.data() != text.data() && l.data() != text.data() + text.size();
    });
    again(test, share);
    split_words(text, words_);
    hashes_.clear(), lengths_.clear();
    for (std::string_view w : words_)
      hashes_.push_back(content_hash(w).low), lengths_.push_back(text::utf8_length(w));
    for (size_t n = 2; n <= 4; ++n) test(share(top(n)), kTop[n - 2]);
    for (size_t n = 5; n <= 10; ++n) test(share(repeated(n)), kAgain[n - 5]);
    return j;
  }

 private:
  template <class Test, class Share>
  void again(Test&& test, Share&& share) {
    std::unordered_set<std::string_view> seen;
    uint64_t n = 0, length = 0;
    for (std::string_view p : pieces_)
      if (!seen.insert(p).second) ++n, length += text::utf8_length(p);
    test(static_cast<double>(n) / static_cast<double>(pieces_.size()), 0.3);
    test(share(length), 0.2);
  }
  uint64_t gram(size_t at, size_t n) const {
    uint64_t h = n;
    for (size_t k = 0; k < n; ++k) h = fold64(h ^ hashes_[at + k], kFoldB ^ (h << 1));
    return h;
  }
  uint64_t length(size_t at, size_t n) const {
    uint64_t sum = 0;
    for (size_t k = 0; k < n; ++k) sum += lengths_[at + k];
    return sum;
  }
  uint64_t top(size_t n) {
    counts_.clear();
    if (words_.size() < n) return 0;
    uint32_t maximum = 0;
    for (size_t i = 0; i + n <= words_.size(); ++i) {
      auto& [count, first] = counts_.try_emplace(gram(i, n), 0, static_cast<uint32_t>(i)).first->second;
      maximum = std::max(maximum, ++count);
    }
    if (maximum < 2) return 0;
    uint32_t where = UINT32_MAX;
    for (const auto& [h, c] : counts_)
      if (c.first == maximum) where = std::min(where, c.second);
    return (length(where, n) + n - 1) * maximum;
  }
  uint64_t repeated(size_t n) {
    seen_.clear();
    uint64_t sum = 0;
    for (size_t i = 0; i + n <= words_.size();) {
      if (seen_.insert(gram(i, n)).second) {
        ++i;
      } else {
        sum += length(i, n);
        i += n;
      }
    }
    return sum;
  }
  std::vector<std::string_view> pieces_, words_;
  std::vector<uint64_t> hashes_, lengths_;
  std::unordered_map<uint64_t, std::pair<uint32_t, uint32_t>> counts_;
  std::unordered_set<uint64_t> seen_;
};

}  // namespace

FilterMaker gopher_repetition_filter(const std::string&) {
  return [] { return std::make_unique<GopherRepetition>(); };
}

}  // namespace quern::corpus
