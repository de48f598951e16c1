// What the decisions amount to: chains of survivors shortened, counts by source, clusters.jsonl.zst, sample clusters.
#include <algorithm>
#include <map>

#include "quern/corpus/bytes/byte_stream.h"
#include "quern/corpus/dedup/dedup_parts.h"
#include "quern/corpus/sketch/similarity.h"

namespace quern::corpus {
namespace {

constexpr size_t kSampleRemoved = 3;

// What was decided, to be written: (survivor, document), ascending, and which documents went as exact copies.
struct Clusters {
  const DedupJob& job;
  const Segments& segments;
  const std::vector<RemovedFor>& gone;
  const std::function<bool(uint64_t)>& exact;

  // Whether a removed document has its survivor's content. An exact copy of a document that was itself removed as a
  // near-duplicate is a near-duplicate of the one that is kept.
  bool is_copy(const DocumentRecord& survivor, const DocumentRecord& removed, uint64_t d) const {
    return exact(d) && removed.content == survivor.content;
  }
};

// The largest clusters, the earlier survivor first among equals; of each the survivor and a few it stands for, evenly
// spread. Their texts come with the second reading.
std::vector<ClusterSample> sample_clusters(const Clusters& c) {
  const auto& gone = c.gone;
  std::vector<std::pair<size_t, size_t>> ranges;  // size, where it begins
  for (size_t i = 0, end = 0; i < gone.size(); i = end) {
    for (end = i; end < gone.size() && gone[end].first == gone[i].first;) ++end;
    ranges.emplace_back(end - i, i);
  }
  const size_t n = std::min(kSampleClusters, ranges.size());
  std::partial_sort(
      ranges.begin(), ranges.begin() + static_cast<std::ptrdiff_t>(n), ranges.end(),
      [](const auto& a, const auto& b) { return a.first != b.first ? a.first > b.first : a.second < b.second; });
  std::vector<ClusterSample> samples;
  std::vector<uint64_t> survivor, set, scratch;
  for (size_t k = 0; k < n; ++k) {
    const auto [size, begin] = ranges[k];
    ClusterSample& sample = samples.emplace_back();
    sample.size = size + 1;
    const auto document = [&](uint64_t d) {
      const DocumentRecord r = c.segments.record(d);
      return SampleDocument{.number = d, .source = r.source, .id = r.id, .bytes = r.length, .text = {}};
    };
    const uint64_t s = gone[begin].first;
    sample.survivor = document(s);
    if (c.job.wants_sets()) c.segments.set(s, c.segments.record(s), survivor), sort_unique(survivor, scratch);
    const size_t some = std::min(kSampleRemoved, size);
    for (size_t i = 0; i < some; ++i) {
      const uint64_t d = gone[begin + i * size / some].second;
      SampleDocument& removed = sample.removed.emplace_back(document(d));
      removed.exact = c.is_copy(c.segments.record(s), c.segments.record(d), d);
      if (!c.job.wants_sets()) continue;
      c.segments.set(d, c.segments.record(d), set);
      sort_unique(set, scratch);
      removed.similarity = removed.exact ? 1 : jaccard(survivor, set);
    }
  }
  return samples;
}

}  // namespace

// Shadows share the fate of the one they stand behind.
Documents settle(const DedupJob& job, Documents all) {
  const auto end = static_cast<uint32_t>(all.survivor.size()), begin = static_cast<uint32_t>(job.index.documents);
  for (uint32_t d = begin; d < end; ++d) {
    uint32_t s = all.survivor[d];
    while (all.survivor[s] != s) s = all.survivor[s];
    if (status_of(all.statuses[d]) == kShadow) {
      const uint32_t front = all.survivor[d];
      const int status = status_of(all.statuses[front]);
      if (status == kKept || status == kShadow) {
        all.set_status(d, kKept);
        all.survivor[d] = d;
        continue;
      }
      all.set_status(d, static_cast<DocStatus>(status));
      ++(status == kExactDuplicate ? all.report.exact_removed : all.report.near_removed);
    }
    all.survivor[d] = s;
  }
  const size_t n = all.report.sources.size();
  all.report.overlap.assign(n, std::vector<uint64_t>(n));
  for (uint32_t d = begin; d < end; ++d) {
    const int status = status_of(all.statuses[d]);
    SourceFunnel& f = all.report.sources[all.sources[d]];
    const bool stays = status == kKept, late = stays && (all.statuses[d] & kUnlabeled);
    all.report.kept += stays && !late, f.kept += stays && !late;
    all.report.unlabeled += late, f.unlabeled += late;
    f.exact_removed += status == kExactDuplicate, f.near_removed += status == kNearDuplicate;
    if (all.removed(d)) ++all.report.overlap[all.sources[all.survivor[d]]][all.sources[d]];
  }
  return all;
}

void write_cluster_files(const DedupJob& job, const Segments& segments, const std::vector<RemovedFor>& gone,
                         const std::function<bool(uint64_t)>& exact, DedupReport& report) {
  const Clusters clusters{job, segments, gone, exact};
  std::map<uint64_t, uint64_t> sizes;
  ZstdWriter file(job.out / "clusters.jsonl.zst", job.config.level);
  for (size_t i = 0; i < gone.size();) {
    size_t end = i;
    while (end < gone.size() && gone[end].first == gone[i].first) ++end;
    const DocumentRecord survivor = segments.record(gone[i].first);
    std::string line = fmt::format("{{\"survivor\":{},\"removed\":[", survivor.id);
    for (size_t k = i; k < end; ++k) {
      const DocumentRecord removed = segments.record(gone[k].second);
      line += fmt::format("{}{{\"id\":{},\"copy\":\"{}\"}}", k > i ? "," : "", removed.id,
                          clusters.is_copy(survivor, removed, gone[k].second) ? "exact" : "near");
    }
    file.write(line + "]}\n");
    ++report.clusters;
    ++sizes[end - i + 1];
    report.largest = std::max<uint64_t>(report.largest, end - i + 1);
    i = end;
  }
  file.close();
  report.cluster_sizes.assign(sizes.begin(), sizes.end());
  report.samples = sample_clusters(clusters);
}

Documents write_clusters(const DedupJob& job, Documents all) {
  std::vector<RemovedFor> gone;  // survivor, document
  for (uint32_t d = 0; d < all.survivor.size(); ++d)
    if (all.removed(d)) gone.emplace_back(all.survivor[d], d);
  std::sort(gone.begin(), gone.end());
  write_cluster_files(
      job, all.segments, gone, [&](uint64_t d) { return status_of(all.statuses[d]) == kExactDuplicate; }, all.report);
  return all;
}

}  // namespace quern::corpus
