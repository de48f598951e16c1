// Some of the connected components of candidate pairs: their sets, their similarities, and which documents stay.
#include <algorithm>

#include "quern/corpus/tasks/candidate_pairs.h"
#include "quern/corpus/tasks/task_work.h"

namespace quern::corpus {
namespace {

Candidates read_candidates(const TaskWork& w) {
  const auto file = [&](const char* name) { return w.of("join", 0) / fmt::format("{}-{}", name, w.index); };
  Candidates c;
  c.pairs = read_records<CandidatePair>(file("pairs"));
  for_each_large_group(SpillFile::existing(file("groups")),
                       [&](const std::vector<RecordNumber>& g) { c.groups.push_back(g); });
  c.compact();
  return c;
}

// Similarities of the pairs that the report looks at.
void write_samples(const TaskWork& w, const CandidateSets& sets, const std::vector<NearRemoved>& removed) {
  const auto samples = read_records<SampledPair>(w.of("join", 0) / fmt::format("samples-{}", w.index));
  std::vector<CandidatePair> pairs;
  for (const SampledPair& s : samples) pairs.push_back(s.pair);
  const std::vector<double> alike = pair_similarities(pairs, sets);
  const auto stays = [&](RecordNumber d) {
    return !std::ranges::binary_search(removed, d, {}, &NearRemoved::document);
  };
  SpillFile out = SpillFile::named(w.folder / "samples", 0);
  for (size_t i = 0; i < samples.size(); ++i) {
    const SampledSimilarity s{samples[i].place, alike[i], stays(pairs[i].low) && stays(pairs[i].high)};
    out.append(&s, sizeof s);
  }
  out.flush();
}

}  // namespace

void cluster_task(TaskWork& w) {
  const Candidates candidates = read_candidates(w);
  const Segments segments = w.segments(w.firsts());
  const DedupConfig config = w.without_filters();
  const Inputs in = w.plan.inputs();
  const DedupJob job(in, config, w.folder, Ranks(), w.progress);
  const CandidateSets sets = sorted_sets(job, w.folder, segments, candidates.documents());
  NearDecisions near = choose_kept(job, segments, candidates, sets);
  std::ranges::sort(near.removed, {}, &NearRemoved::document);
  if (job.wants_sets()) write_samples(w, sets, near.removed);
  SpillFile out = SpillFile::named(w.folder / "removed", 0);
  out.append(near.removed.data(), near.removed.size() * sizeof(NearRemoved));
  out.flush();
  uint64_t grouped = 0;
  for (const std::vector<RecordNumber>& g : candidates.groups) grouped += g.size() * sizeof(RecordNumber);
  w.holds(candidates.pairs.size() * sizeof(CandidatePair) + grouped + sets.order.size() * sizeof(CandidateDocument));
  w.save_result(ClusterResult{near.compared, near.passed, near.wrongful, near.removed.size()});
}

}  // namespace quern::corpus
