#include "quern/corpus/dedup/clustering.h"

#include <algorithm>
#include <atomic>

#include "quern/base/disjoint_sets.h"
#include "quern/base/error.h"
#include "quern/base/threads.h"

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
  std::vector<std::pair<uint32_t, uint32_t>> place;  // document → position
  place.reserve(n);
  for (size_t p = 0; p < n; ++p) place.emplace_back(ranked[p].document, static_cast<uint32_t>(p));
  std::sort(place.begin(), place.end());
  const auto position = [&](uint32_t document) {
    const auto at = std::lower_bound(place.begin(), place.end(), std::pair<uint32_t, uint32_t>(document, 0));
    QUERN_CHECK(at != place.end() && at->first == document, "document {} is no contender", document);
    return at->second;
  };
  Meetings m;
  std::vector<std::pair<uint32_t, uint32_t>> links;  // worse, better
  links.reserve(c.pairs.size());
  for (const CandidatePair& pair : c.pairs) {
    const uint32_t a = position(pair.low), b = position(pair.high);
    if (may_pair(ranked[a], ranked[b], scope)) links.emplace_back(std::max(a, b), std::min(a, b));
  }
  std::sort(links.begin(), links.end());
  m.first.assign(n + 1, 0);
  for (const auto& [worse, better] : links) ++m.first[worse + 1], m.better.push_back(better);
  for (size_t p = 0; p < n; ++p) m.first[p + 1] += m.first[p];
  std::vector<std::pair<uint32_t, uint32_t>> places;  // position, group
  for (size_t g = 0; g < c.groups.size(); ++g) {
    m.groups.emplace_back();
    for (uint32_t d : c.groups[g]) {
      m.groups[g].push_back(position(d));
      places.emplace_back(m.groups[g].back(), static_cast<uint32_t>(g));
    }
    std::sort(m.groups[g].begin(), m.groups[g].end());
  }
  std::sort(places.begin(), places.end());
  m.group_first.assign(n + 1, 0);
  for (const auto& [p, g] : places) ++m.group_first[p + 1], m.group_of.push_back(g);
  for (size_t p = 0; p < n; ++p) m.group_first[p + 1] += m.group_first[p];
  return m;
}

constexpr size_t kFirstBatch = 16, kBatch = 2048;

}  // namespace

DuplicateDecisions cluster_star(std::span<const RankedDocument> ranked, const Candidates& candidates, Scope scope,
                                const SimilarityFunction& like, uint32_t settled) {
  const auto n = static_cast<uint32_t>(ranked.size());
  const Meetings m = arrange(ranked, candidates, scope);
  DuplicateDecisions e;
  e.decisions.resize(n);
  std::vector<std::vector<uint32_t>> leaders(m.groups.size());  // survivors in each large group, best first
  std::atomic<uint64_t> compared{0}, passed{0};
  const auto decide = [&](uint32_t p, std::span<const uint32_t> others) {  // others ascend: the best survivor decides
    for (uint32_t s : others) {
      compared.fetch_add(1, std::memory_order_relaxed);
      const double x = like(p, s);
      if (x < 0) continue;
      passed.fetch_add(1, std::memory_order_relaxed);
      e.decisions[p] = {s, static_cast<float>(x), s};
      return true;
    }
    return false;
  };
  // Survivors from before the batch that p met; positions below `begin` are settled.
  const auto already_paired = [&](uint32_t p, uint32_t begin, std::vector<uint32_t>& out) {
    out.clear();
    for (uint64_t i = m.first[p]; i < m.first[p + 1] && m.better[i] < begin; ++i)
      if (e.decisions[m.better[i]].survivor == m.better[i]) out.push_back(m.better[i]);
    for (uint64_t i = m.group_first[p]; i < m.group_first[p + 1]; ++i)
      for (uint32_t s : leaders[m.group_of[i]])
        if (may_pair(ranked[p], ranked[s], scope)) out.push_back(s);
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
  };
  const auto stay = [&](uint32_t p) {
    e.decisions[p] = {p, -1, p};
    for (uint64_t i = m.group_first[p]; i < m.group_first[p + 1]; ++i) leaders[m.group_of[i]].push_back(p);
  };
  for (uint32_t p = 0; p < settled; ++p) stay(p);
  std::vector<uint32_t> list;
  for (uint32_t begin = settled, size = kFirstBatch; begin < n;
       begin += size, size = std::min<uint32_t>(2 * size, kBatch)) {
    size = std::min(size, n - begin);
    // In parallel: against the survivors before the batch, and whom of the batch a document is like at all.
    std::vector<char> removed(size);
    std::vector<std::vector<std::pair<uint32_t, float>>> within(size);
    parallel_dynamic((size + 15) / 16, [&](int64_t chunk) {
      std::vector<uint32_t> others;
      for (uint32_t k = static_cast<uint32_t>(chunk) * 16;
           k < std::min<uint32_t>(size, (static_cast<uint32_t>(chunk) + 1) * 16); ++k) {
        const uint32_t p = begin + k;
        already_paired(p, begin, others);
        if ((removed[k] = decide(p, others))) continue;
        for (uint64_t i = m.first[p]; i < m.first[p + 1]; ++i)
          if (const uint32_t b = m.better[i]; b >= begin) {
            compared.fetch_add(1, std::memory_order_relaxed);
            const double x = like(p, b);
            if (x >= 0) within[k].emplace_back(b, static_cast<float>(x));
          }
      }
    });
    for (uint32_t k = 0; k < size; ++k) {
      const uint32_t p = begin + k;
      if (removed[k]) continue;
      list.clear();
      for (uint64_t i = m.group_first[p]; i < m.group_first[p + 1]; ++i) {
        const auto& l = leaders[m.group_of[i]];
        for (auto at = std::lower_bound(l.begin(), l.end(), begin); at != l.end(); ++at)
          if (may_pair(ranked[p], ranked[*at], scope)) list.push_back(*at);
      }
      std::sort(list.begin(), list.end());
      list.erase(std::unique(list.begin(), list.end()), list.end());
      // The best survivor of either kind decides.
      DuplicateDecision pair_decision{n, -1, 0};
      for (const auto& [b, x] : within[k])
        if (e.decisions[b].survivor == b) {
          pair_decision = {b, x, b};
          break;
        }
      list.erase(std::lower_bound(list.begin(), list.end(), pair_decision.survivor), list.end());
      if (decide(p, list)) continue;
      if (pair_decision.survivor < n) {
        passed.fetch_add(1, std::memory_order_relaxed);
        e.decisions[p] = pair_decision;
        continue;
      }
      stay(p);
    }
  }
  e.compared = compared, e.passed = passed;
  return e;
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
