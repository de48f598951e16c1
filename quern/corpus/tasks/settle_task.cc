// What becomes of every document, from what partitions and components decided: chains end at a document that is kept,
// counts by source, clusters.jsonl.zst, and a byte per document for the tasks that write. Tables: the removed documents.
#include <algorithm>

#include "quern/corpus/tasks/candidate_pairs.h"
#include "quern/corpus/tasks/task_work.h"

namespace quern::corpus {
namespace {

struct RemovedDocument {
  uint32_t document, survivor;
  uint32_t status;
};

class Removals {
 public:
  explicit Removals(const TaskWork& w) {
    for (uint64_t p = 0; p < w.tasks("exact"); ++p)
      for (const ExactCopy& c : read_records<ExactCopy>(w.of("exact", p) / "copies"))
        all_.push_back({c.document, c.front, c.status});
    for (uint64_t c = 0; w.plan.has_stage("cluster") && c < w.tasks("cluster"); ++c)
      for (const NearRemoved& r : read_records<NearRemoved>(w.of("cluster", c) / "removed"))
        all_.push_back({r.document, r.survivor, kNearDuplicate});
    std::ranges::sort(all_, {}, &RemovedDocument::document);
  }
  const std::vector<RemovedDocument>& all() const { return all_; }
  const RemovedDocument* find(uint32_t document) const {
    const auto at = std::ranges::lower_bound(all_, document, {}, &RemovedDocument::document);
    return at != all_.end() && at->document == document ? &*at : nullptr;
  }
  // Shadows share the fate of the one they stand behind, and nobody refers to one; then every survivor is kept.
  void settle() {
    std::vector<RemovedDocument> left;
    for (RemovedDocument r : all_) {
      if (r.status == kShadow) {
        const RemovedDocument* front = find(r.survivor);
        if (!front || front->status == kShadow) continue;
        r.status = front->status;
      }
      while (const RemovedDocument* next = find(r.survivor)) r.survivor = next->survivor;
      left.push_back(r);
    }
    all_ = std::move(left);
  }

