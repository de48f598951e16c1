// Near-duplicates: candidates from the bands, their sets sorted, clustering, and a histogram of similarities.
#include <algorithm>
#include <span>

#include "quern/base/threads.h"
#include "quern/corpus/dedup/dedup_run.h"
#include "quern/corpus/sketch/similarity.h"

namespace quern::corpus {
namespace {

constexpr size_t kPairSample = 20000;

void read_set(std::span<const SpillFile> sets, const CandidateDocument& m, std::vector<uint64_t>& to) {
  to.resize(m.record.set_count);
  if (!to.empty()) sets[m.sorted_by].read(m.record.set_at * 8, to.data(), to.size() * 8);
}

// Similarities of contenders from what the spill files hold; what each thread read last is kept.
class SetSimilarity {
 public:
  SetSimilarity(const DedupConfig& c, std::span<const SpillFile> sets, const Segments& rows,
                std::span<const CandidateDocument> order)
      : c_(c), sets_(sets), rows_(rows), order_(order), kept_(static_cast<size_t>(thread_count())) {}
  double operator()(uint32_t a, uint32_t b) {
    Kept& k = kept_[static_cast<size_t>(thread_index())];
    const double t = c_.threshold;
    switch (c_.verify) {
      case Verification::none:
        return 1;
      case Verification::signature: {
        if (k.position != a) signature(a, k.rows), k.position = a;
        signature(b, k.other_rows);
        const double x = row_agreement(k.rows, k.other_rows);
        return x >= t ? x : -1;
      }
      case Verification::exact:
      case Verification::containment: {
        const bool whole = c_.verify == Verification::exact;
        const double na = order_[a].record.set_count, nb = order_[b].record.set_count;
        if (na == 0 && nb == 0) return c_.collide_empty ? 1 : -1;
        if (whole && std::min(na, nb) < t * std::max(na, nb)) return -1;
        if (k.position != a) set(a, k.set), k.position = a;
        set(b, k.other);
        return whole ? jaccard_at_least(k.set, k.other, t) : containment_at_least(k.set, k.other, t);
      }
    }
    return -1;
  }

