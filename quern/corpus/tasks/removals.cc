#include "quern/corpus/tasks/removals.h"

#include "quern/corpus/tasks/record_streams.h"

namespace quern::corpus {

// A document that stands for copies is kept, or removed as a near-duplicate of one that is kept: its copies then are
// removed for that one. Shadows share the fate of the one they stand behind.
void for_each_removed(const TaskWork& w, const std::function<void(const RemovedDocument&)>& f) {
  std::vector<SpillFile> near_files, copy_files;
  want_open_files(64 + 2 * w.tasks("exact"));
  for (uint64_t c = 0; w.plan.has_stage("cluster") && c < w.tasks("cluster"); ++c)
    near_files.push_back(SpillFile::existing(w.of("cluster", c) / "removed"));
  for (uint64_t p = 0; p < w.tasks("exact"); ++p)
    copy_files.push_back(SpillFile::existing(w.of("exact", p) / "copies"));
  MergedRecords<NearRemoved, uint64_t (*)(const NearRemoved&)> near(
      near_files, [](const NearRemoved& r) -> uint64_t { return r.document; });
  MergedRecords<ExactCopy, uint64_t (*)(const ExactCopy&)> copies(
      copy_files, [](const ExactCopy& c) -> uint64_t { return c.front; });
  NearRemoved n{};
  bool more = near.next(n);
  const auto pass = [&](uint64_t end) {
    for (; more && n.document < end; more = near.next(n)) f({n.document, n.survivor, kNearDuplicate});
  };
  for (ExactCopy c{}; copies.next(c);) {
    pass(c.front);
    const bool front_removed = more && n.document == c.front;
    if (c.status == kShadow && !front_removed) continue;
    const uint8_t status = c.status == kShadow ? uint8_t{kNearDuplicate} : c.status;
    f({c.document, front_removed ? n.survivor : c.front, status});
  }
  pass(UINT64_MAX);
}

}  // namespace quern::corpus
