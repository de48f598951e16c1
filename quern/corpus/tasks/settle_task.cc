// Clusters of every N-th kept document, for the first of many copies lie close together: their lines of clusters.jsonl.zst,
// the largest of them, and which source removed documents of which. Tables: the removed documents of these clusters.
#include <algorithm>

#include "quern/corpus/tasks/removals.h"
#include "quern/corpus/tasks/task_results.h"

namespace quern::corpus {

void settle_task(TaskWork& w) {
  const std::vector<uint64_t> firsts = w.firsts();
  const Segments segments = w.segments(firsts);
  const uint64_t tasks = w.tasks("settle");
  std::vector<RemovedDocument> removed;
  for_each_removed(w, [&](const RemovedDocument& r) {
    if (r.survivor % tasks == w.index) removed.push_back(r);
  });
  std::ranges::sort(removed, {}, &RemovedDocument::document);
  std::vector<RemovedFor> gone;  // survivor, document
  DedupReport report;
  const size_t n = w.plan.sources.size();
  report.overlap.assign(n, std::vector<uint64_t>(n));
  for (const RemovedDocument& r :
       removed) {  // their records, for a table of sources is read through for all documents
    ++report.overlap[segments.record(r.survivor).source][segments.record(r.document).source];
    gone.emplace_back(r.survivor, r.document);
  }
  std::ranges::sort(gone);
  w.holds(removed.size() * (sizeof(RemovedDocument) + sizeof gone[0]));
  const DedupConfig config = w.without_filters();
  const Inputs in = w.plan.inputs();
  const DedupJob job(in, config, w.folder, Ranks(), w.progress);
  const auto exact = [&](uint64_t d) {
    return std::ranges::lower_bound(removed, RecordNumber(d), {}, &RemovedDocument::document)->status ==
           kExactDuplicate;
  };
  write_cluster_files(job, segments, gone, exact, report);
  w.save_result(SettleResult{report.clusters, report.largest, report.overlap, report.cluster_sizes, report.samples});
}

}  // namespace quern::corpus
