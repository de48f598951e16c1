#include "quern/corpus/dedup/candidates.h"

#include <algorithm>
#include <mutex>

#include "quern/base/threads.h"
#include "quern/corpus/dedup/even_keys.h"

namespace quern::corpus {
namespace {

constexpr size_t kReadRecords = 65536;

#pragma pack(push, 1)
struct NumberedKey {  // of a slice that is not the first; of others, a BandRecord holds the number
  uint64_t key;
  RecordNumber document;
};
#pragma pack(pop)
static_assert(sizeof(NumberedKey) == 13);

template <class Key>
void groups_of(std::vector<Key>& r, uint64_t ranges, const std::function<void(std::span<const RecordNumber>)>& f,
               std::vector<RecordNumber>& group) {
  sort_even_keys(r, ranges);
  for (size_t i = 0; i < r.size();) {
    size_t end = i + 1;
    while (end < r.size() && r[end].key == r[i].key) ++end;
    if (end - i > 1) {
      group.clear();
      for (size_t k = i; k < end; ++k) group.push_back(r[k].document);
      f(group);
    }
    i = end;
  }
}

void compact(std::vector<CandidatePair>& pairs) {
  std::sort(pairs.begin(), pairs.end());
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
}

template <class Key>
void each_group(std::span<const RecordSlice> slices, uint64_t memory,
                const std::function<void(std::span<const RecordNumber>)>& f, KeyShare share) {
  uint64_t n = 0;
  for (const RecordSlice& s : slices) n += s.end - s.begin;
  const uint64_t own = n / static_cast<uint64_t>(share.parts);
  const uint64_t fit = std::max<uint64_t>(memory / sizeof(Key), kReadRecords);
  // Keys are even: half of the room is slack.
  const uint64_t passes = own <= fit ? 1 : (own + fit / 2 - 1) / (fit / 2);
  const uint64_t ranges = passes * static_cast<uint64_t>(share.parts);
  std::vector<Key> taken;
  std::vector<BandRecord> buffer(std::min<uint64_t>(n, kReadRecords));
  std::vector<RecordNumber> group;
  taken.reserve(std::min(n, fit));  // what is not used is not touched; growing would hold it twice for a moment
  for (uint64_t pass = 0; pass < passes; ++pass) {
    const uint64_t range = static_cast<uint64_t>(share.part) * passes + pass;
    taken.clear();
    for (const RecordSlice& s : slices)
      for (uint64_t at = s.begin; at < s.end;) {
        const uint64_t some = std::min<uint64_t>(kReadRecords, s.end - at);
        s.file->read(at * sizeof(BandRecord), buffer.data(), some * sizeof(BandRecord));
        for (uint64_t i = 0; i < some; ++i) {
          if (ranges != 1 && (static_cast<unsigned __int128>(buffer[i].key) * ranges) >> 64 != range) continue;
          taken.push_back({buffer[i].key, static_cast<decltype(Key::document)>(s.first + buffer[i].document)});
        }
        at += some;
      }
    groups_of(taken, ranges, f, group);
  }
}

}  // namespace

void for_each_group(std::span<const RecordSlice> slices, uint64_t memory,
                    const std::function<void(std::span<const RecordNumber>)>& f, KeyShare share) {
  const bool one_numbering = std::ranges::all_of(slices, [](const RecordSlice& s) { return s.first == 0; });
  one_numbering ? each_group<BandRecord>(slices, memory, f, share)
                : each_group<NumberedKey>(slices, memory, f, share);
}

std::vector<RecordNumber> Candidates::documents() const {
  std::vector<RecordNumber> d;
  for (const CandidatePair& p : pairs) d.push_back(p.low), d.push_back(p.high);
  for (const auto& g : groups) d.insert(d.end(), g.begin(), g.end());
  std::sort(d.begin(), d.end());
  d.erase(std::unique(d.begin(), d.end()), d.end());
  return d;
}

void Candidates::compact() {
  corpus::compact(pairs);
  std::sort(groups.begin(), groups.end());
  groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
}

void each_band_candidates(std::span<const Band> bands, uint64_t memory, const std::function<bool(uint64_t)>& skip,
                          uint64_t settled, const std::function<void(Candidates&&)>& take) {
  std::mutex lock;
  const uint64_t share = memory / static_cast<uint64_t>(thread_count());
  parallel_dynamic(static_cast<int64_t>(bands.size()), [&](int64_t b) {
    Candidates c;
    std::vector<RecordNumber> kept;
    for_each_group(bands[static_cast<size_t>(b)], share, [&](std::span<const RecordNumber> group) {
      kept.clear();
      for (const uint64_t d : group)
        if (!skip(d)) kept.push_back(d);
      const auto old = static_cast<uint64_t>(std::lower_bound(kept.begin(), kept.end(), settled) - kept.begin());
      if (old == kept.size()) return;
      c.meetings -= old * (old - (old > 0)) / 2;
      c.meetings += static_cast<uint64_t>(kept.size()) * (kept.size() - (kept.empty() ? 0 : 1)) / 2;
      if (kept.size() > kLargeGroup) {
        c.groups.push_back(kept);
      } else {
        for (size_t i = 0; i < kept.size(); ++i)
          for (size_t j = std::max<size_t>(i + 1, old); j < kept.size(); ++j) c.pairs.push_back({kept[i], kept[j]});
      }
    });
    std::lock_guard hold(lock);
    take(std::move(c));
  });
}

Candidates find_candidates(std::span<const Band> bands, uint64_t memory, const std::function<bool(uint64_t)>& skip,
                           uint64_t settled) {
  Candidates all;
  size_t compacted = 0;
  each_band_candidates(bands, memory, skip, settled, [&](Candidates&& c) {
    all.meetings += c.meetings;
    all.pairs.insert(all.pairs.end(), c.pairs.begin(), c.pairs.end());
    for (auto& g : c.groups) all.groups.push_back(std::move(g));
    if (all.pairs.size() > 2 * compacted + (1u << 20)) {
      compact(all.pairs);
      compacted = all.pairs.size();
    }
  });
  all.compact();
  return all;
}

}  // namespace quern::corpus
