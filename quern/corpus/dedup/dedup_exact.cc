// Exact copies: documents of one content; the best stands for the others. With scope `across`, copies within a source
// become shadows of the best: settle() gives them its status.
#include <algorithm>

#include "quern/corpus/dedup/dedup_parts.h"

namespace quern::corpus {

void find_exact_copies(const DedupJob& job, const Segments& segments, std::span<const RecordSlice> slices,
                       KeyShare share, const std::function<void(const ExactCopy&)>& note) {
  std::vector<std::pair<DocumentRecord, uint64_t>> group;
  const auto look = [&](std::span<const RecordNumber> same_key) {
    group.clear();
    for (const uint64_t d : same_key) group.emplace_back(segments.record(d), d);
    std::sort(group.begin(), group.end(), [](const auto& a, const auto& b) {
      return a.first.content != b.first.content ? a.first.content < b.first.content : better(a.first, b.first);
    });
    for (size_t i = 0; i < group.size();) {
      size_t end = i + 1;
      while (end < group.size() && group[end].first.content == group[i].first.content) ++end;
      for (size_t k = i + 1; k < end; ++k) {
        const bool other = group[k].first.source != group[i].first.source;
        if (job.config.scope == Scope::all || (job.config.scope == Scope::across && other)) {
          note({group[k].second, group[i].second, kExactDuplicate});
        } else if (job.config.scope == Scope::across) {
          note({group[k].second, group[i].second, kShadow});
        } else {  // within: the best of its source is the first of the source in this run
          size_t head = i;
          while (group[head].first.source != group[k].first.source) ++head;
          if (head != k) note({group[k].second, group[head].second, kExactDuplicate});
        }
      }
      i = end;
    }
  };
  for_each_group(slices, job.config.memory, look, share);
}

Documents mark_exact_copies(const DedupJob& job, Documents all) {
  const uint64_t before = all.report.read.documents - all.report.filtered;
  const std::vector<RecordSlice> files = all.segments.exact();
  uint64_t bytes = 0;
  for (const RecordSlice& f : files) bytes += f.bytes();
  timed_stage(all.report.stages, {.name = "exact", .documents_in = before, .bytes_in = bytes}, [&](StageReport& s) {
    std::vector<ExactCopy> found;
    uint64_t gone = 0;
    const auto apply = [&](const ExactCopy& c) {
      all.survivor[c.document] = static_cast<uint32_t>(c.front);
      all.set_status(c.document, static_cast<DocStatus>(c.status));
      gone += c.status == kExactDuplicate;
    };
    find_exact_copies(job, all.segments, files, {job.ranks.rank(), job.ranks.size()},
                      [&](const ExactCopy& c) { job.ranks.alone() ? apply(c) : found.push_back(c); });
    if (!job.ranks.alone())
      for (const ExactCopy& c : job.ranks.gather(found)) apply(c);
    all.report.exact_removed = gone;
    s.documents_out = before - gone;
  });
  return all;
}

}  // namespace quern::corpus
