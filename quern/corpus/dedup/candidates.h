// Candidate pairs from LSH banding. A band is a file of (key, document) records; equal keys form a bucket. Buckets of
// up to 8 documents become pairs, stored once although most recur in other bands; larger buckets stay groups, so that
// 10^5 copies of a page cost 10^5 entries and not 10^10 pairs. Memory: a band's records are sorted in memory if the
// budget allows, else in several passes over the file, one range of keys each; then 10 bytes per distinct pair and 5
// per member of a large group.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "quern/corpus/dedup/record_number.h"
#include "quern/corpus/io/spill.h"

namespace quern::corpus {

// On disk: a document by its number in the file, which has 2^32 of them at most.
#pragma pack(push, 4)
struct BandRecord {
  uint64_t key;
  uint32_t document;
};
#pragma pack(pop)
static_assert(sizeof(BandRecord) == 12);

// Records begin … end of a file. `first` is added to their documents, which the file numbers on its own.
struct RecordSlice {
  const SpillFile* file = nullptr;
  uint64_t begin = 0, end = 0;
  uint64_t first = 0;
  static RecordSlice whole(const SpillFile& file) { return {&file, 0, file.size() / sizeof(BandRecord), 0}; }
  uint64_t bytes() const { return (end - begin) * sizeof(BandRecord); }
};

struct KeyShare {  // the part-th of `parts` even ranges of keys
  int part = 0, parts = 1;
};

// f(documents of one key), for keys of two documents and more in all the slices; documents ascend. One call at a time.
void for_each_group(std::span<const RecordSlice> slices, uint64_t memory,
                    const std::function<void(std::span<const RecordNumber>)>& f, KeyShare share = {});

struct CandidatePair {
  RecordNumber low, high;
  auto operator<=>(const CandidatePair&) const = default;
};
static_assert(sizeof(CandidatePair) == 10);

struct Candidates {
  std::vector<CandidatePair> pairs;               // ascending, no repeats
  std::vector<std::vector<RecordNumber>> groups;  // ascending documents, in ascending order, no repeats
  std::vector<RecordNumber> documents() const;    // all that appear, ascending
  uint64_t meetings = 0;                          // pairs that met, counted once a band
  void compact();                                 // orders what was put behind one another
};

constexpr size_t kLargeGroup = 8;

// Each band is the slices with its records. skip(document): takes no part (an exact copy's other copies). Documents
// below `settled` do not meet one another.
using Band = std::vector<RecordSlice>;
Candidates find_candidates(std::span<const Band> bands, uint64_t memory, const std::function<bool(uint64_t)>& skip,
                           uint64_t settled = 0);
// The same band by band, in any order: take(what met in one of them), one call at a time.
void each_band_candidates(std::span<const Band> bands, uint64_t memory, const std::function<bool(uint64_t)>& skip,
                          uint64_t settled, const std::function<void(Candidates&&)>& take);

}  // namespace quern::corpus