 private:
  struct alignas(64) Kept {
    uint32_t position = UINT32_MAX;
    std::vector<uint64_t> set, other;
    std::vector<uint32_t> rows, other_rows;
  };
  void set(uint32_t p, std::vector<uint64_t>& to) const { read_set(sets_, order_[p], to); }
  void signature(uint32_t p, std::vector<uint32_t>& to) const {
    to.resize(static_cast<size_t>(c_.sketch.rows));
    rows_.signature(order_[p].number, to);
  }
  const DedupConfig& c_;
  std::span<const SpillFile> sets_;
  const Segments& rows_;
  std::span<const CandidateDocument> order_;
  std::vector<Kept> kept_;
};

}  // namespace

void DedupRun::neighbors() {
  Candidates candidates;
  stage("bands", after_exact_, 0, [&](StageReport& s) {
    for (size_t b = 0; b < band_files(); ++b)
      for (const SpillFile* f : rows_.band(b)) s.bytes_in += f->size();
    candidates = find_pairs();
    report_.meetings = candidates.meetings;
    report_.candidate_pairs = candidates.pairs.size();
    s.documents_out = after_exact_;
  });
  Order order;
  stage("sets", after_exact_, 0, [&](StageReport& s) {
    order = sorted_sets(candidates.documents());
    s.documents_out = after_exact_;
  });
  if (ranks_.first()) stage("elect", after_exact_, 0, [&](StageReport& s) { choose_kept(candidates, order, s); });
}

// Each rank has its bands; all of them get what was found.
Candidates DedupRun::find_pairs() {
  std::vector<std::vector<const SpillFile*>> bands;
  for (size_t b = static_cast<size_t>(ranks_.rank()); b < band_files(); b += static_cast<size_t>(ranks_.size()))
    bands.push_back(rows_.band(b));
  Candidates c = find_candidates(
      bands, c_.memory, [&](uint32_t d) { return removed(d); }, static_cast<uint32_t>(index_.documents));
  if (ranks_.alone()) return c;
  std::vector<uint32_t> flat;
  for (const auto& g : c.groups) {
    flat.push_back(static_cast<uint32_t>(g.size()));
    flat.insert(flat.end(), g.begin(), g.end());
  }
  flat = ranks_.gather(flat);
  c.groups.clear();
  for (size_t i = 0; i < flat.size(); i += 1 + flat[i])
    c.groups.emplace_back(flat.begin() + static_cast<std::ptrdiff_t>(i + 1),
                          flat.begin() + static_cast<std::ptrdiff_t>(i + 1 + flat[i]));
  c.pairs = ranks_.gather(c.pairs);
  c.meetings = ranks_.sum(c.meetings);
  c.compact();
  return c;
}

// The documents that met, the best first, their sets sorted: each rank a share of them, the first has all in the end.
DedupRun::Order DedupRun::sorted_sets(const std::vector<uint32_t>& documents) {
  const Range cut = even_range(static_cast<int64_t>(documents.size()), ranks_.size(), ranks_.rank());
  Order order;
  for (int64_t i = cut.begin; i < cut.end; ++i) {
    const uint32_t d = documents[static_cast<size_t>(i)];
    order.push_back({rows_.record(d), d, static_cast<uint32_t>(ranks_.rank())});
  }
  if (wants_sets()) sort_sets(order);
  order = ranks_.gather(order);
  if (wants_sets() && !ranks_.alone()) {
    sorted_.clear();
    for (int r = 0; r < ranks_.size() && ranks_.first(); ++r)
      sorted_.push_back(SpillFile::existing(folder_.of_rank(r) / "sorted"));
  }
  std::sort(order.begin(), order.end(),
            [](const CandidateDocument& a, const CandidateDocument& b) { return better(a.record, b.record); });
  return order;
}

void DedupRun::choose_kept(const Candidates& candidates, Order& order, StageReport& s) {
  std::vector<RankedDocument> ranked;
  uint32_t settled = 0;
  for (const CandidateDocument& m : order)
    ranked.push_back({m.number, m.record.source}), settled += m.number < index_.documents;
  SetSimilarity set_similarity(c_, sorted_, rows_, order);
  const SimilarityFunction like = [&](uint32_t a, uint32_t b) { return set_similarity(a, b); };
  const DuplicateDecisions e = c_.clustering == Clustering::star
                                   ? cluster_star(ranked, candidates, c_.scope, like, settled)
                                   : cluster_closure(ranked, candidates, c_.scope, like);
  report_.compared = e.compared, report_.passed = e.passed;
  if (wants_sets()) report_.wrongful = 0;
  for (size_t p = 0; p < e.decisions.size(); ++p) {
    const DuplicateDecision& v = e.decisions[p];
    if (v.survivor == p) continue;
    const uint32_t d = order[p].number;
    survivor_[d] = order[v.survivor].number;
    set_status(d, kNearDuplicate);
    ++report_.near_removed;
    const double x = v.similarity >= 0 || !wants_sets() ? v.similarity : like(static_cast<uint32_t>(p), v.survivor);
    if (x < 0) ++report_.wrongful;
  }
  if (!wants_sets()) report_.wrongful = -1;
  if (wants_sets()) sample_pairs(candidates, order);
  s.documents_out = after_exact_ - report_.near_removed;
}

// Sets without repeats, in a file of their own: a run that is cut off here finds the first file whole.
void DedupRun::sort_sets(Order& order) {
  SpillFile sorted = ranks_.alone() ? SpillFile(out_) : SpillFile::named(folder_.file("sorted"), 0);
  uint64_t total = 0;
  std::vector<uint64_t> to(order.size());
  for (size_t i = 0; i < order.size(); ++i) to[i] = total, total += order[i].record.set_count;
  sorted.grow(total * sizeof(uint64_t));
  parallel_shares(static_cast<int64_t>(order.size()), 64, [&](int64_t begin, int64_t end) {
    std::vector<uint64_t> set, scratch;
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      DocumentRecord& r = order[i].record;
      rows_.set(order[i].number, r, set);
      sort_unique(set, scratch);
      r.set_at = to[i], r.set_count = static_cast<uint32_t>(set.size());
      if (!set.empty()) sorted.write(r.set_at * 8, set.data(), set.size() * 8);
    }
  });
  sorted_.clear();
  if (ranks_.alone()) sorted_.push_back(std::move(sorted));
}

void DedupRun::sample_pairs(const Candidates& candidates, const Order& order) {
  std::vector<std::pair<uint32_t, uint32_t>> place;  // document, position
  place.reserve(order.size());
  for (size_t p = 0; p < order.size(); ++p) place.emplace_back(order[p].number, static_cast<uint32_t>(p));
  std::sort(place.begin(), place.end());
  const auto set_of = [&](uint32_t d, std::vector<uint64_t>& to) {
    const auto at = std::lower_bound(place.begin(), place.end(), std::pair<uint32_t, uint32_t>(d, 0));
    read_set(sorted_, order[at->second], to);
  };
  report_.pairs.met = candidates.pairs.size();
  std::vector<CandidatePair> some;
  const size_t step = (candidates.pairs.size() + kPairSample - 1) / kPairSample;
  for (size_t i = step / 2; i < candidates.pairs.size(); i += step) some.push_back(candidates.pairs[i]);
  std::vector<double> alike(some.size());
  parallel_shares(static_cast<int64_t>(some.size()), 16, [&](int64_t begin, int64_t end) {
    std::vector<uint64_t> sets[2];
    uint32_t last = UINT32_MAX;  // pairs ascend: several begin with the same document
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      if (some[i].low != last) set_of(some[i].low, sets[0]), last = some[i].low;
      set_of(some[i].high, sets[1]);
      alike[i] = jaccard(sets[0], sets[1]);
    }
  });
  for (size_t i = 0; i < some.size(); ++i)
    report_.pairs.add(alike[i], !removed(some[i].low) && !removed(some[i].high), c_.threshold, c_.bands);
}

}  // namespace quern::corpus
