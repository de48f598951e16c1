// Who survives among documents that met in a band.
//   star     documents are looked at from the best to the worst; one is removed when it passes the threshold against
//   a
//            survivor it met, else it survives. Every removed document is like its own survivor.
//   closure  documents linked by passing pairs are one cluster, however long the chain, and the best one survives:
//   the
//            papers' connected components.
// Scope `across`: only documents of different sources remove each other. In a star, of a better one; in a closure all
// documents of the cluster's best source survive, and a cluster of one source is left alone.
// The verdicts depend on the documents alone, not on threads: batches are judged in parallel against the survivors
// before them, and among themselves in order. The first `settled` contenders of a star survive: they did before.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "quern/corpus/dedup/candidates.h"

namespace quern::corpus {

enum class Clustering { star, closure };
enum class Scope { all, across, within };

struct Contender {
  uint32_t document = 0;
  uint32_t source = 0;
};

// contenders: the candidates' documents, the best first. like(a, b): the similarity of contenders a and b (positions)
// when it passes, else negative; called from several threads.
struct Verdict {
  uint32_t survivor = 0;  // position of the contender that stands for this one; itself when it survives
  float similarity = -1;  // to the survivor, when it was looked at
  uint32_t cluster = 0;   // closure: position of the cluster's best; star: as survivor
};
struct Election {
  std::vector<Verdict> verdicts;  // by position
  uint64_t compared = 0, passed = 0;
};
using Likeness = std::function<double(uint32_t, uint32_t)>;

Election elect_star(std::span<const Contender> contenders, const Candidates& candidates, Scope scope,
                    const Likeness& like, uint32_t settled = 0);
Election elect_closure(std::span<const Contender> contenders, const Candidates& candidates, Scope scope,
                       const Likeness& like);

}  // namespace quern::corpus
