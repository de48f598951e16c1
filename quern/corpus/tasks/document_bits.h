// A bit per document, in pages that exist once one of their bits is set: of 12 billion documents, 23 MB and 512 bytes for
// every page with a bit.
#pragma once
#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <vector>

namespace quern::corpus {

class DocumentBits {
 public:
  explicit DocumentBits(uint64_t documents) : pages_((documents + kPage - 1) / kPage) {}
  void set(uint64_t d) {
    std::unique_ptr<Page>& page = pages_.at(d / kPage);
    if (!page) page = std::make_unique<Page>(), ++used_;
    (*page)[d % kPage / 64] |= uint64_t{1} << (d % 64);
  }
  bool operator[](uint64_t d) const {
    const std::unique_ptr<Page>& page = pages_[d / kPage];
    return page && ((*page)[d % kPage / 64] >> (d % 64) & 1);
  }
  uint64_t count() const {
    uint64_t n = 0;
    for (const auto& page : pages_)
      for (size_t i = 0; page && i < page->size(); ++i) n += static_cast<uint64_t>(std::popcount((*page)[i]));
    return n;
  }
  // f(document), ascending, for every bit that is set.
  template <class F>
  void each(F&& f) const {
    for (uint64_t p = 0; p < pages_.size(); ++p)
      for (size_t i = 0; pages_[p] && i < pages_[p]->size(); ++i)
        for (uint64_t bits = (*pages_[p])[i]; bits; bits &= bits - 1)
          f(p * kPage + i * 64 + static_cast<uint64_t>(std::countr_zero(bits)));
  }
  uint64_t bytes() const { return pages_.size() * sizeof(pages_[0]) + used_ * sizeof(Page); }

 private:
  static constexpr uint64_t kPage = 4096;  // documents
  using Page = std::array<uint64_t, kPage / 64>;
  std::vector<std::unique_ptr<Page>> pages_;
  uint64_t used_ = 0;
};

}  // namespace quern::corpus
