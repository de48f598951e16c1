// On-disk result of the first pass. A segment is what one rank wrote, or a saved index: one record per document, its
// shingles, its band keys. Records are numbered over all inputs, those of an index first; a segment lists the numbers
// it holds as ranges (first number, count), one per block. Segments finds a record by its number.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "quern/base/json.h"
#include "quern/corpus/bytes/hashing.h"
#include "quern/corpus/dedup/candidates.h"
#include "quern/corpus/io/spill.h"

namespace quern::corpus {

struct DocumentRecord {
  uint64_t id = 0;
  ContentHash content;
  uint64_t set_at = 0;  // its shingles in the segment's sets, in hashes
  uint32_t set_count = 0, length = 0;
  float score = 0;
  uint32_t source = 0;
};
static_assert(sizeof(DocumentRecord) == 48);

// The survivor order: source, score, length, then the content itself, so that the same documents win wherever they
// lie.
bool better(const DocumentRecord& a, const DocumentRecord& b);

struct RecordRange {
  uint64_t first = 0, rows = 0;
};

struct Segment {
  SpillFile record_ranges, records, sets, rows, exact, statuses, sources;
  std::vector<SpillFile> bands;

  // To append to, with as much of each file as `sizes` says; to read.
  static Segment open(const std::filesystem::path& folder, size_t bands, const Json* sizes);
  static Segment look(const std::filesystem::path& folder, size_t bands);
  Json sizes();  // flushed
  uint64_t bytes() const;

 private:
  template <class F>
  static void each(Segment& s, size_t bands, F&& f);
};

// Which source every row is of: one entry a change of source, since rows are numbered source by source.
class SourceTable {
 public:
  void add(uint64_t first, uint8_t source);  // rows from here on
  uint8_t operator[](uint64_t number) const;
  size_t entries() const { return table_.size(); }

 private:
  struct Entry {
    uint64_t first;
    uint8_t source;
  };
  std::vector<Entry> table_;
};

class Segments {
 public:
  void add(Segment s, uint64_t first = 0);  // first: is added to the numbers that its ranges say
  void arrange();  // after the last one: rows are found from now on; every number must be there once
  bool empty() const { return segments_.empty(); }
  uint64_t rows() const { return spans_.empty() ? 0 : spans_.back().first + spans_.back().rows; }
  DocumentRecord record(uint64_t number) const;
  // A record's shingles as they came; its signature.
  void set(uint64_t number, const DocumentRecord& r, std::vector<uint64_t>& to) const;
  void signature(uint64_t number, std::vector<uint32_t>& to) const;
  void statuses(std::vector<uint8_t>& to) const;  // one byte a row, in the order of their numbers
  SourceTable sources() const;
  std::vector<RecordSlice> exact() const;
  Band band(size_t b) const;

 private:
  struct Span {
    uint64_t first, rows, at;  // at: the place of the first in its segment
    uint32_t segment;
  };
  const Span& find(uint64_t number) const;
  std::vector<Segment> segments_;
  std::vector<Span> spans_;
};

}  // namespace quern::corpus
