#include "quern/corpus/dedup/clustering.h"

#include <algorithm>
#include <atomic>

#include "quern/base/disjoint_sets.h"
#include "quern/base/threads.h"
#include "quern/corpus/dedup/document_places.h"

namespace quern::corpus {
namespace {

// Candidates by position: pairs as lists of better partners, groups as lists of positions, best first.
struct Meetings {
  std::vector<uint64_t> first;   // of position p: better[first[p]] … better[first[p + 1]]
  std::vector<uint32_t> better;  // ascending positions
  std::vector<uint64_t> group_first;
  std::vector<uint32_t> group_of;  // ids of the large groups a position is in
  std::vector<std::vector<uint32_t>> groups;
};

bool may_pair(const RankedDocument& a, const RankedDocument& b, Scope scope) {
  return scope == Scope::all || (a.source != b.source) == (scope == Scope::across);
}

Meetings arrange(std::span<const RankedDocument> ranked, const Candidates& c, Scope scope) {
  const size_t n = ranked.size();
  const DocumentPlaces places(n, [&](size_t p) { return ranked[p].document; });
  Meetings m;
  std::vector<std::pair<uint32_t, uint32_t>> links;  // worse, better
  links.reserve(c.pairs.size());
  for (const CandidatePair& pair : c.pairs) {
    const uint32_t a = places.of(pair.low), b = places.of(pair.high);
    if (may_pair(ranked[a], ranked[b], scope)) links.emplace_back(std::max(a, b), std::min(a, b));
  }
  std::sort(links.begin(), links.end());
  m.first.assign(n + 1, 0);
  for (const auto& [worse, better] : links) ++m.first[worse + 1], m.better.push_back(better);
  for (size_t p = 0; p < n; ++p) m.first[p + 1] += m.first[p];
  std::vector<std::pair<uint32_t, uint32_t>> grouped;  // position, group
  for (size_t g = 0; g < c.groups.size(); ++g) {
    m.groups.emplace_back();
    for (const uint64_t d : c.groups[g]) {
      m.groups[g].push_back(places.of(d));
      grouped.emplace_back(m.groups[g].back(), static_cast<uint32_t>(g));
    }
    std::sort(m.groups[g].begin(), m.groups[g].end());
  }
  std::sort(grouped.begin(), grouped.end());
  m.group_first.assign(n + 1, 0);
  for (const auto& [p, g] : grouped) ++m.group_first[p + 1], m.group_of.push_back(g);
  for (size_t p = 0; p < n; ++p) m.group_first[p + 1] += m.group_first[p];
  return m;
}

constexpr size_t kFirstBatch = 16, kBatch = 2048;

void sort_unique(std::vector<uint32_t>& v) {
  std::sort(v.begin(), v.end());
  v.erase(std::unique(v.begin(), v.end()), v.end());
}

// A star's decisions, batch by batch. compare() may run on many threads at once; it only writes its own document's
// decision. settle() runs in order.
class StarClusters {
 public:
  StarClusters(std::span<const RankedDocument> ranked, const Candidates& candidates, Scope scope,
               const SimilarityFunction& like)
      : ranked_(ranked),
        scope_(scope),
        like_(like),
        m_(arrange(ranked, candidates, scope)),
        decisions_(ranked.size()),
        leaders_(m_.groups.size()) {}

  void keep(uint32_t p) {
    decisions_[p] = {p, -1, p};
    for (uint64_t i = m_.group_first[p]; i < m_.group_first[p + 1]; ++i) leaders_[m_.group_of[i]].push_back(p);
  }

  // The batch of the positions begin … begin + size - 1; those below are decided.
  void run_batch(uint32_t begin, uint32_t size) {
    std::vector<Compared> compared(size);
    parallel_dynamic((size + 15) / 16, [&](int64_t chunk) {
      const uint32_t first = static_cast<uint32_t>(chunk) * 16;
      for (uint32_t k = first; k < std::min(size, first + 16); ++k) compared[k] = compare(begin + k, begin);
    });
    for (uint32_t k = 0; k < size; ++k)
      if (!compared[k].removed) settle(begin + k, begin, compared[k].within);
  }

  DuplicateDecisions result() && {
    return {.decisions = std::move(decisions_), .compared = compared_, .passed = passed_};
  }

 private:
  // A document against the survivors before its batch; if none removes it, those of the batch that it is similar to.
  struct Compared {
    bool removed = false;
    std::vector<std::pair<uint32_t, float>> within = {};
  };

  Compared compare(uint32_t p, uint32_t begin) {
    if (decide(p, survivors_before(p, begin))) return {.removed = true};
    Compared c;
    for (uint64_t i = m_.first[p]; i < m_.first[p + 1]; ++i) {
      const uint32_t b = m_.better[i];
      if (b < begin) continue;
      compared_.fetch_add(1, std::memory_order_relaxed);
      const double x = like_(p, b);
      if (x >= 0) c.within.emplace_back(b, static_cast<float>(x));
    }
    return c;
  }

  // p stays unless a survivor of the batch is similar to it: the best decides, from a pair or from a large group.
  void settle(uint32_t p, uint32_t begin, std::span<const std::pair<uint32_t, float>> within) {
    const auto n = static_cast<uint32_t>(ranked_.size());
    DuplicateDecision pair_decision{n, -1, 0};
    for (const auto& [b, x] : within)
      if (decisions_[b].survivor == b) {
        pair_decision = {b, x, b};
        break;
      }
    std::vector<uint32_t> others = leaders_since(p, begin);
    others.erase(std::lower_bound(others.begin(), others.end(), pair_decision.survivor), others.end());
    if (decide(p, others)) return;
    if (pair_decision.survivor == n) return keep(p);
    passed_.fetch_add(1, std::memory_order_relaxed);
    decisions_[p] = pair_decision;
  }

