// Candidate pairs of all partitions, each once, divided among the tasks that compare them: documents that are connected
// by pairs and groups are compared by the same one, for only these can remove each other. Pairs are streamed; memory is
// held for documents that have one.
#include <algorithm>

#include "quern/base/disjoint_sets.h"
#include "quern/base/error.h"
#include "quern/corpus/tasks/candidate_pairs.h"
#include "quern/corpus/tasks/document_bits.h"
#include "quern/corpus/tasks/task_work.h"

namespace quern::corpus {
namespace {

std::vector<SpillFile> all_pairs(const TaskWork& w) {
  std::vector<SpillFile> files;
  for (uint64_t p = 0; p < w.tasks("merge"); ++p) files.push_back(SpillFile::existing(w.of("merge", p) / "pairs"));
  return files;
}

template <class F>
void all_groups(const TaskWork& w, F&& f) {
  for (uint64_t p = 0; p < w.tasks("merge"); ++p)
    for_each_large_group(SpillFile::existing(w.of("merge", p) / "groups"), f);
}

// Each pair once, in a temporary file.
SpillFile joined_pairs(const TaskWork& w) {
  SpillFile joined(w.folder);
  merge_pairs(all_pairs(w), [&](const CandidatePair& p) { joined.append(&p, sizeof p); });
  joined.flush();
  return joined;
}

// Which task compares a document.
class Components {
 public:
  Components(const TaskWork& w, const SpillFile& pairs, uint64_t documents)
      : contenders_(find_contenders(w, pairs, documents, bit_bytes_)), sets_(contenders_.size()) {
    PairReader all(pairs);
    for (CandidatePair p{}; all.next(p);) sets_.join(place(p.low), place(p.high));
    all_groups(w, [&](const std::vector<RecordNumber>& g) {
      for (size_t i = 1; i < g.size(); ++i) sets_.join(place(g[0]), place(g[i]));
    });
    divide(w.tasks("cluster"));
  }
  uint32_t task_of(uint64_t document) { return task_[sets_.root(place(document))]; }
  uint64_t bytes() const { return bit_bytes_ + contenders_.size() * (sizeof(RecordNumber) + 3 * sizeof(uint32_t)); }

 private:
  static std::vector<RecordNumber> find_contenders(const TaskWork& w, const SpillFile& pairs, uint64_t documents,
                                                   uint64_t& bit_bytes) {
    DocumentBits has(documents);
    PairReader all(pairs);
    for (CandidatePair p{}; all.next(p);) has.set(p.low), has.set(p.high);
    all_groups(w, [&](const std::vector<RecordNumber>& g) {
      for (const uint64_t d : g) has.set(d);
    });
    bit_bytes = has.bytes();
    const uint64_t n = has.count();
    if (n > UINT32_MAX)
      fail("{} documents have a candidate pair, more than 2^32: raise the threshold, or plan parts of the inputs", n);
    std::vector<RecordNumber> found;
    found.reserve(n);
    has.each([&](uint64_t d) { found.push_back(d); });
    return found;
  }
  uint32_t place(uint64_t document) const {
    return static_cast<uint32_t>(std::lower_bound(contenders_.begin(), contenders_.end(), document) -
                                 contenders_.begin());
  }
  // Components in the order of their roots, about as many documents to each task.
  void divide(uint64_t tasks) {
    task_.assign(contenders_.size(), 0);
    for (uint32_t p = 0; p < task_.size(); ++p) ++task_[sets_.root(p)];
    uint64_t before = 0;
    for (uint32_t& n : task_) {
      const uint64_t own = n;
      n = static_cast<uint32_t>(std::min(before * tasks / std::max<uint64_t>(task_.size(), 1), tasks - 1));
      before += own;
    }
  }

  uint64_t bit_bytes_ = 0;
  std::vector<RecordNumber> contenders_;
  DisjointSets sets_;
  std::vector<uint32_t> task_;  // by root
};

}  // namespace

void join_task(TaskWork& w) {
  const uint64_t documents = w.firsts().back(), tasks = w.tasks("cluster");
  want_open_files(64 + 3 * tasks + w.tasks("merge"));
  const SpillFile joined = joined_pairs(w);
  Components components(w, joined, documents);
  w.holds(components.bytes());
  std::vector<SpillFile> pairs, samples, groups;
  for (uint64_t c = 0; c < tasks; ++c) {
    pairs.push_back(SpillFile::named(w.folder / fmt::format("pairs-{}", c), 0));
    samples.push_back(SpillFile::named(w.folder / fmt::format("samples-{}", c), 0));
    groups.push_back(SpillFile::named(w.folder / fmt::format("groups-{}", c), 0));
  }
  const uint64_t n = joined.size() / sizeof(CandidatePair);
  const PairSteps steps(n);
  PairReader all(joined);
  uint64_t place = 0;
  for (CandidatePair p{}; all.next(p); ++place) {
    const uint32_t task = components.task_of(p.low);
    pairs[task].append(&p, sizeof p);
    if (place < steps.first || (place - steps.first) % steps.step != 0) continue;
    const SampledPair sample{place, p};
    samples[task].append(&sample, sizeof sample);
  }
  all_groups(w, [&](const std::vector<RecordNumber>& g) { append_group(g, groups[components.task_of(g[0])]); });
  for (auto* files : {&pairs, &samples, &groups})
    for (SpillFile& f : *files) f.flush();
  w.save_result(JoinResult{n});
}

}  // namespace quern::corpus
