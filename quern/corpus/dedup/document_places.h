// Where the documents of an order stand in it, found by their numbers. Nine bytes per document.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "quern/base/error.h"
#include "quern/corpus/dedup/record_number.h"

namespace quern::corpus {

class DocumentPlaces {
 public:
  // number(i): of the i-th of n documents.
  template <class F>
  DocumentPlaces(size_t n, F&& number) {
    places_.reserve(n);
    for (size_t i = 0; i < n; ++i) places_.push_back({number(i), static_cast<uint32_t>(i)});
    std::sort(places_.begin(), places_.end(), [](const Place& a, const Place& b) { return a.document < b.document; });
  }
  uint32_t of(uint64_t document) const {
    const auto at = std::lower_bound(places_.begin(), places_.end(), document,
                                     [](const Place& p, uint64_t d) { return p.document < d; });
    QUERN_CHECK(at != places_.end() && at->document == document, "document {} is no candidate", document);
    return at->place;
  }

 private:
#pragma pack(push, 1)
  struct Place {
    RecordNumber document;
    uint32_t place;
  };
#pragma pack(pop)
  static_assert(sizeof(Place) == 9);
  std::vector<Place> places_;
};

}  // namespace quern::corpus