  bool decide(uint32_t p, std::span<const uint32_t> others) {  // others ascend: the best survivor decides
    for (uint32_t s : others) {
      compared_.fetch_add(1, std::memory_order_relaxed);
      const double x = like_(p, s);
      if (x < 0) continue;
      passed_.fetch_add(1, std::memory_order_relaxed);
      decisions_[p] = {s, static_cast<float>(x), s};
      return true;
    }
    return false;
  }

  // Survivors from before the batch that p met.
  std::vector<uint32_t> survivors_before(uint32_t p, uint32_t begin) const {
    std::vector<uint32_t> out;
    for (uint64_t i = m_.first[p]; i < m_.first[p + 1] && m_.better[i] < begin; ++i)
      if (decisions_[m_.better[i]].survivor == m_.better[i]) out.push_back(m_.better[i]);
    for (uint64_t i = m_.group_first[p]; i < m_.group_first[p + 1]; ++i)
      for (uint32_t s : leaders_[m_.group_of[i]])
        if (may_pair(ranked_[p], ranked_[s], scope_)) out.push_back(s);
    sort_unique(out);
    return out;
  }

  // Survivors of the batch in p's large groups.
  std::vector<uint32_t> leaders_since(uint32_t p, uint32_t begin) const {
    std::vector<uint32_t> out;
    for (uint64_t i = m_.group_first[p]; i < m_.group_first[p + 1]; ++i) {
      const auto& l = leaders_[m_.group_of[i]];
      for (auto at = std::lower_bound(l.begin(), l.end(), begin); at != l.end(); ++at)
        if (may_pair(ranked_[p], ranked_[*at], scope_)) out.push_back(*at);
    }
    sort_unique(out);
    return out;
  }

  std::span<const RankedDocument> ranked_;
  Scope scope_;
  const SimilarityFunction& like_;
  const Meetings m_;
  std::vector<DuplicateDecision> decisions_;
  std::vector<std::vector<uint32_t>> leaders_;  // survivors in each large group, best first
  std::atomic<uint64_t> compared_{0}, passed_{0};
};

}  // namespace

DuplicateDecisions cluster_star(std::span<const RankedDocument> ranked, const Candidates& candidates, Scope scope,
                                const SimilarityFunction& like, uint32_t settled) {
  StarClusters clusters(ranked, candidates, scope, like);
  for (uint32_t p = 0; p < settled; ++p) clusters.keep(p);
  const auto n = static_cast<uint32_t>(ranked.size());
  for (uint32_t begin = settled, size = kFirstBatch; begin < n;
       begin += size, size = std::min<uint32_t>(2 * size, kBatch)) {
    size = std::min(size, n - begin);
    clusters.run_batch(begin, size);
  }
  return std::move(clusters).result();
}

DuplicateDecisions cluster_closure(std::span<const RankedDocument> ranked, const Candidates& candidates, Scope scope,
                                   const SimilarityFunction& like) {
  const auto n = static_cast<uint32_t>(ranked.size());
  // Across sources, a chain may still pass through documents of one source.
  const Meetings m = arrange(ranked, candidates, scope == Scope::within ? scope : Scope::all);
  DuplicateDecisions e;
  std::vector<char> passes(m.better.size());
  parallel_dynamic((n + 63) / 64, [&](int64_t chunk) {
    for (uint32_t p = static_cast<uint32_t>(chunk) * 64;
         p < std::min<uint32_t>(n, static_cast<uint32_t>(chunk + 1) * 64); ++p)
      for (uint64_t i = m.first[p]; i < m.first[p + 1]; ++i) passes[i] = like(p, m.better[i]) >= 0;
  });
  DisjointSets sets(n);
  e.compared = m.better.size();
  for (uint32_t p = 0; p < n; ++p)
    for (uint64_t i = m.first[p]; i < m.first[p + 1]; ++i)
      if (passes[i]) sets.join(p, m.better[i]), ++e.passed;
  for (const auto& group : m.groups) {
    std::vector<std::vector<uint32_t>> parts;  // members met so far, by component
    for (uint32_t p : group) {
      std::vector<uint32_t> own = {p};
      for (size_t k = 0; k < parts.size();) {
        bool linked = sets.root(parts[k][0]) == sets.root(p);
        for (size_t i = 0; i < parts[k].size() && !linked; ++i) {
          if (scope == Scope::within && ranked[parts[k][i]].source != ranked[p].source) continue;
          ++e.compared;
          linked = like(p, parts[k][i]) >= 0;
          if (linked) sets.join(p, parts[k][i]), ++e.passed;
        }
        if (linked) {  // the longer list takes the shorter
          if (parts[k].size() > own.size()) parts[k].swap(own);
          own.insert(own.end(), parts[k].begin(), parts[k].end());
          parts[k].swap(parts.back());
          parts.pop_back();
        } else {
          ++k;
        }
      }
      parts.push_back(std::move(own));
    }
  }
  e.decisions.resize(n);
  std::vector<uint32_t> best_of(n, UINT32_MAX);  // by root: its first position
  for (uint32_t p = 0; p < n; ++p) {
    uint32_t& best = best_of[sets.root(p)];
    if (best == UINT32_MAX) best = p;
    const bool stays = best == p || (scope == Scope::across && ranked[best].source == ranked[p].source);
    e.decisions[p] = {stays ? p : best, -1, best};
  }
  return e;
}

}  // namespace quern::corpus
