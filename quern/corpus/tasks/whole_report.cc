// The report of a plan, added up from the results of its tasks.
#include <algorithm>
#include <map>

#include "quern/corpus/tasks/candidate_pairs.h"
#include "quern/corpus/tasks/removals.h"
#include "quern/corpus/tasks/task_results.h"

namespace quern::corpus {
namespace {

void add_shards(const TaskWork& w, DedupReport& all) {
  for (uint64_t t = 0; t < w.tasks("sketch"); ++t) {
    DedupReport one = w.result<SketchResult>("sketch", t).at.report;
    if (t == 0) {
      all = std::move(one);
      continue;
    }
    all.read.add(one.read);
    all.damaged.insert(all.damaged.end(), one.damaged.begin(), one.damaged.end());
    for (size_t s = 0; s < all.sources.size(); ++s) all.sources[s].add(one.sources[s]);
    all.spilled += one.spilled;
  }
  count_filtered(all);
}

void add_pairs(const TaskWork& w, DedupReport& all) {
  for (uint64_t p = 0; p < w.tasks("merge"); ++p) all.meetings += w.result<MergeResult>("merge", p).meetings;
  all.candidate_pairs = w.result<JoinResult>("join", 0).pairs;
  uint64_t wrongful = 0;
  for (uint64_t c = 0; c < w.tasks("cluster"); ++c) {
    const auto one = w.result<ClusterResult>("cluster", c);
    all.compared += one.compared, all.passed += one.passed, wrongful += one.wrongful;
  }
  if (w.config.verify != Verification::exact && w.config.verify != Verification::containment) return;
  all.wrongful = static_cast<int64_t>(wrongful);
  all.pairs.met = all.candidate_pairs;
  std::vector<SampledSimilarity> samples;
  for (uint64_t c = 0; c < w.tasks("cluster"); ++c)
    for (const SampledSimilarity& s : read_records<SampledSimilarity>(w.of("cluster", c) / "samples"))
      samples.push_back(s);
  std::ranges::sort(samples, {}, &SampledSimilarity::place);  // sums depend on their order
  for (const SampledSimilarity& s : samples)
    all.pairs.add({.similarity = s.similarity, .both_survive = s.both_survive != 0}, w.config.threshold,
                  w.config.bands);
}

void add_clusters(const TaskWork& w, DedupReport& all) {
  std::map<uint64_t, uint64_t> sizes;
  const size_t n = all.sources.size();
  all.overlap.assign(n, std::vector<uint64_t>(n));
  for (uint64_t t = 0; t < w.tasks("settle"); ++t) {
    const auto one = w.result<SettleResult>("settle", t);
    all.clusters += one.clusters, all.largest = std::max(all.largest, one.largest);
    for (const auto& [size, count] : one.sizes) sizes[size] += count;
    for (size_t a = 0; a < n; ++a)
      for (size_t b = 0; b < n; ++b) all.overlap[a][b] += one.overlap[a][b];
  }
  all.cluster_sizes.assign(sizes.begin(), sizes.end());
  all.samples = largest_clusters(w);
}

// Texts that were found, each in one shard.
void add_texts(std::vector<ClusterSample>& samples, const std::vector<ClusterSample>& found) {
  const auto take = [](SampleDocument& to, const SampleDocument& from) {
    if (!from.text.empty()) to.text = from.text;
  };
  for (size_t c = 0; c < samples.size(); ++c) {
    take(samples[c].survivor, found[c].survivor);
    for (size_t i = 0; i < samples[c].removed.size(); ++i) take(samples[c].removed[i], found[c].removed[i]);
  }
}

uint64_t add_written(const TaskWork& w, DedupReport& all) {
  uint64_t written = 0;
  for (uint64_t t = 0; t < w.tasks("write"); ++t) {
    const auto one = w.result<WriteResult>("write", t);
    written += one.written, all.own_members += one.own_members;
    all.input_hashes.insert(all.input_hashes.end(), one.input_hashes.begin(), one.input_hashes.end());
    add_texts(all.samples, one.samples);
    for (size_t s = 0; s < all.sources.size(); ++s) {
      SourceFunnel& f = all.sources[s];
      const SourceFunnel& o = one.sources[s];
      f.kept += o.kept, f.unlabeled += o.unlabeled;
      f.exact_removed += o.exact_removed, f.near_removed += o.near_removed;
      all.kept += o.kept, all.unlabeled += o.unlabeled;
      all.exact_removed += o.exact_removed, all.near_removed += o.near_removed;
    }
  }
  for (uint64_t p = 0; p < w.tasks("parts"); ++p) {
    const auto one = w.result<PartsResult>("parts", p);
    all.bytes_out += one.bytes;
    all.outputs.insert(all.outputs.end(), one.files.begin(), one.files.end());
  }
  return written;
}

}  // namespace

// As a run of one process chooses them: the earlier survivor first among equals.
std::vector<ClusterSample> largest_clusters(const TaskWork& w) {
  std::vector<ClusterSample> all;
  for (uint64_t t = 0; t < w.tasks("settle"); ++t)
    for (ClusterSample& s : w.result<SettleResult>("settle", t).samples) all.push_back(std::move(s));
  std::ranges::sort(all, [](const ClusterSample& a, const ClusterSample& b) {
    return a.size != b.size ? a.size > b.size : a.survivor.number < b.survivor.number;
  });
  all.resize(std::min(all.size(), kSampleClusters));
  return all;
}

DedupReport whole_report(const TaskWork& w) {
  DedupReport all;
  add_shards(w, all);
  if (w.plan.has_stage("cluster")) add_pairs(w, all);
  add_clusters(w, all);
  const uint64_t written = add_written(w, all), passed = all.read.documents - all.filtered;
  const uint64_t distinct = passed - all.exact_removed;
  const auto stage = [&](const char* name, uint64_t in, uint64_t out, uint64_t bytes) {
    all.stages.push_back({.name = name, .documents_in = in, .documents_out = out, .bytes_in = bytes});
  };
  stage("read", all.read.documents, passed, all.read.text_bytes);
  stage("exact", passed, distinct, 0);
  if (w.plan.has_stage("cluster")) stage("elect", distinct, distinct - all.near_removed, 0);
  stage("write", all.kept, written, w.plan.inputs().bytes());
  return all;
}

}  // namespace quern::corpus
