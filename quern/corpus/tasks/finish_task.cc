// The end of a plan: output files go to their names, then report and manifest. All of it may be cut off and done again:
// a file that was moved is not moved twice, and the manifest comes last. Results of tasks go when it is there.
#include <algorithm>
#include <charconv>
#include <set>

#include "quern/base/error.h"
#include "quern/base/mmap.h"
#include "quern/corpus/bytes/byte_stream.h"
#include "quern/corpus/dedup/html_report.h"
#include "quern/corpus/io/run_manifest.h"
#include "quern/corpus/stages/corpus_build.h"
#include "quern/corpus/tasks/later_plan.h"
#include "quern/corpus/tasks/removals.h"
#include "quern/corpus/tasks/task_results.h"

namespace quern::corpus {
namespace {

namespace fs = std::filesystem;

// Lines of a file of clusters, which ascend by the id of the kept document.
class ClusterLines {
 public:
  explicit ClusterLines(const fs::path& file) : in_(open_bytes(file)) {}
  bool next() {
    line_.clear();
    while (true) {
      const size_t end = buffer_.find('\n', at_);
      line_.append(buffer_, at_, end == buffer_.npos ? buffer_.npos : end + 1 - at_);
      at_ = end == buffer_.npos ? buffer_.size() : end + 1;
      if (end != buffer_.npos) break;
      buffer_.resize(size_t{1} << 16), at_ = 0;
      buffer_.resize(in_->read(buffer_.data(), buffer_.size()));
      if (buffer_.empty()) return false;
    }
    std::from_chars(line_.data() + line_.find_first_of("0123456789"), line_.data() + line_.size(), id_);
    return true;
  }
  uint64_t id() const { return id_; }
  const std::string& line() const { return line_; }

 private:
  std::unique_ptr<ByteStream> in_;
  std::string buffer_, line_;
  size_t at_ = 0;
  uint64_t id_ = 0;
};

// The lines of all tasks, as one process writes them.
void join_clusters(const TaskWork& w, const fs::path& to) {
  std::vector<ClusterLines> files;
  std::set<std::pair<uint64_t, size_t>> heads;  // id, file
  const auto read = [&](size_t file) {
    if (files[file].next()) heads.emplace(files[file].id(), file);
  };
  for (uint64_t t = 0; t < w.tasks("settle"); ++t) files.emplace_back(w.of("settle", t) / to.filename()), read(t);
  ZstdWriter out(to, w.config.level);
  while (!heads.empty()) {
    const size_t file = heads.extract(heads.begin()).value().second;
    out.write(files[file].line());
    read(file);
  }
  out.close();
}

}  // namespace

void move_part(const TaskWork& w, const fs::path& from, const OwnedFile& file) {
  const fs::path to = w.plan.base() / file.name;
  if (!fs::exists(from) && fs::exists(to)) return;
  list_file(w.plan.unfinished(), file);
  fs::rename(from, to);
}

Json counters_json(const TaskWork& w) {
  Json list = Json::array();
  for (const PlannedStage& s : w.plan.stages) {
    if (s.name == "finish" || s.name == "mixed") break;  // this one, and what follows
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

Json plan_json(const TaskWork& w) {
  Json plan = Json::object();
  plan.set("identity", w.plan.identity), plan.set("stages", counters_json(w));
  return plan;
}

void add_later_counters(const TaskWork& w) {
  const fs::path file = w.plan.build->manifest();
  Json m = Json::read(file), plan = m.at("plan"), stages = Json::array();
  const Json own = counters_json(w);
  const auto name = [](const Json& stage) { return stage.at("stage").as_string(); };
  for (const Json& stage : plan.at("stages").as_array())  // a task that was killed behind this has added them
    if (std::ranges::none_of(own.as_array(), [&](const Json& o) { return name(o) == name(stage); }))
      stages.push(stage);
  for (const Json& stage : own.as_array()) stages.push(stage);
  plan.set("stages", std::move(stages)), m.set("plan", std::move(plan));
  write_file(file, m.dump(2) + "\n");
}

void finish_task(TaskWork& w) {
  const fs::path out = w.plan.out;
  DedupReport report = whole_report(w);
  const Inputs in = w.plan.inputs();
  refuse_when_all_is_lost(in, report.read, report.damaged);
  std::vector<uint64_t> rows;
  for (uint64_t p = 0; p < w.tasks("parts"); ++p) {
    const auto parts = w.result<PartsResult>("parts", p);
    for (const auto& [name, hash] : parts.files) move_part(w, w.of("parts", p) / name, {name, true});
    rows.insert(rows.end(), parts.rows.begin(), parts.rows.end());
  }
  const fs::path clusters = out / "clusters.jsonl.zst";
  join_clusters(w, clusters);
  report.outputs.emplace_back(clusters.filename(), file_hash(clusters));
  Json m = dedup_manifest(w.plan.tool, in, w.plan.config(), report);
  m.set("plan", plan_json(w));
  CorpusRecipe recipe = w.plan.recipe;
  write_file(out / "recipe.json", write_value(recipe).dump(2) + "\n");
  if (auto later = plan_build(recipe, w.plan.config(), in)) {
    for (const SourceFunnel& s : report.sources) later->kept.push_back(s.kept);
    later->rows = std::move(rows);
    save_build(out, *later);
  }
  write_file(out / "report.html", corpus_html_report(m, report.samples));
  write_manifest(out, m, later_manifests(recipe));
  w.report = std::move(report);
}

void later_task(TaskWork& w) {
  const fs::path out = w.plan.out;
  const CorpusRecipe& recipe = w.plan.recipe;
  remove_interrupted(out, {"manifest.json", "report.html", "tokens.json"});  // what a killed process was at
  if (recipe.tokenize && !fs::exists(out / "tokens.json")) {
    PlanProgress progress(w.plan);
    const TaskPlan& plan = progress.later(LaterPart::tokens);
    TaskWork tokens{.plan = plan, .index = 0, .folder = {}, .config = w.config};
    finish_tokens_task(tokens);
  }
  end_build(recipe, out);
}

}  // namespace quern::corpus
