#include "quern/corpus/filters/ngram_index.h"

#include <algorithm>
#include <bit>

#include "quern/base/error.h"
#include "quern/corpus/bytes/hashing.h"

namespace quern::corpus {
namespace {

constexpr const char* kRules[] = {"benchmark_ngrams"};

void word_hashes(const Tokens& t, std::vector<uint64_t>& to) {
  to.clear();
  for (size_t i = 0; i < t.size(); ++i) to.push_back(token_hash(t.text.data() + t.begin[i], t[i].size()));
}
uint64_t gram_hash(const uint64_t* words, size_t n) {
  uint64_t h = kFoldA ^ n;
  for (size_t k = 0; k < n; ++k) h = fold64(h ^ words[k], kFoldB ^ (h << 1));
  return h ? h : 1;  // 0 marks a free place
}

class Decontamination : public DocumentFilter {
 public:
  explicit Decontamination(std::shared_ptr<const NgramIndex> index) : index_(std::move(index)) {}
  std::span<const char* const> rules() const override { return kRules; }
  FilterResult apply(std::string_view utf8) override {
    FilterResult j;
    j.text = utf8;
    normalize(TextNormalizer::slimpajama, utf8, tokens_, scratch_);
    word_hashes(tokens_, words_);
    int found = 0;
    for (size_t i = 0; i < words_.size() && found < index_->options().minimum; ++i)
      for (uint16_t n : index_->lengths()) {
        if (i + n > words_.size()) break;
        if (index_->holds(gram_hash(words_.data() + i, n))) {
          ++found;
          break;
        }
      }
    j.failing = found >= index_->options().minimum;
    return j;
  }

 private:
  std::shared_ptr<const NgramIndex> index_;
  Tokens tokens_;
  std::string scratch_;
  std::vector<uint64_t> words_;
};

}  // namespace

NgramIndex::NgramIndex(NgramOptions o) : o_(o) {
  if (o.n < 2 || o.n > 1000) fail("n-grams of {} words: expected 2 to 1000", o.n);
  if (o.shortest < 1 || o.shortest > o.n) fail("shortest item {}: expected 1 to {}", o.shortest, o.n);
  if (o.minimum < 1) fail("minimum of {} common n-grams: expected 1 or more", o.minimum);
}

void NgramIndex::add(std::string_view item) {
  ++items_;
  normalize(TextNormalizer::slimpajama, item, tokens_, scratch_);
  std::vector<uint64_t> words;
  word_hashes(tokens_, words);
  if (words.size() < static_cast<size_t>(o_.shortest)) {
    ++too_short_;
    return;
  }
  const size_t n = std::min(words.size(), static_cast<size_t>(o_.n));
  if (std::find(lengths_.begin(), lengths_.end(), n) == lengths_.end()) lengths_.push_back(static_cast<uint16_t>(n));
  for (size_t i = 0; i + n <= words.size(); ++i) hashes_.push_back(gram_hash(words.data() + i, n));
}

void NgramIndex::finish() {
  std::sort(lengths_.begin(), lengths_.end());
  std::sort(hashes_.begin(), hashes_.end());
  hashes_.erase(std::unique(hashes_.begin(), hashes_.end()), hashes_.end());
  grams_ = hashes_.size();
  mask_ = std::bit_ceil(2 * grams_ + 2) - 1;
  table_.assign(mask_ + 1, 0);
  for (uint64_t h : hashes_) {
    uint64_t at = h & mask_;
    while (table_[at] != 0) at = (at + 1) & mask_;
    table_[at] = h;
  }
  hashes_ = {};
}

bool NgramIndex::holds(uint64_t h) const {
  for (uint64_t at = h & mask_; table_[at] != 0; at = (at + 1) & mask_)
    if (table_[at] == h) return true;
  return false;
}

FilterMaker decontamination_filter(std::shared_ptr<const NgramIndex> index) {
  return [index] { return std::make_unique<Decontamination>(index); };
}

}  // namespace quern::corpus
