// Removed documents, from what partitions and components decided, each with the document that is kept for it. Streamed:
// copies by the document that stands for them, beside near-duplicates by their own numbers.
#pragma once
#include <cstdint>
#include <functional>

#include "quern/corpus/tasks/task_work.h"

namespace quern::corpus {

struct RemovedDocument {
  RecordNumber document, survivor;
  uint8_t status;  // kExactDuplicate or kNearDuplicate
};
void for_each_removed(const TaskWork& w, const std::function<void(const RemovedDocument&)>& f);

// What the tasks of a plan counted, with what settled and written documents add, and the samples of the largest clusters.
DedupReport whole_report(const TaskWork& w);
std::vector<ClusterSample> largest_clusters(const TaskWork& w);

}  // namespace quern::corpus
