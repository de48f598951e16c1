// C4's cleaning rules (arXiv 1910.10683, section 2.2), line by line: a line is removed if a word is longer than 1000
// characters, if it does not end like a sentence, has fewer than three words, mentions javascript, or is a notice
// about cookies or terms; citation marks are cut out of the others. A document is removed if it contains "lorem ipsum"
// or a brace, or if fewer than five sentences are left. The output is the remaining lines, trimmed. "...": an ellipsis
// does not end a sentence. `c4-any-end` accepts every line end, as FineWeb does.
#include <algorithm>

#include "quern/corpus/filters/filter_makers.h"
#include "quern/corpus/text/text_pieces.h"
#include "quern/text/unicode/utf8.h"

namespace quern::corpus {
namespace {

constexpr const char* kRules[] = {"lorem_ipsum", "brace", "sentences<5"};
constexpr std::string_view kNotices[] = {"terms of use", "privacy policy", "cookie policy",
                                         "uses cookies", "use of cookies", "use cookies"};

// Cuts [12], [], [edit] and [citation needed] out.
std::string_view without_citations(std::string_view line, std::string& to) {
  if (line.find('[') == line.npos) return line;
  to.clear();
  for (size_t i = 0; i < line.size();) {
    if (line[i] == '[') {
      size_t end = i + 1;
      while (end < line.size() && line[end] >= '0' && line[end] <= '9') ++end;
      if (end < line.size() && line[end] == ']') {
        i = end + 1;
        continue;
      }
      const std::string_view rest = line.substr(i);
      if (const size_t n = rest.starts_with("[edit]") ? 6 : rest.starts_with("[citation needed]") ? 17 : 0) {
        i += n;
        continue;
      }
    }
    to += line[i++];
  }
  return to;
}

class C4 : public DocumentFilter {
 public:
  explicit C4(bool wants_end) : wants_end_(wants_end) {}
  std::span<const char* const> rules() const override { return kRules; }
  FilterResult apply(std::string_view text) override {
    FilterResult j;
    uint64_t sentences = 0;
    bool lorem = false, brace = false;
    left_.clear();
    split_lines(text, lines_);
    for (std::string_view raw : lines_) {
      if (raw.ends_with('\r')) raw.remove_suffix(1);
      const std::string_view whole = trimmed(raw);
      split_words(whole, words_);
      if (std::any_of(words_.begin(), words_.end(),
                      [](std::string_view w) { return w.size() > 1000 && text::utf8_length(w) > 1000; }))
        continue;
      const std::string_view line = without_citations(whole, line_);
      if (wants_end_ && (line.ends_with("...") || !ends(line))) continue;
      if (words_.size() < 3) continue;
      lorem = lorem || holds_ignoring_case(line, "lorem ipsum");
      brace = brace || line.find('{') != line.npos;
      if (holds_ignoring_case(line, "javascript")) continue;
      if (std::any_of(std::begin(kNotices), std::end(kNotices),
                      [&](std::string_view n) { return holds_ignoring_case(line, n); }))
        continue;
      sentences += count_sentences(line);
      if (!left_.empty()) left_ += '\n';
      left_ += line;
    }
    const bool fails[] = {lorem, brace, sentences < 5};
    for (size_t i = 0; i < std::size(fails); ++i) j.failing |= uint64_t{fails[i]} << i;
    j.changed = left_ != text;
    j.text = j.changed ? std::string_view(left_) : text;
    return j;
  }

 private:
  static bool ends(std::string_view line) {
    return !line.empty() && std::string_view(".?!\"'").find(line.back()) != std::string_view::npos;
  }
  bool wants_end_;
  std::string left_, line_;
  std::vector<std::string_view> lines_, words_;
};

}  // namespace

FilterMaker c4_filter(const std::string&) {
  return [] { return std::make_unique<C4>(true); };
}
FilterMaker c4_any_end_filter(const std::string&) {
  return [] { return std::make_unique<C4>(false); };
}

}  // namespace quern::corpus
