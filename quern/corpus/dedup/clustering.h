// Clustering: chooses the document to keep among candidate pairs.
//   star     visits documents from best to worst and removes one only if it passes the threshold against a kept
//            document of a candidate pair. Every removed document is similar to its own survivor.
//   closure  connected components of the passing pairs, however long the chain; the best document of a component is
//            kept, as in the papers.
// Scope `across`: only documents of different sources remove each other. In a star, a better one removes; in a closure
// all documents of the cluster's best source are kept, and a cluster of one source is left alone. The decisions depend
// on the documents only, not on threads: batches are compared in parallel against the kept documents before them, and
// among themselves in order. The first `settled` documents of a star are kept: an earlier run kept them.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "quern/corpus/dedup/candidates.h"

namespace quern::corpus {

enum class Clustering { star, closure };
enum class Scope { all, across, within };
inline std::vector<std::string> setting_names(Clustering) { return {"star", "closure"}; }
inline std::vector<std::string> setting_names(Scope) { return {"all", "across", "within"}; }

struct RankedDocument {
  RecordNumber document;
  uint16_t source = 0;
};
static_assert(sizeof(RankedDocument) == 8);

// contenders: the candidates' documents, the best first. like(a, b): the similarity of contenders a and b (positions)
// when it passes, else negative; called from several threads.
struct DuplicateDecision {
  uint32_t survivor = 0;  // position of the contender that stands for this one; itself when it survives
  float similarity = -1;  // to the survivor, when it was looked at
  uint32_t cluster = 0;   // closure: position of the cluster's best; star: as survivor
};
struct DuplicateDecisions {
  std::vector<DuplicateDecision> decisions;  // by position
  uint64_t compared = 0, passed = 0;
};
using SimilarityFunction = std::function<double(uint32_t, uint32_t)>;

DuplicateDecisions cluster_star(std::span<const RankedDocument> ranked, const Candidates& candidates, Scope scope,
                                const SimilarityFunction& like, uint32_t settled = 0);
DuplicateDecisions cluster_closure(std::span<const RankedDocument> ranked, const Candidates& candidates, Scope scope,
                                   const SimilarityFunction& like);

}  // namespace quern::corpus
