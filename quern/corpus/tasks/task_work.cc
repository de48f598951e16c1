#include "quern/corpus/tasks/task_work.h"

#include "quern/base/error.h"
#include "quern/base/mmap.h"

namespace quern::corpus {

namespace fs = std::filesystem;

fs::path TaskWork::of(const std::string& stage, uint64_t task) const {
  return plan.work() / fmt::format("{}-{}", stage, task);
}

void TaskWork::save(const Json& result) const { write_file(folder / "result.json", result.dump()); }

void TaskWork::check_shard() const {
  for (uint64_t f = first_file(); f < end_file(); ++f) {
    const PlannedFile& file = plan.files[f];
    if (!fs::exists(file.path) || fs::file_size(file.path) != file.bytes ||
        fs::last_write_time(file.path).time_since_epoch().count() != file.modified)
      fail("{} is not there as it was planned: plan again", file.path);
  }
}

// Where a scan that has done all files before this shard's first stands.
Json TaskWork::scan_from() {
  check_shard();
  for (uint64_t f = first_file(); f < end_file(); ++f) counters.read_bytes += plan.files[f].bytes;
  BlockPosition position;
  position.file = first_file();
  if (!plan.first_rows.empty()) position.next = plan.first_rows[first_file()];
  ReadCounts nothing;
  Json j = Json::object();
  j.set("position", write_value(position)), j.set("read", write_value(nothing));
  return j;
}

Inputs TaskWork::up_to_shard() const {
  Inputs in = plan.inputs();
  in.files.resize(end_file());
  return in;
}

Inputs TaskWork::shard() const {
  Inputs in = plan.inputs();
  check_shard();
  if (config.models_text() != plan.models) fail("a model of a filter is not as it was planned: plan again");
  in.files = {in.files.begin() + static_cast<std::ptrdiff_t>(first_file()),
              in.files.begin() + static_cast<std::ptrdiff_t>(end_file())};
  return in;
}

DedupConfig TaskWork::without_filters() const {
  DedupConfig c = config;
  c.filters = {"none"}, c.lists.clear();
  return c;
}

std::vector<uint64_t> TaskWork::firsts() const {
  std::vector<uint64_t> first = {0};
  uint64_t next = 0;
  for (uint64_t t = 0; t < tasks("sketch"); ++t) {
    next += result<SketchResult>("sketch", t).at.position.next;
    if (next > RecordNumber::kEnd) fail("more than 2^40 records in one plan: divide the inputs among several");
    first.push_back(next);
  }
  return first;
}

Segments TaskWork::segments(const std::vector<uint64_t>& firsts) const {
  want_open_files(64 + 8 * plan.shards.size());
  Segments all;
  for (uint64_t t = 0; t < plan.shards.size(); ++t) all.add(Segment::look(of("sketch", t), 0), firsts[t]);
  all.arrange();
  return all;
}

}  // namespace quern::corpus
