// Reads a shard of the inputs: what the first pass of deduplication writes, with documents numbered from 0. Its files of
// records by key (exact, band-000 …) are then brought into the order of the partitions; the file `cuts` says where each
// begins: for every file, as many records as lie before every partition, and behind the last.
#include <utility>

#include "quern/base/error.h"
#include "quern/corpus/tasks/task_work.h"

namespace quern::corpus {
namespace {

namespace fs = std::filesystem;

std::string key_file(size_t which) { return which == 0 ? "exact" : fmt::format("band-{:03}", which - 1); }

std::vector<uint64_t> arrange_by_partition(const fs::path& file, uint64_t partitions, TaskWork& w) {
  const auto records = read_records<BandRecord>(file);
  const auto partition = [&](const BandRecord& r) {
    return static_cast<size_t>((static_cast<unsigned __int128>(r.key) * partitions) >> 64);
  };
  std::vector<uint64_t> cuts(partitions + 1);
  for (const BandRecord& r : records) ++cuts[partition(r) + 1];
  for (size_t p = 0; p < partitions; ++p) cuts[p + 1] += cuts[p];
  std::vector<BandRecord> arranged(records.size());
  std::vector<uint64_t> next(cuts.begin(), cuts.end() - 1);
  for (const BandRecord& r : records) arranged[next[partition(r)]++] = r;
  w.holds(2 * records.size() * sizeof(BandRecord));
  SpillFile out = SpillFile::named(file, records.size() * sizeof(BandRecord));
  out.write(0, arranged.data(), arranged.size() * sizeof(BandRecord));
  return cuts;
}

}  // namespace

void sketch_task(TaskWork& w) {
  const Inputs in = w.shard();
  DedupJob job(in, w.config, w.folder, Ranks(), w.progress);
  job.index.files = w.first_file();  // ids are those of the whole list of files
  SketchResult result{begin_reading(job)};
  ReadPosition& at = result.at;
  BlockReader blocks(in, w.config.read, w.config.block_bytes);
  {
    Segment own = Segment::open(w.folder, job.band_files(), nullptr);
    read_blocks(job, blocks, own, at, [] {});
    at.sizes = own.sizes();  // flushed
  }
  at.report.damaged = blocks.damaged();
  for (FileRows& f : at.report.read.files) f.file += w.first_file();
  for (BadRow& row : at.report.read.examples) row.file += w.first_file();
  SpillFile cuts = SpillFile::named(w.folder / "cuts", 0);
  for (size_t which = 0; which <= job.band_files(); ++which) {
    const std::vector<uint64_t> c = arrange_by_partition(w.folder / key_file(which), w.tasks("exact"), w);
    cuts.append(c.data(), c.size() * sizeof(uint64_t));
  }
  cuts.flush();
  w.counters.read_bytes += in.bytes();
  w.save_result(result);
}

KeyFiles open_keys(const TaskWork& w, size_t which, const std::vector<uint64_t>& firsts) {
  KeyFiles k;
  const uint64_t partitions = w.tasks("exact");
  k.files.reserve(w.plan.shards.size());
  for (uint64_t t = 0; t < w.plan.shards.size(); ++t) {
    const fs::path folder = w.of("sketch", t);
    const SpillFile cuts = SpillFile::existing(folder / "cuts");
    const uint64_t at = which * (partitions + 1) + w.index;
    k.files.push_back(SpillFile::existing(folder / key_file(which)));
    k.slices.push_back({&k.files.back(), cuts.record<uint64_t>(at), cuts.record<uint64_t>(at + 1), firsts[t]});
  }
  return k;
}

}  // namespace quern::corpus
