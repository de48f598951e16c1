// The end of a plan: output files go to their names, then report and manifest. All of it may be cut off and done again:
// a file that was moved is not moved twice, and the manifest comes last. Results of tasks go when it is there.
#include "quern/base/error.h"
#include "quern/base/mmap.h"
#include "quern/corpus/dedup/html_report.h"
#include "quern/corpus/io/run_manifest.h"
#include "quern/corpus/stages/corpus_build.h"
#include "quern/corpus/tasks/task_results.h"

namespace quern::corpus {
namespace {

namespace fs = std::filesystem;

void move_out(const TaskWork& w, const fs::path& from, const std::string& name, bool rows) {
  const fs::path to = fs::path(w.plan.out) / name;
  if (!fs::exists(from) && fs::exists(to)) return;
  list_file(fs::path(w.plan.out) / RunFolder::kName, {name, rows});
  fs::rename(from, to);
}

// The texts that the tasks found, each in its shard.
void add_samples(std::vector<ClusterSample>& samples, const std::vector<ClusterSample>& found) {
  const auto take = [](SampleDocument& to, const SampleDocument& from) {
    if (!from.text.empty()) to.text = from.text;
  };
  for (size_t c = 0; c < samples.size() && c < found.size(); ++c) {
    take(samples[c].survivor, found[c].survivor);
    for (size_t i = 0; i < samples[c].removed.size(); ++i) take(samples[c].removed[i], found[c].removed[i]);
  }
}

DedupReport whole_report(const TaskWork& w) {
  auto report = w.result<DedupReport>("settle", 0);
  uint64_t written = 0;
  for (uint64_t t = 0; t < w.tasks("write"); ++t) {
    const auto one = w.result<WriteResult>("write", t);
    written += one.written, report.own_members += one.own_members;
    report.input_hashes.insert(report.input_hashes.end(), one.input_hashes.begin(), one.input_hashes.end());
    add_samples(report.samples, one.samples);
  }
  for (uint64_t p = 0; p < w.tasks("parts"); ++p) {
    const auto one = w.result<PartsResult>("parts", p);
    report.bytes_out += one.bytes;
    report.outputs.insert(report.outputs.end(), one.files.begin(), one.files.end());
  }
  report.stages.push_back({.name = "write", .documents_in = report.kept, .documents_out = written});
  report.stages.back().bytes_in = w.plan.inputs().bytes();
  return report;
}

// Counters of all tasks, by stage: sums of seconds and bytes, and the most that one task read and held.
Json counters_json(const TaskWork& w) {
  Json list = Json::array();
  for (const PlannedStage& s : w.plan.stages) {
    if (s.name == "finish" || s.name == "later") continue;
    TaskCounters sum, most;
    for (uint64_t t = 0; t < s.tasks; ++t) {
      TaskCounters one;
      read_state(Json::read(w.of(s.name, t) / "counters.json"), one);
      sum.read_bytes += one.read_bytes, sum.seconds += one.seconds;
      most.read_bytes = std::max(most.read_bytes, one.read_bytes);
      most.table_bytes = std::max(most.table_bytes, one.table_bytes);
      most.peak_rss = std::max(most.peak_rss, one.peak_rss);
    }
    Json j = Json::object();
    j.set("stage", s.name), j.set("tasks", static_cast<int64_t>(s.tasks)), j.set("seconds", sum.seconds);
    j.set("read_bytes", static_cast<int64_t>(sum.read_bytes));
    j.set("max_read_bytes", static_cast<int64_t>(most.read_bytes));
    j.set("max_table_bytes", static_cast<int64_t>(most.table_bytes));
    j.set("max_peak_rss", static_cast<int64_t>(most.peak_rss));
    list.push(std::move(j));
  }
  return list;
}

}  // namespace

void finish_task(TaskWork& w) {
  const fs::path out = w.plan.out, work = out / RunFolder::kName;
  DedupReport report = whole_report(w);
  const fs::path clusters = w.of("settle", 0) / "clusters.jsonl.zst";
  report.outputs.emplace_back(clusters.filename(),
                              file_hash(fs::exists(clusters) ? clusters : out / clusters.filename()));
  for (uint64_t p = 0; p < w.tasks("parts"); ++p)
    for (const auto& [name, hash] : w.result<PartsResult>("parts", p).files)
      move_out(w, w.of("parts", p) / name, name, true);
  move_out(w, clusters, clusters.filename(), false);
  const Inputs in = w.plan.inputs();
  Json m = dedup_manifest(w.plan.tool, in, w.plan.config(), report);
  Json plan = Json::object();
  plan.set("identity", w.plan.identity), plan.set("stages", counters_json(w));
  m.set("plan", std::move(plan));
  CorpusRecipe recipe = w.plan.recipe;
  write_file(out / "recipe.json", write_value(recipe).dump(2) + "\n");
  if (auto later = plan_build(recipe, w.plan.config(), in)) {
    for (const SourceFunnel& s : report.sources) later->kept.push_back(s.kept);
    save_build(out, *later);
  }
  write_file(out / "report.html", corpus_html_report(m, report.samples));
  write_manifest(out, m, later_manifests(recipe));
}

void later_task(TaskWork& w) {
  const fs::path out = w.plan.out;
  CorpusRecipe recipe = w.plan.recipe;
  const auto planned = plan_build(recipe, w.plan.config(), w.plan.inputs());
  const auto saved = saved_build(out, planned->identity);
  if (!saved) fail("{} does not hold this plan's build, or an input changed: plan again", out.string());
  run_later_stages(recipe, *saved, out);
}

}  // namespace quern::corpus
