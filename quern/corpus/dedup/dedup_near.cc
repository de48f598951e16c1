// Near-duplicates: candidates from the bands, their sets sorted, clustering, and a histogram of similarities.
#include <algorithm>
#include <span>

#include "quern/base/error.h"
#include "quern/base/threads.h"
#include "quern/corpus/dedup/dedup_parts.h"
#include "quern/corpus/dedup/document_places.h"
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
  SetSimilarity(const DedupConfig& c, const Segments& segments, const CandidateSets& sets)
      : c_(c),
        segments_(segments),
        sets_(sets.files),
        order_(sets.order),
        kept_(static_cast<size_t>(thread_count())) {}
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
    segments_.signature(order_[p].number, to);
  }
  const DedupConfig& c_;
  const Segments& segments_;
  std::span<const SpillFile> sets_;
  std::span<const CandidateDocument> order_;
  std::vector<Kept> kept_;
};

// Each rank has its bands; all of them get what was found.
Candidates find_pairs(const DedupJob& job, const Documents& all) {
  std::vector<Band> bands;
  for (size_t b = static_cast<size_t>(job.ranks.rank()); b < job.band_files();
       b += static_cast<size_t>(job.ranks.size()))
    bands.push_back(all.segments.band(b));
  Candidates c = find_candidates(
      bands, job.config.memory, [&](uint64_t d) { return all.removed(d); }, job.index.documents);
  if (job.ranks.alone()) return c;
  std::vector<RecordNumber> flat;
  for (const auto& g : c.groups) {
    flat.push_back(g.size());
    flat.insert(flat.end(), g.begin(), g.end());
  }
  flat = job.ranks.gather(flat);
  c.groups.clear();
  for (size_t i = 0; i < flat.size(); i += 1 + flat[i])
    c.groups.emplace_back(flat.begin() + static_cast<std::ptrdiff_t>(i + 1),
                          flat.begin() + static_cast<std::ptrdiff_t>(i + 1 + flat[i]));
  c.pairs = job.ranks.gather(c.pairs);
  c.meetings = job.ranks.sum(c.meetings);
  c.compact();
  return c;
}

// Sets without repeats, into a file of their own: a run that is cut off here finds the first file whole.
void sort_sets(const Segments& segments, std::vector<CandidateDocument>& order, SpillFile& sorted) {
  uint64_t total = 0;
  std::vector<uint64_t> to(order.size());
  for (size_t i = 0; i < order.size(); ++i) to[i] = total, total += order[i].record.set_count;
  sorted.grow(total * sizeof(uint64_t));
  parallel_shares(static_cast<int64_t>(order.size()), 64, [&](int64_t begin, int64_t end) {
    std::vector<uint64_t> set, scratch;
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      DocumentRecord& r = order[i].record;
      segments.set(order[i].number, r, set);
      sort_unique(set, scratch);
      r.set_at = to[i], r.set_count = static_cast<uint32_t>(set.size());
      if (!set.empty()) sorted.write(r.set_at * 8, set.data(), set.size() * 8);
    }
  });
}

// The documents begin … end, with their records; their sets are in the file of `sorted_by`.
std::vector<CandidateDocument> candidate_documents(const Segments& segments, std::span<const RecordNumber> documents,
                                                   int sorted_by) {
  std::vector<CandidateDocument> order;
  for (const uint64_t d : documents) order.push_back({segments.record(d), d, static_cast<uint16_t>(sorted_by)});
  return order;
}

void best_first(std::vector<CandidateDocument>& order) {
  std::sort(order.begin(), order.end(),
            [](const CandidateDocument& a, const CandidateDocument& b) { return better(a.record, b.record); });
}

// Each rank has a share of them, and the first has all in the end.
CandidateSets sorted_by_ranks(const DedupJob& job, const RunFolder& folder, const Segments& segments,
                              const std::vector<RecordNumber>& documents) {
  if (job.ranks.alone()) return sorted_sets(job, folder.folder(), segments, documents);
  QUERN_CHECK(job.ranks.size() <= 1 << 16);  // sorted_by
  const comm::Range cut =
      comm::even_range(static_cast<int64_t>(documents.size()), job.ranks.size(), job.ranks.rank());
  CandidateSets sets;
  sets.order = candidate_documents(
      segments,
      std::span(documents).subspan(static_cast<size_t>(cut.begin), static_cast<size_t>(cut.end - cut.begin)),
      job.ranks.rank());
  if (job.wants_sets()) {
    SpillFile sorted = SpillFile::named(folder.file("sorted"), 0);
    sort_sets(segments, sets.order, sorted);
  }
  sets.order = job.ranks.gather(sets.order);
  if (job.wants_sets())
    for (int r = 0; r < job.ranks.size() && job.ranks.first(); ++r)
      sets.files.push_back(SpillFile::existing(folder.of_rank(r) / "sorted"));
  best_first(sets.order);
  return sets;
}

}  // namespace

CandidateSets sorted_sets(const DedupJob& job, const std::filesystem::path& folder, const Segments& segments,
                          const std::vector<RecordNumber>& documents) {
  CandidateSets sets;
  sets.order = candidate_documents(segments, documents, 0);
  if (job.wants_sets()) sort_sets(segments, sets.order, sets.files.emplace_back(folder));
  best_first(sets.order);
  return sets;
}

