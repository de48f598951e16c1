// filter, extract, annotate and decontaminate as tasks. A shard is read as a scan of all files would go on there, so that ids and frames
// are those of one process; rows of removed documents are counted from the shard's first, and shifted at the end by what the
// shards before hold.
#include <charconv>
#include <fstream>

#include "quern/base/error.h"
#include "quern/corpus/run/shards.h"
#include "quern/corpus/tasks/task_results.h"

namespace quern::corpus {
namespace {

namespace fs = std::filesystem;

constexpr const char *kReasons = "reasons", *kReasonsName = "reasons.jsonl";

FrameFiles frame_files(const TaskWork& w, const StageFrames& to) {
  return {SpillFile::named(w.folder / to.frames, 0), SpillFile::named(w.folder / to.table, 0)};
}

}  // namespace

void rows_task(TaskWork& w) {
  const RowStage& stage = *w.plan.rows;
  const Json from = w.scan_from();
  const Inputs in = w.plan.inputs();
  RowStageRun loaded = row_stage_run(w.plan.recipe, stage, in);
  FilterRun& run = loaded.run;
  run.scan.block_bytes = w.plan.block_bytes;
  if (run.what != w.plan.models) fail("a model, a side file or a benchmark is not as it was planned: plan again");
  FrameFiles kept = frame_files(w, kept_frames(stage.verb)), rejected = frame_files(w, rejected_frames(stage.verb));
  SpillFile reasons = SpillFile::named(w.folder / kReasons, 0);
  const auto put = [](FrameFiles& to) {
    return [&to](std::string_view frame, uint64_t unpacked) { to.put({.bytes = frame, .unpacked = unpacked}); };
  };
  RowsResult result;
  result.settings = loaded.settings;
  result.report = empty_filter_report(run);
  filter_frames(w.up_to_shard(), run, result.report,
                {.kept = put(kept),
                 .rejected = put(rejected),
                 .reasons = [&](std::string_view lines) { reasons.append(lines.data(), lines.size()); }},
                part_of_scan(from));
  for (FrameFiles* f : {&kept, &rejected}) f->frames.flush(), f->table.flush();
  reasons.flush();
  result.rules = result.report.rules, result.idle_rules = result.report.idle_rules;
  result.read = std::move(result.report.scan.read), result.damaged = std::move(result.report.scan.damaged);
  w.save_result(result);
}

namespace {

FilterReport whole_report(const TaskWork& w, std::vector<uint64_t>& firsts) {
  FilterReport all;
  for (uint64_t t = 0; t < w.plan.shards.size(); ++t) {
    const auto one = w.result<RowsResult>(w.plan.rows->verb, t);
    if (t == 0) all.rules = one.rules, all.idle_rules = one.idle_rules;
    all.rule_first.resize(all.rules.size()), all.rule_any.resize(all.rules.size());
    firsts.push_back(all.scan.read.rows);
    add_counts(one.report, all);
    all.scan.read.add(one.read);
    all.scan.damaged.insert(all.scan.damaged.end(), one.damaged.begin(), one.damaged.end());
  }
  for (uint64_t p = 0; p < w.tasks("parts"); ++p) all.bytes_out += w.result<PartsResult>("parts", p).bytes;
  return all;
}

// {"row":12,… as a row of all inputs.
void write_reasons(const TaskWork& w, const std::vector<uint64_t>& firsts) {
  constexpr std::string_view kBegin = "{\"row\":";
  if (fs::exists(fs::path(w.plan.out) / kReasonsName)) return;  // it was moved there, whole
  const fs::path file = w.plan.work() / kReasonsName;
  std::ofstream out(file, std::ios::trunc);
  for (uint64_t t = 0; t < w.plan.shards.size(); ++t) {
    std::ifstream in(w.of(w.plan.rows->verb, t) / kReasons);
    for (std::string line; std::getline(in, line);) {
      uint64_t row = 0;
      const auto number = std::from_chars(line.data() + kBegin.size(), line.data() + line.size(), row);
      if (!line.starts_with(kBegin) || number.ec != std::errc())
        fail("{}: not as the task wrote it: '{}'", (w.of(w.plan.rows->verb, t) / kReasons).string(), line);
      out << kBegin << row + firsts[t]
          << std::string_view(number.ptr, static_cast<size_t>(line.data() + line.size() - number.ptr)) << '\n';
    }
  }
  out.close();
  if (!out) fail("cannot write {}", file.string());
  move_part(w, file, {kReasonsName});
}

}  // namespace

void finish_rows_task(TaskWork& w) {
  const Inputs in = w.plan.inputs();
  std::vector<uint64_t> firsts;
  FilterReport all = whole_report(w, firsts);
  refuse_when_all_is_lost(in, all.scan.read, all.scan.damaged);
  for (uint64_t p = 0; p < w.tasks("parts"); ++p)
    for (const auto& [name, none] : w.result<PartsResult>("parts", p).files)
      move_part(w, w.of("parts", p) / name, {name, name.starts_with(kept_frames("").part)});
  if (w.plan.rows->reasons) write_reasons(w, firsts);
  Json m = row_stage_json(w.result<RowsResult>(w.plan.rows->verb, 0).settings, in, all);
  m.set("plan", plan_json(w));
  write_manifest(w.plan.out, m);
  w.rows = std::move(all);
}

}  // namespace quern::corpus
