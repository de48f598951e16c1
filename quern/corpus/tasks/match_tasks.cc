// A partition of the keys: exact copies of its documents, and the documents that meet in its bands.
#include <algorithm>

#include "quern/base/threads.h"
#include "quern/corpus/tasks/candidate_pairs.h"
#include "quern/corpus/tasks/document_bits.h"
#include "quern/corpus/tasks/task_work.h"

namespace quern::corpus {

void exact_task(TaskWork& w) {
  const std::vector<uint64_t> firsts = w.firsts();
  const Segments segments = w.segments(firsts);
  const KeyFiles keys = open_keys(w, 0, firsts);
  const DedupConfig config = w.without_filters();
  const Inputs in = w.plan.inputs();
  const DedupJob job(in, config, w.folder, Ranks(), w.progress);
  std::vector<ExactCopy> copies;
  find_exact_copies(job, segments, keys.slices, {}, [&](const ExactCopy& c) { copies.push_back(c); });
  std::ranges::sort(copies, {}, &ExactCopy::front);
  SpillFile file = SpillFile::named(w.folder / "copies", 0);
  file.append(copies.data(), copies.size() * sizeof(ExactCopy));
  file.flush();
  uint64_t keyed = 0;
  for (const RecordSlice& s : keys.slices) keyed += s.bytes();
  w.holds(keyed + copies.size() * sizeof(ExactCopy));
  w.save(Json::object());
}

namespace {

// Pairs in files by their lower document, so that each of them can be sorted on its own.
class PairBuckets {
 public:
  PairBuckets(const std::filesystem::path& folder, uint64_t buckets, uint64_t documents) : documents_(documents) {
    for (uint64_t b = 0; b < buckets; ++b) files_.emplace_back(folder);
  }
  void add(const std::vector<CandidatePair>& pairs) {
    for (const CandidatePair& p : pairs) files_[p.low * files_.size() / documents_].append(&p, sizeof p);
  }
  // All pairs, ascending, each once. The largest of the buckets in bytes.
  uint64_t write(const std::filesystem::path& file) {
    SpillFile out = SpillFile::named(file, 0);
    uint64_t largest = 0;
    Candidates c;
    for (SpillFile& f : files_) {
      f.flush();
      largest = std::max(largest, f.size());
      c.pairs.resize(f.size() / sizeof(CandidatePair));
      f.read(0, c.pairs.data(), f.size());
      c.compact();
      out.append(c.pairs.data(), c.pairs.size() * sizeof(CandidatePair));
    }
    out.flush();
    return largest;
  }

 private:
  uint64_t documents_;
  std::vector<SpillFile> files_;
};

DocumentBits exact_removed(const TaskWork& w, uint64_t documents) {
  DocumentBits removed(documents);
  for (uint64_t p = 0; p < w.tasks("exact"); ++p) {
    const SpillFile file = SpillFile::existing(w.of("exact", p) / "copies");
    RecordReader<ExactCopy> copies(file);
    for (ExactCopy c{}; copies.next(c);) removed.set(c.document);
  }
  return removed;
}

}  // namespace

void merge_task(TaskWork& w) {
  const std::vector<uint64_t> firsts = w.firsts();
  const uint64_t documents = firsts.back();
  const auto n = static_cast<size_t>(w.config.bands.bands);
  want_open_files(64 + n * (w.plan.shards.size() + 1) + w.tasks("merge"));
  const DocumentBits removed = exact_removed(w, documents);
  std::vector<KeyFiles> files;
  std::vector<Band> bands;
  uint64_t largest = 0;
  for (size_t b = 0; b < n; ++b) {
    bands.push_back(files.emplace_back(open_keys(w, 1 + b, firsts)).slices);
    uint64_t bytes = 0;
    for (const RecordSlice& s : bands.back()) bytes += s.bytes();
    largest = std::max(largest, bytes);
  }
  PairBuckets pairs(w.folder, w.tasks("merge"), documents);
  SpillFile groups = SpillFile::named(w.folder / "groups", 0);
  MergeResult result;
  uint64_t max_pair_bytes = 0;
  each_band_candidates(
      bands, w.config.memory, [&](uint64_t d) { return removed[d]; }, 0,
      [&](Candidates&& c) {
        result.meetings += c.meetings;
        max_pair_bytes = std::max<uint64_t>(max_pair_bytes, c.pairs.size() * sizeof(CandidatePair));
        pairs.add(c.pairs);
        for (const std::vector<RecordNumber>& g : c.groups) append_group(g, groups);
      });
  groups.flush();
  const auto threads = static_cast<uint64_t>(thread_count());
  w.holds(removed.bytes() + threads * (std::min(largest, w.config.memory / threads) + max_pair_bytes));
  w.holds(removed.bytes() + pairs.write(w.folder / "pairs"));
  w.save_result(result);
}

}  // namespace quern::corpus
