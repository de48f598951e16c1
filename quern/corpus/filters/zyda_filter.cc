#include "quern/corpus/filters/zyda_filter.h"

#include <optional>

#include "quern/corpus/text/word_lists.h"

namespace quern::corpus {
namespace {

constexpr const char* kNames[kZydaRules] = {
    "length<100", "mean_word<3",   "mean_word>12",  "symbols>0.3",  "digits>0.2",       "runs>50",
    "xml>10",     "xml_version>1", "lorem_ipsum>2", "https>0.002",  "less>0.03",        "quote_colon>0.002",
    "www>0.01",   "zh_list>1",     "sexual>10",     "sexual>0.001", "profanity>0.0025", "cursed>0.01"};

constexpr const char* kLists[] = {"zh", "sexual", "profanity", "cursed"};
constexpr size_t kFirstListRule = 13;
constexpr size_t kListOfRule[] = {0, 1, 1, 2, 3};  // from that rule on

class ZydaFilter : public DocumentFilter {
 public:
  explicit ZydaFilter(const std::shared_ptr<const WordLists>& lists) {
    if (lists) words_.emplace(lists);
    for (size_t i = 0; i < std::size(kListOfRule); ++i)
      if (!lists || lists->empty(kListOfRule[i])) idle_.push_back(kNames[kFirstListRule + i]);
  }
  std::vector<const char*> idle_rules() const override { return idle_; }
  std::span<const char* const> rules() const override { return kNames; }
  FilterResult apply(std::string_view utf8) override {
    ZydaFeatures f;
    FilterResult j;
    j.text = zyda_features(utf8, squeezed_, f);
    j.changed = j.text.data() != utf8.data();
    ZydaListCounts counts;
    if (words_) {  // of the raw text, as published
      const std::span<const uint64_t> n = words_->count(utf8);
      counts = {.zh = n[0], .sexual = n[1], .profanity = n[2], .cursed = n[3]};
    }
    j.failing = zyda_failing(f, counts);
    return j;
  }

 private:
  std::string squeezed_;
  std::optional<WordCounter> words_;
  std::vector<const char*> idle_;
};

}  // namespace

uint64_t zyda_failing(const ZydaFeatures& f, const ZydaListCounts& lists) {
  // Without characters the divisions say 0: the published code has rejected such a text by its length before.
  const auto share = [&](uint64_t n) {
    return f.length == 0 ? 0.0 : static_cast<double>(n) / static_cast<double>(f.length);
  };
  const double word = f.mean_word_length();
  const bool rules[kZydaRules] = {
      f.length<100, word<3, word> 12, f.fraction(f.symbols)> 0.3,
      f.fraction(f.digits) > 0.2,
      f.runs > 50,
      f.xml > 10,
      f.xml_version > 1,
      f.lorem_ipsum > 2,
      share(f.https) > 0.002,
      share(f.less) > 0.03,
      share(f.quote_colon) > 0.002,
      share(f.www) > 0.01,
      lists.zh > 1,
      lists.sexual > 10,
      share(lists.sexual) > 0.001,
      share(lists.profanity) > 0.0025,
      share(lists.cursed) > 0.01,
  };
  uint64_t bits = 0;
  for (int i = 0; i < kZydaRules; ++i) bits |= uint64_t{rules[i]} << i;
  return bits;
}

FilterMaker zyda_filter(const std::string& folder) {
  std::shared_ptr<const WordLists> lists;
  if (!folder.empty()) lists = std::make_shared<const WordLists>(WordLists::load(folder, kLists));
  return [lists] { return std::make_unique<ZydaFilter>(lists); };
}

}  // namespace quern::corpus
