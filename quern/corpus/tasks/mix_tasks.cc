// A mixture as tasks. How often a source is read follows from the counts of all shards, and a document's place from its id:
// so a task that has read its shard knows the output file of every line, and one that has the lines of a file from all
// shards knows their order.
#include "quern/base/error.h"
#include "quern/comm/communicator.h"
#include "quern/corpus/bytes/byte_stream.h"
#include "quern/corpus/io/spill.h"
#include "quern/corpus/run/shards.h"
#include "quern/corpus/tasks/later_plan.h"
#include "quern/corpus/tasks/task_results.h"

namespace quern::corpus {
namespace {

namespace fs = std::filesystem;

struct CountResult {
  std::vector<MixedSource> sources;
  ReadCounts read;
  std::vector<std::string> damaged;
  template <class V>
  void visit(V& v) {
    v("sources", sources), v("read", read), v("damaged", damaged);
  }
};
struct PickResult {
  std::vector<MixedSource> sources;
  std::vector<uint64_t> sizes;  // bytes of lines, by output file
  template <class V>
  void visit(V& v) {
    v("sources", sources), v("sizes", sizes);
  }
};

std::string lines_name(uint64_t file) { return fmt::format("lines-{:03}", file); }

// What all shards have, and how often each source is read.
struct Mixture {
  MixReport report;
  size_t files;
};
Mixture whole_mixture(const TaskWork& w, const MixJob& job) {
  MixReport all;
  all.sources = sources_by_share(job.inputs, job.config);
  for (uint64_t t = 0; t < w.tasks("count"); ++t) {
    auto one = w.result<CountResult>("count", t);
    for (size_t s = 0; s < all.sources.size(); ++s)
      all.sources[s].documents_in += one.sources[s].documents_in, all.sources[s].bytes_in += one.sources[s].bytes_in;
    all.scan.read.add(one.read);
    all.scan.damaged.insert(all.scan.damaged.end(), one.damaged.begin(), one.damaged.end());
  }
  refuse_when_all_is_lost(job.inputs, all.scan.read, all.scan.damaged);
  const size_t files = plan_mixture(job.config, all.sources);
  return {std::move(all), files};
}

}  // namespace

void count_task(TaskWork& w) {
  const MixJob job = mix_job(w.plan);
  const Json from = w.scan_from();
  CountResult result;
  result.sources = sources_by_share(job.inputs, job.config);
  ScanReport scan = count_sources(w.up_to_shard(), job.scan, result.sources, part_of_scan(from));
  result.read = std::move(scan.read), result.damaged = std::move(scan.damaged);
  w.save_result(result);
}

void pick_task(TaskWork& w) {
  const MixJob job = mix_job(w.plan);
  const Json from = w.scan_from();
  Mixture mixture = whole_mixture(w, job);
  PickResult result;
  result.sources = std::move(mixture.report.sources);
  want_open_files(mixture.files + 64);
  std::vector<SpillFile> lines;
  for (uint64_t f = 0; f < mixture.files; ++f) lines.push_back(SpillFile::named(w.folder / lines_name(f), 0));
  pick_documents(w.up_to_shard(), job.scan, {job.config, result.sources, lines}, part_of_scan(from));
  for (SpillFile& f : lines) f.flush(), result.sizes.push_back(f.size());
  w.save_result(result);
}

namespace {

std::vector<uint64_t> bytes_by_file(const TaskWork& w) {
  std::vector<uint64_t> all;
  for (uint64_t t = 0; t < w.tasks("pick"); ++t) {
    const auto one = w.result<PickResult>("pick", t);
    all.resize(one.sizes.size());
    for (size_t f = 0; f < all.size(); ++f) all[f] += one.sizes[f];
  }
  return all;
}

}  // namespace

// Files without a line are none, and the others are numbered without them; the first of no files at all is empty.
void shuffle_task(TaskWork& w) {
  const MixJob job = mix_job(w.plan);
  const std::vector<uint64_t> bytes = bytes_by_file(w);
  const comm::Range own = comm::even_range(static_cast<int64_t>(bytes.size()), static_cast<int>(w.tasks("shuffle")),
                                           static_cast<int>(w.index));
  std::vector<uint64_t> files;
  uint64_t before = 0, all = 0;
  for (uint64_t f = 0; f < bytes.size(); ++f) {
    if (bytes[f] == 0) continue;
    ++all, before += static_cast<int64_t>(f) < own.begin;
    if (static_cast<int64_t>(f) >= own.begin && static_cast<int64_t>(f) < own.end) files.push_back(f);
  }
  PartsResult result;
  if (files.empty() && (all > 0 || w.index > 0)) return w.save_result(result);
  want_open_files(w.tasks("pick") + 64);
  ShardWriter shards(w.folder, "part", job.config.to.level, 0, {.begun = before});  // every frame a file
  for (uint64_t f : files) {
    std::vector<SpillFile> lines;
    for (uint64_t t = 0; t < w.tasks("pick"); ++t)
      lines.push_back(SpillFile::existing(w.of("pick", t) / lines_name(f)));
    std::string frame;
    const std::string text = shuffled_lines(lines);
    w.holds(text.size());
    zstd_frame(text, job.config.to.level, frame);
    shards.write_frame(frame, text.size());
  }
  shards.close();
  result.bytes = shards.bytes_out();
  for (size_t i = before; i < shards.names().size(); ++i) result.files.emplace_back(shards.names()[i], 0);
  w.save_result(result);
}

void finish_mix_task(TaskWork& w) {
  const MixJob job = mix_job(w.plan);
  MixReport r = whole_mixture(w, job).report;
  for (uint64_t t = 0; t < w.tasks("pick"); ++t) {
    const auto one = w.result<PickResult>("pick", t);
    for (size_t s = 0; s < r.sources.size(); ++s)
      r.sources[s].documents_out += one.sources[s].documents_out, r.sources[s].bytes_out += one.sources[s].bytes_out,
          r.sources[s].own_members += one.sources[s].own_members;
  }
  r.add_up();
  for (uint64_t t = 0; t < w.tasks("shuffle"); ++t) {
    const auto one = w.result<PartsResult>("shuffle", t);
    r.bytes_out += one.bytes;
    for (const auto& [name, none] : one.files) {
      move_part(w, w.of("shuffle", t) / name, {name, true});
      r.files.push_back(name);
    }
  }
  Json m;
  if (w.plan.build) {
    m = mix_json(w.plan.recipe, r);
    add_later_counters(w);
  } else {
    m = mix_stage_json(w.plan.recipe.mix->seed, w.plan.inputs(), r);
    m.set("plan", plan_json(w));
  }
  write_manifest(w.plan.out, m);
  w.mix = std::move(r);
}

}  // namespace quern::corpus
