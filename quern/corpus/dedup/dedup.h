// Exact and near-duplicate removal (MinHash LSH): read → filter, label → signature → exact duplicates → LSH bands →
// verify → cluster → write kept documents. Two passes over the input: the first writes one record per document,
// shingle sets and band keys to temporary files; the second copies the lines of kept documents. Memory: six bytes per
// record (survivor, status, source), the buffers, and the candidates: documents that share a band with another. Output
// in DIR: part-00000.jsonl.zst …, clusters.jsonl.zst. The bytes do not depend on the number of threads, on the order
// of the inputs' names, or on how often the run was killed: each pass saves its progress every checkpoint_bytes
// (run_folder.h). Ranks on a shared file system divide the work: blocks of both passes, key ranges, bands; the first
// rank clusters. A saved index (dedup_index.cc) acts as if its documents had been read first.
#pragma once
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "quern/comm/communicator.h"
#include "quern/corpus/dedup/clustering.h"
#include "quern/corpus/dedup/funnel.h"
#include "quern/corpus/io/ingest.h"
#include "quern/corpus/sketch/sketch.h"

namespace quern::corpus {

enum class Verification { none, signature, exact, containment };
inline std::vector<std::string> setting_names(Verification) { return {"none", "signature", "exact", "containment"}; }

struct DedupConfig {
  std::string preset = "zyda";
  bool near = true;  // false: exact copies only
  SketchConfig sketch;
  BandShape bands{32, 4};
  std::optional<BandChoice> band_choice;  // when they were chosen for the threshold
  Verification verify = Verification::exact;
  double threshold = 0.4;
  Clustering clustering = Clustering::star;
  Scope scope = Scope::all;
  bool collide_empty = false;  // documents without shingles are one cluster, as published; else exact copies only
  std::vector<FieldMap> fields = {FieldMap()};  // one for all sources, or one a source
  std::vector<std::string> filters = {"none"};  // by name, the same way
  std::string lists;                            // folder of word lists for them
  bool label_late = false;  // labels are looked at after survivors are chosen, as published, and not before
  // Every kept row says in this member which source it is from; empty: it does not. Not written for a single source
  // that nobody named. A row that has such a member keeps its own.
  std::string source_field = "source";
  // Likewise a member with the id by which clusters.jsonl.zst names the row; empty: none is written.
  std::string cluster_field;
  ReadPolicy read;
  int level = 3;                             // of zstd
  uint64_t shard_bytes = uint64_t{1} << 30;  // of text lines before packing
  uint64_t memory = uint64_t{512} << 20;     // for sorting bands
  uint64_t checkpoint_bytes = uint64_t{32} << 20;
  uint64_t block_bytes = uint64_t{4} << 20;  // of input in one piece of work
  std::string against, save_index;           // folders: an index that stands before the inputs; one to be written
  Json json() const;
  // The contents of the models that the filters name, for a run's identity: json() has their paths.
  std::string models_text() const;
};

std::vector<std::string> dedup_presets();  // their names: zyda, zyda2, fineweb, exact
// mode: fast (one permutation) or compat (the published arithmetic).
DedupConfig dedup_preset(const std::string& name, const std::string& mode);

struct StageReport {
  std::string name;
  uint64_t documents_in = 0, documents_out = 0, bytes_in = 0;
  double seconds = 0;
  uint64_t peak_rss = 0;  // bytes, of the process so far
  template <class V>
  void visit(V& v) {
    v("name", name), v("documents_in", documents_in), v("documents_out", documents_out), v("bytes_in", bytes_in);
    v("seconds", seconds), v("peak_rss", peak_rss);
  }
  Json json() const;
};

struct DedupReport {
  ReadCounts read;
  std::vector<std::string> damaged;
  std::vector<StageReport> stages;
  std::vector<std::string> rules, idle_rules;  // idle: without the list that they look in
  std::vector<uint64_t> rule_first, rule_any;
  uint64_t filtered = 0, unlabeled = 0, exact_removed = 0, near_removed = 0, kept = 0;
  uint64_t clusters = 0, largest = 0, candidate_pairs = 0, meetings = 0, compared = 0, passed = 0;
  uint64_t spilled = 0, bytes_out = 0;
  uint64_t own_members = 0;  // kept rows that have a member of their own named like an added one, with another value
  std::vector<uint64_t> input_hashes;  // of the files, XXH3-64; 0: not known, for this process did not read all of it
  int64_t wrongful = -1;               // removed though not like their survivor; −1: not looked at
  std::vector<std::pair<std::string, uint64_t>> outputs;  // file name, XXH3-64 of its bytes
  std::vector<SourceFunnel> sources;
  std::vector<std::vector<uint64_t>> overlap;                // [survivor's source][removed document's source]
  std::vector<std::pair<uint64_t, uint64_t>> cluster_sizes;  // size, how many; sizes ascend
  PairSample pairs;
  std::vector<ClusterSample> samples;  // of the largest clusters
  uint64_t indexed = 0;                // documents of the index that stood before the inputs
  uint64_t resumed = 0;                // times the run went on after it was cut off
  bool discarded = false;              // something else's unfinished run lay in the folder and was removed
  template <class V>
  void visit(V& v) {
    v("read", read), v("damaged", damaged), v("stages", stages), v("rules", rules), v("idle_rules", idle_rules),
        v("rule_first", rule_first);
    v("rule_any", rule_any), v("filtered", filtered), v("unlabelled", unlabeled), v("exact_removed", exact_removed);
    v("near_removed", near_removed), v("kept", kept), v("clusters", clusters), v("largest", largest);
    v("candidate_pairs", candidate_pairs), v("meetings", meetings), v("compared", compared), v("passed", passed);
    v("spilled", spilled), v("bytes_out", bytes_out), v("own_members", own_members), v("wrongful", wrongful),
        v("outputs", outputs);
    v("sources", sources), v("overlap", overlap), v("cluster_sizes", cluster_sizes), v("pairs", pairs);
    v("samples", samples), v("indexed", indexed), v("resumed", resumed);
    v("discarded", discarded);
  }
  Json json() const;
};

struct DedupProgress {
  const char* stage;
  uint64_t bytes, total_bytes, documents;
};

// finish(report): the last thing before the run is forgotten; a run cut off in it goes on from the second reading.
// ranks: all of them call this with the same arguments; progress and finish are called on the first, whose report
// counts.
DedupReport deduplicate(const Inputs& inputs, const DedupConfig& config, const std::filesystem::path& out,
                        const std::function<void(const DedupProgress&)>& progress = {},
                        const std::function<void(const DedupReport&)>& finish = {},
                        comm::Communicator* ranks = nullptr);

}  // namespace quern::corpus