PairSteps::PairSteps(uint64_t pairs) : step((pairs + kPairSample - 1) / kPairSample), first(step / 2) {}

std::vector<double> pair_similarities(const std::vector<CandidatePair>& some, const CandidateSets& sets) {
  const std::vector<CandidateDocument>& order = sets.order;
  const DocumentPlaces places(order.size(), [&](size_t p) { return order[p].number; });
  const auto set_of = [&](uint64_t d, std::vector<uint64_t>& to) { read_set(sets.files, order[places.of(d)], to); };
  std::vector<double> alike(some.size());
  parallel_shares(static_cast<int64_t>(some.size()), 16, [&](int64_t begin, int64_t end) {
    std::vector<uint64_t> two[2];
    uint64_t last = UINT64_MAX;  // pairs ascend: several begin with the same document
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      if (some[i].low != last) set_of(some[i].low, two[0]), last = some[i].low;
      set_of(some[i].high, two[1]);
      alike[i] = jaccard(two[0], two[1]);
    }
  });
  return alike;
}

NearDecisions choose_kept(const DedupJob& job, const Segments& segments, const Candidates& candidates,
                          const CandidateSets& sets) {
  const std::vector<CandidateDocument>& order = sets.order;
  std::vector<RankedDocument> ranked;
  uint32_t settled = 0;
  for (const CandidateDocument& m : order)
    ranked.push_back({m.number, static_cast<uint16_t>(m.record.source)}), settled += m.number < job.index.documents;
  SetSimilarity set_similarity(job.config, segments, sets);
  const SimilarityFunction like = [&](uint32_t a, uint32_t b) { return set_similarity(a, b); };
  const DuplicateDecisions e = job.config.clustering == Clustering::star
                                   ? cluster_star(ranked, candidates, job.config.scope, like, settled)
                                   : cluster_closure(ranked, candidates, job.config.scope, like);
  NearDecisions near{.removed = {}, .compared = e.compared, .passed = e.passed};
  for (size_t p = 0; p < e.decisions.size(); ++p) {
    const DuplicateDecision& v = e.decisions[p];
    if (v.survivor == p) continue;
    near.removed.push_back({order[p].number, order[v.survivor].number});
    const double x =
        v.similarity >= 0 || !job.wants_sets() ? v.similarity : like(static_cast<uint32_t>(p), v.survivor);
    near.wrongful += x < 0;
  }
  return near;
}

namespace {

PairSample sample_pairs(const DedupJob& job, const Documents& all, const Candidates& candidates,
                        const CandidateSets& sets) {
  PairSample sample;
  sample.met = candidates.pairs.size();
  std::vector<CandidatePair> some;
  const PairSteps steps(sample.met);
  for (size_t i = steps.first; i < candidates.pairs.size(); i += steps.step) some.push_back(candidates.pairs[i]);
  const std::vector<double> alike = pair_similarities(some, sets);
  for (size_t i = 0; i < some.size(); ++i)
    sample.add({.similarity = alike[i], .both_survive = !all.removed(some[i].low) && !all.removed(some[i].high)},
               job.config.threshold, job.config.bands);
  return sample;
}

Documents remove_near_duplicates(const DedupJob& job, Documents all, const Candidates& candidates,
                                 const CandidateSets& sets) {
  const NearDecisions near = choose_kept(job, all.segments, candidates, sets);
  all.report.compared = near.compared, all.report.passed = near.passed;
  for (const NearRemoved& r : near.removed) {
    all.survivor[r.document] = static_cast<uint32_t>(r.survivor);
    all.set_status(r.document, kNearDuplicate);
  }
  all.report.near_removed += near.removed.size();
  if (!job.wants_sets()) return all;
  all.report.wrongful = static_cast<int64_t>(near.wrongful);
  all.report.pairs = sample_pairs(job, all, candidates, sets);
  return all;
}

}  // namespace

Documents mark_near_duplicates(const DedupJob& job, const RunFolder& folder, Documents all) {
  const uint64_t distinct = all.distinct();
  Candidates candidates;
  CandidateSets sets;
  std::vector<StageReport>& stages = all.report.stages;
  timed_stage(stages, {.name = "bands", .documents_in = distinct}, [&](StageReport& s) {
    for (size_t b = 0; b < job.band_files(); ++b)
      for (const RecordSlice& f : all.segments.band(b)) s.bytes_in += f.bytes();
    candidates = find_pairs(job, all);
    all.report.meetings = candidates.meetings;
    all.report.candidate_pairs = candidates.pairs.size();
    s.documents_out = distinct;
  });
  timed_stage(stages, {.name = "sets", .documents_in = distinct}, [&](StageReport& s) {
    sets = sorted_by_ranks(job, folder, all.segments, candidates.documents());
    s.documents_out = distinct;
  });
  if (job.ranks.first())
    timed_stage(stages, {.name = "elect", .documents_in = distinct}, [&](StageReport& s) {
      all = remove_near_duplicates(job, std::move(all), candidates, sets);
      s.documents_out = distinct - all.report.near_removed;
    });
  return all;
}

}  // namespace quern::corpus