 private:
  std::vector<RemovedDocument> all_;  // by document
};

// What the shards counted, and how much of it partitions and components removed.
DedupReport add_up(const TaskWork& w, const Removals& removals) {
  DedupReport all = w.result<SketchResult>("sketch", 0).at.report;
  for (uint64_t t = 1; t < w.tasks("sketch"); ++t) {
    const DedupReport one = w.result<SketchResult>("sketch", t).at.report;
    all.read.add(one.read);
    all.damaged.insert(all.damaged.end(), one.damaged.begin(), one.damaged.end());
    for (size_t s = 0; s < all.sources.size(); ++s) all.sources[s].add(one.sources[s]);
    all.spilled += one.spilled;
  }
  count_filtered(all);
  for (const RemovedDocument& r : removals.all()) all.exact_removed += r.status == kExactDuplicate;
  if (!w.plan.has_stage("cluster")) return all;
  for (uint64_t p = 0; p < w.tasks("merge"); ++p) all.meetings += w.result<MergeResult>("merge", p).meetings;
  all.candidate_pairs = w.result<JoinResult>("join", 0).pairs;
  uint64_t wrongful = 0;
  for (uint64_t c = 0; c < w.tasks("cluster"); ++c) {
    const auto one = w.result<ClusterResult>("cluster", c);
    all.compared += one.compared, all.passed += one.passed, all.near_removed += one.removed, wrongful += one.wrongful;
  }
  const bool sets = w.config.verify == Verification::exact || w.config.verify == Verification::containment;
  if (!sets) return all;
  all.wrongful = static_cast<int64_t>(wrongful);
  all.pairs.met = all.candidate_pairs;
  std::vector<SampledSimilarity> samples;
  for (uint64_t c = 0; c < w.tasks("cluster"); ++c)
    for (const SampledSimilarity& s : read_records<SampledSimilarity>(w.of("cluster", c) / "samples"))
      samples.push_back(s);
  std::ranges::sort(samples, {}, &SampledSimilarity::place);
  for (const SampledSimilarity& s : samples)
    all.pairs.add({.similarity = s.similarity, .both_survive = s.both_survive != 0}, w.config.threshold,
                  w.config.bands);
  return all;
}

void add_statistics(DedupReport& r, uint64_t distinct) {
  const uint64_t passed = r.read.documents - r.filtered;
  r.stages.push_back({.name = "read", .documents_in = r.read.documents, .documents_out = passed});
  r.stages.back().bytes_in = r.read.text_bytes;
  r.stages.push_back({.name = "exact", .documents_in = passed, .documents_out = distinct});
  if (r.candidate_pairs + r.meetings + r.near_removed == 0) return;
  r.stages.push_back({.name = "bands", .documents_in = distinct, .documents_out = distinct});
  r.stages.push_back({.name = "elect", .documents_in = distinct, .documents_out = distinct - r.near_removed});
}

// The statuses of a shard with what was decided, for the task that writes it; its documents by source.
void write_statuses(const TaskWork& w, uint64_t shard, const std::vector<uint32_t>& firsts, const Removals& removals,
                    DedupReport& report) {
  auto statuses = read_records<uint8_t>(w.of("sketch", shard) / "fates");
  const auto sources = read_records<uint8_t>(w.of("sketch", shard) / "sources");
  auto r = std::ranges::lower_bound(removals.all(), firsts[shard], {}, &RemovedDocument::document);
  for (; r != removals.all().end() && r->document < firsts[shard + 1]; ++r) {
    uint8_t& s = statuses[r->document - firsts[shard]];
    s = static_cast<uint8_t>((s & kMarks) | r->status);
  }
  for (size_t i = 0; i < statuses.size(); ++i) {
    const int status = status_of(statuses[i]);
    SourceFunnel& f = report.sources[sources[i]];
    const bool stays = status == kKept, late = stays && (statuses[i] & kUnlabeled);
    report.kept += stays && !late, f.kept += stays && !late;
    report.unlabeled += late, f.unlabeled += late;
    f.exact_removed += status == kExactDuplicate, f.near_removed += status == kNearDuplicate;
  }
  SpillFile out = SpillFile::named(w.folder / fmt::format("statuses-{}", shard), 0);
  out.append(statuses.data(), statuses.size());
  out.flush();
}

}  // namespace

void settle_task(TaskWork& w) {
  const std::vector<uint32_t> firsts = w.firsts();
  const Segments segments = w.segments(firsts);
  Removals removals(w);
  DedupReport report = add_up(w, removals);
  const Inputs in = w.plan.inputs();
  refuse_when_all_is_lost(in, report.read, report.damaged);
  add_statistics(report, report.read.documents - report.filtered - report.exact_removed);
  removals.settle();
  report.exact_removed = report.near_removed = 0;
  for (const RemovedDocument& r : removals.all())
    ++(r.status == kExactDuplicate ? report.exact_removed : report.near_removed);
  uint64_t largest = 0;
  for (uint64_t t = 0; t < w.plan.shards.size(); ++t) {
    write_statuses(w, t, firsts, removals, report);
    largest = std::max<uint64_t>(largest, 2 * (firsts[t + 1] - firsts[t]));
  }
  const size_t n = report.sources.size();
  report.overlap.assign(n, std::vector<uint64_t>(n));
  const SourceTable sources = segments.sources();
  std::vector<std::pair<uint32_t, uint32_t>> gone;  // survivor, document
  for (const RemovedDocument& r : removals.all()) {
    ++report.overlap[sources[r.survivor]][sources[r.document]];
    gone.emplace_back(r.survivor, r.document);
  }
  std::ranges::sort(gone);
  w.holds(largest + removals.all().size() * (sizeof(RemovedDocument) + sizeof gone[0]));
  const DedupConfig config = w.without_filters();
  const DedupJob job(in, config, w.folder, Ranks(), w.progress);
  write_cluster_files(
      job, segments, gone, [&](uint32_t d) { return removals.find(d)->status == kExactDuplicate; }, report);
  w.save_result(report);
}

}  // namespace quern::corpus
