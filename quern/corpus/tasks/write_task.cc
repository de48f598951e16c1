// Lines of the kept documents: a shard of the inputs as compressed frames, and then frames of all shards as output files.
// Which frames a file holds follows from their sizes alone, so that every task knows it.
#include <algorithm>

#include "quern/base/error.h"
#include "quern/comm/communicator.h"
#include "quern/corpus/run/shards.h"
#include "quern/corpus/tasks/removals.h"
#include "quern/corpus/tasks/task_results.h"

namespace quern::corpus {

namespace {

constexpr const char* kFrameRows = "frame-rows";

// A byte per document of the shard, with what was decided, and its documents by source.
std::vector<uint8_t> decided_statuses(const TaskWork& w, uint64_t begin, std::vector<SourceFunnel>& by_source) {
  auto statuses = read_records<uint8_t>(w.of("sketch", w.index) / "fates");
  for_each_removed(w, [&](const RemovedDocument& r) {
    if (r.document < begin || r.document - begin >= statuses.size()) return;
    uint8_t& s = statuses[r.document - begin];
    s = static_cast<uint8_t>((s & kMarks) | r.status);
  });
  const auto sources = read_records<uint8_t>(w.of("sketch", w.index) / "sources");
  for (size_t i = 0; i < statuses.size(); ++i) {
    const int status = status_of(statuses[i]);
    SourceFunnel& f = by_source[sources[i]];
    const bool stays = status == kKept, late = stays && (statuses[i] & kUnlabeled);
    f.kept += stays && !late, f.unlabeled += late;
    f.exact_removed += status == kExactDuplicate, f.near_removed += status == kNearDuplicate;
  }
  return statuses;
}

}  // namespace

void write_task(TaskWork& w) {
  const Inputs in = w.shard();
  const std::vector<uint64_t> firsts = w.firsts();
  DedupJob job(in, w.config, w.folder, Ranks(), w.progress);
  job.index.files = w.first_file(), job.index.documents = firsts[w.index];
  DedupDecisions decisions;
  decisions.first = firsts[w.index];
  WriteResult result;
  result.sources.resize(w.plan.sources.size());
  decisions.statuses = decided_statuses(w, decisions.first, result.sources);
  WritePosition at;
  at.report.samples = largest_clusters(w);
  FrameFiles files{SpillFile::named(w.folder / "frames", 0), SpillFile::named(w.folder / "frame-table", 0)};
  SpillFile before = SpillFile::named(w.folder / kFrameRows, 0);  // documents of the shard before each frame, and all
  const auto count = [&] { before.append(&at.written, sizeof at.written); };
  write_blocks(job, decisions, {.put = [&](const WrittenFrame& f) { count(), files.put(f); }}, at);
  count();
  files.frames.flush(), files.table.flush(), before.flush();
  w.holds(2 * decisions.statuses.size());
  w.counters.read_bytes += in.bytes();
  result.written = at.written, result.own_members = at.report.own_members;
  result.input_hashes = at.report.input_hashes, result.samples = at.report.samples;
  w.save_result(result);
}

namespace {

struct PlacedFrame {
  uint64_t shard, at, packed, unpacked, number;
};

// Frames by the output file that they belong to, as ShardWriter would fill them one after the other.
std::vector<std::vector<PlacedFrame>> files_of_frames(const TaskWork& w, const StageFrames& from) {
  std::vector<std::vector<PlacedFrame>> files;
  uint64_t filled = 0;
  for (uint64_t t = 0; t < w.plan.shards.size(); ++t) {
    uint64_t at = 0, number = 0;
    for (const FrameRecord& f : read_records<FrameRecord>(w.of(from.stage, t) / from.table)) {
      const uint64_t own = number++;
      if (f.packed == 0) continue;
      if (files.empty() || filled + f.unpacked > w.config.shard_bytes) files.emplace_back(), filled = 0;
      files.back().push_back({t, at, f.packed, f.unpacked, own});
      filled += f.unpacked, at += f.packed;
    }
  }
  return files;
}

// Documents of an output file.
uint64_t count_rows(const TaskWork& w, const std::vector<PlacedFrame>& frames) {
  uint64_t rows = 0;
  for (const PlacedFrame& f : frames) {
    const SpillFile before = SpillFile::existing(w.of("write", f.shard) / kFrameRows);
    rows += before.record<uint64_t>(f.number + 1) - before.record<uint64_t>(f.number);
  }
  return rows;
}

// This task's share of the output files; returns their names, and adds their bytes.
std::vector<std::string> write_parts(TaskWork& w, const StageFrames& from, PartsResult& result) {
  const std::vector<std::vector<PlacedFrame>> files = files_of_frames(w, from);
  uint64_t frames = 0;
  for (const auto& f : files) frames += f.size();
  w.holds(frames * sizeof(PlacedFrame));
  const comm::Range own = comm::even_range(static_cast<int64_t>(files.size()), static_cast<int>(w.tasks("parts")),
                                           static_cast<int>(w.index));
  if (own.begin >= own.end && !(files.empty() && w.index == 0)) return {};
  const auto first = static_cast<uint64_t>(own.begin);
  ShardWriter shards(w.folder, from.part, w.config.level, w.config.shard_bytes, {.begun = first});
  std::string frame;
  if (w.plan.is_build() && files.empty()) result.rows = {0};
  for (int64_t k = own.begin; k < own.end; ++k) {
    if (w.plan.is_build()) result.rows.push_back(count_rows(w, files[static_cast<size_t>(k)]));
    for (const PlacedFrame& f : files[static_cast<size_t>(k)]) {
      frame.resize(f.packed);
      SpillFile::existing(w.of(from.stage, f.shard) / from.frames).read(f.at, frame.data(), frame.size());
      shards.write_frame(frame, f.unpacked);
    }
  }
  shards.close();
  result.bytes += shards.bytes_out();
  return {shards.names().begin() + own.begin, shards.names().end()};
}

}  // namespace

void parts_task(TaskWork& w) {
  PartsResult result;
  if (w.plan.rows) {
    for (const std::string& name : write_parts(w, kept_frames(w.plan.rows->verb), result))
      result.files.emplace_back(name, 0);
    PartsResult rejected;  // whose bytes do not count
    if (w.plan.rows->rejects)
      for (const std::string& name : write_parts(w, rejected_frames(w.plan.rows->verb), rejected))
        result.files.emplace_back(name, 0);
  } else {
    for (const std::string& name : write_parts(w, kept_frames("write"), result))
      result.files.emplace_back(name, file_hash(w.folder / name));
    w.counters.read_bytes += result.bytes;  // their hashes
  }
  w.save_result(result);
}

}  // namespace quern::corpus
