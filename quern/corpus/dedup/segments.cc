#include "quern/corpus/dedup/segments.h"

#include <algorithm>

#include "quern/base/error.h"

namespace quern::corpus {

bool better(const DocumentRecord& a, const DocumentRecord& b) {
  if (a.source != b.source) return a.source < b.source;
  if (a.score != b.score) return a.score > b.score;
  if (a.length != b.length) return a.length > b.length;
  if (a.content != b.content) return a.content < b.content;
  return a.id < b.id;
}

template <class F>
void Segment::each(Segment& s, size_t bands, F&& f) {
  f("stretches", s.record_ranges), f("records", s.records), f("sets", s.sets), f("rows", s.rows);
  f("exact", s.exact), f("fates", s.statuses), f("sources", s.sources);
  s.bands.resize(bands);
  for (size_t b = 0; b < bands; ++b) f(fmt::format("band-{:03}", b), s.bands[b]);
}

Segment Segment::open(const std::filesystem::path& folder, size_t bands, const Json* sizes) {
  Segment s;
  each(s, bands, [&](const std::string& name, SpillFile& f) {
    f = SpillFile::named(folder / name, sizes ? static_cast<uint64_t>(sizes->at(name).as_int(name)) : 0);
  });
  return s;
}

Segment Segment::look(const std::filesystem::path& folder, size_t bands) {
  Segment s;
  each(s, bands, [&](const std::string& name, SpillFile& f) { f = SpillFile::existing(folder / name); });
  return s;
}

Json Segment::sizes() {
  Json j = Json::object();
  each(*this, bands.size(), [&](const std::string& name, SpillFile& f) {
    f.flush();
    j.set(name, static_cast<int64_t>(f.size()));
  });
  return j;
}

uint64_t Segment::bytes() const {
  uint64_t n = records.size() + sets.size() + rows.size() + exact.size();
  for (const SpillFile& b : bands) n += b.size();
  return n;
}

void Segments::add(Segment s, uint64_t first) {
  const uint64_t n = s.record_ranges.size() / sizeof(RecordRange);
  uint64_t at = 0;
  for (uint64_t i = 0; i < n; ++i) {
    auto r = s.record_ranges.record<RecordRange>(i);
    r.first += first;
    // The blocks of a run alone follow one another: one stretch.
    if (i > 0 && spans_.back().first + spans_.back().rows == r.first)
      spans_.back().rows += r.rows;
    else
      spans_.push_back({r.first, r.rows, at, static_cast<uint32_t>(segments_.size())});
    at += r.rows;
  }
  segments_.push_back(std::move(s));
}

void Segments::arrange() {
  std::sort(spans_.begin(), spans_.end(), [](const Span& a, const Span& b) { return a.first < b.first; });
  uint64_t next = 0;
  for (const Span& s : spans_) {
    if (s.first != next) fail("no rank read records {} to {}: did an input change?", next, s.first);
    next = s.first + s.rows;
  }
}

const Segments::Span& Segments::find(uint64_t number) const {
  auto at =
      std::upper_bound(spans_.begin(), spans_.end(), number, [](uint64_t n, const Span& s) { return n < s.first; });
  QUERN_CHECK(at != spans_.begin() && number - at[-1].first < at[-1].rows, "row {}", number);
  return at[-1];
}

DocumentRecord Segments::record(uint64_t number) const {
  const Span& s = find(number);
  return segments_[s.segment].records.record<DocumentRecord>(s.at + number - s.first);
}

void Segments::set(uint64_t number, const DocumentRecord& r, std::vector<uint64_t>& to) const {
  to.resize(r.set_count);
  if (!to.empty()) segments_[find(number).segment].sets.read(r.set_at * 8, to.data(), to.size() * 8);
}

void Segments::signature(uint64_t number, std::vector<uint32_t>& to) const {
  const Span& s = find(number);
  segments_[s.segment].rows.read((s.at + number - s.first) * to.size() * 4, to.data(), to.size() * 4);
}

void Segments::statuses(std::vector<uint8_t>& to) const {
  to.resize(rows());
  for (const Span& s : spans_) segments_[s.segment].statuses.read(s.at, to.data() + s.first, s.rows);
}

SourceTable Segments::sources() const {
  SourceTable table;
  std::vector<uint8_t> piece(65536);
  for (const Span& s : spans_)
    for (uint64_t at = 0; at < s.rows; at += piece.size()) {
      const uint64_t some = std::min<uint64_t>(s.rows - at, piece.size());
      segments_[s.segment].sources.read(s.at + at, piece.data(), some);
      for (uint64_t i = 0; i < some; ++i) table.add(s.first + at + i, piece[i]);
    }
  return table;
}

void SourceTable::add(uint64_t first, uint8_t source) {
  if (table_.empty() || table_.back().source != source) table_.push_back({first, source});
}

uint8_t SourceTable::operator[](uint64_t number) const {
  const auto behind =
      std::upper_bound(table_.begin(), table_.end(), number, [](uint64_t n, const Entry& e) { return n < e.first; });
  QUERN_CHECK(behind != table_.begin(), "row {}", number);
  return behind[-1].source;
}

std::vector<RecordSlice> Segments::exact() const {
  std::vector<RecordSlice> files;
  for (const Segment& s : segments_) files.push_back(RecordSlice::whole(s.exact));
  return files;
}

Band Segments::band(size_t b) const {
  Band files;
  for (const Segment& s : segments_) files.push_back(RecordSlice::whole(s.bands[b]));
  return files;
}

}  // namespace quern::corpus
