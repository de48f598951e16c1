// Near copies: who met in a band, their sets sorted, the election, and how alike those were that met.
#include <algorithm>

#include "quern/base/threads.h"
#include "quern/corpus/dedup_run.h"
#include "quern/corpus/similarity.h"

namespace quern::corpus {
namespace {

constexpr size_t kPairSample = 20000;

// Similarities of contenders from what the spill files hold; what each thread read last is kept.
class Likenesses {
 public:
  using Order = std::vector<std::pair<DocumentRecord, uint32_t>>;
  Likenesses(const DedupConfig& c, const SpillFile& sets, const SpillFile& rows, const Order& order)
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
        const double na = order_[a].first.set_count, nb = order_[b].first.set_count;
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
  void set(uint32_t p, std::vector<uint64_t>& to) const {
    to.resize(order_[p].first.set_count);
    sets_.read(order_[p].first.set_at * 8, to.data(), to.size() * 8);
  }
  void signature(uint32_t p, std::vector<uint32_t>& to) const {
    to.resize(static_cast<size_t>(c_.sketch.rows));
    rows_.read(uint64_t{order_[p].second} * to.size() * 4, to.data(), to.size() * 4);
  }
  const DedupConfig& c_;
  const SpillFile &sets_, &rows_;
  const Order& order_;
  std::vector<Kept> kept_;
};

}  // namespace

void DedupRun::neighbours() {
  Candidates candidates;
  stage("bands", after_exact_, bands_.empty() ? 0 : bands_[0].size() * bands_.size(), [&](StageReport& s) {
    candidates = find_candidates(bands_, c_.memory, [&](uint32_t d) { return removed(d); });
    report_.meetings = candidates.meetings;
    report_.candidate_pairs = candidates.pairs.size();
    s.documents_out = after_exact_;
  });
  Order order;
  stage("sets", after_exact_, 0, [&](StageReport& s) {
    for (uint32_t d : candidates.documents()) order.emplace_back(records_.record<DocumentRecord>(d), d);
    if (wants_sets()) sort_sets(order);
    std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return better(a.first, b.first); });
    s.documents_out = after_exact_;
  });
  stage("elect", after_exact_, 0, [&](StageReport& s) {
    std::vector<Contender> contenders;
    for (const auto& [r, d] : order) contenders.push_back({d, r.source});
    Likenesses likenesses(c_, sorted_, rows_, order);
    const Likeness like = [&](uint32_t a, uint32_t b) { return likenesses(a, b); };
    const Election e = c_.clustering == Clustering::star ? elect_star(contenders, candidates, c_.scope, like)
                                                         : elect_closure(contenders, candidates, c_.scope, like);
    report_.compared = e.compared, report_.passed = e.passed;
    if (wants_sets()) report_.wrongful = 0;
    for (size_t p = 0; p < e.verdicts.size(); ++p) {
      const Verdict& v = e.verdicts[p];
      if (v.survivor == p) continue;
      const uint32_t d = order[p].second;
      survivor_[d] = order[v.survivor].second;
      set_fate(d, kNearCopy);
      ++report_.near_removed;
      const double x = v.similarity >= 0 || !wants_sets() ? v.similarity : like(static_cast<uint32_t>(p), v.survivor);
      if (x < 0) ++report_.wrongful;
    }
    if (!wants_sets()) report_.wrongful = -1;
    if (wants_sets()) sample_pairs(candidates, order);
    s.documents_out = after_exact_ - report_.near_removed;
  });
}

// The contenders' sets without repeats, in a file of their own: a run that is cut off here finds the first file
// whole.
void DedupRun::sort_sets(Order& order) {
  sorted_ = SpillFile(out_);
  uint64_t total = 0;
  std::vector<uint64_t> from(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    DocumentRecord& r = order[i].first;
    from[i] = r.set_at, r.set_at = total, total += r.set_count;
  }
  sorted_.grow(total * sizeof(uint64_t));
  parallel_for(static_cast<int64_t>(order.size()), 64, [&](int64_t begin, int64_t end) {
    std::vector<uint64_t> set, scratch;
    for (int64_t i = begin; i < end; ++i) {
      DocumentRecord& r = order[static_cast<size_t>(i)].first;
      if (r.set_count == 0) continue;
      set.resize(r.set_count);
      sets_.read(from[static_cast<size_t>(i)] * 8, set.data(), set.size() * 8);
      sort_unique(set, scratch);
      sorted_.write(r.set_at * 8, set.data(), set.size() * 8);
      r.set_count = static_cast<uint32_t>(set.size());
    }
  });
}

std::vector<uint64_t> DedupRun::set_of(const DocumentRecord& r, const SpillFile& file) const {
  std::vector<uint64_t> set(r.set_count);
  file.read(r.set_at * 8, set.data(), set.size() * 8);
  return set;
}

void DedupRun::sample_pairs(const Candidates& candidates, const Order& order) {
  std::vector<std::pair<uint32_t, uint32_t>> place;  // document, position
  place.reserve(order.size());
  for (size_t p = 0; p < order.size(); ++p) place.emplace_back(order[p].second, static_cast<uint32_t>(p));
  std::sort(place.begin(), place.end());
  const auto record = [&](uint32_t d) -> const DocumentRecord& {
    return order[std::lower_bound(place.begin(), place.end(), std::pair<uint32_t, uint32_t>(d, 0))->second].first;
  };
  report_.pairs.met = candidates.pairs.size();
  const size_t step = (candidates.pairs.size() + kPairSample - 1) / kPairSample;
  for (size_t i = step / 2; i < candidates.pairs.size(); i += step) {
    const auto [a, b] = candidates.pairs[i];
    const double s = jaccard(set_of(record(a), sorted_), set_of(record(b), sorted_));
    report_.pairs.add(s, !removed(a) && !removed(b), c_.threshold, c_.bands);
  }
}

}  // namespace quern::corpus
