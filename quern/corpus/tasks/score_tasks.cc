// Scores as tasks: a shard's rows as their file will have them, then every task copies a range of bytes of that file
// from the shards that lie there.
#include "quern/base/error.h"
#include "quern/base/mmap.h"
#include "quern/corpus/run/shards.h"
#include "quern/corpus/tasks/joined_file.h"
#include "quern/corpus/tasks/task_results.h"

namespace quern::corpus {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLines = "lines";

struct ScoreResult {
  uint64_t documents = 0, truncated = 0, max_tokens = 0, own_members = 0;
  ReadCounts read;
  std::vector<std::string> damaged;
  template <class V>
  void visit(V& v) {
    v("documents", documents), v("truncated", truncated), v("max_tokens", max_tokens), v("read", read);
    v("own_members", own_members);
    v("damaged", damaged);
  }
};

// Where all tasks write, until the last one gives it its name.
fs::path whole_file(const TaskWork& w) { return w.plan.work() / "whole"; }

}  // namespace

void score_task(TaskWork& w) {
  const ScoreStage& stage = *w.plan.score;
  if (score_model_hash(stage.settings.model) != w.plan.models) fail("the model is not as it was planned: plan again");
  const Json from = w.scan_from();
  ScanOptions scan = row_scan(w.plan.recipe);
  scan.block_bytes = w.plan.block_bytes;
  const DocumentScorer scorer(load_classifier(stage.settings), stage.settings);
  SpillFile lines = SpillFile::named(w.folder / kLines, 0);
  ScoreReport r = scorer.score(
      w.up_to_shard(), scan, [&](std::string_view rows) { lines.append(rows.data(), rows.size()); },
      part_of_scan(from));
  lines.flush();
  ScoreResult result{.documents = r.documents,
                     .truncated = r.truncated,
                     .max_tokens = r.max_tokens,
                     .own_members = r.own_members,
                     .read = std::move(r.scan.read),
                     .damaged = std::move(r.scan.damaged)};
  w.save_result(result);
}

void concat_scores_task(TaskWork& w) {
  JoinedFiles rows;
  want_open_files(w.tasks("score") + 64);
  for (uint64_t t = 0; t < w.tasks("score"); ++t) rows.add(w.of("score", t) / kLines);
  write_range(whole_file(w), joined_range(rows.size(), w.tasks("concat"), w.index),
              [&](uint64_t at, char* to, size_t n) { rows.read(at, to, n); });
  w.save(Json::object());
}

void finish_scores_task(TaskWork& w) {
  ScoreReport all;
  for (uint64_t t = 0; t < w.tasks("score"); ++t) {
    const auto one = w.result<ScoreResult>("score", t);
    all.documents += one.documents, all.truncated += one.truncated, all.max_tokens = one.max_tokens;
    all.own_members += one.own_members;
    all.scan.read.add(one.read);
    all.scan.damaged.insert(all.scan.damaged.end(), one.damaged.begin(), one.damaged.end());
  }
  const Inputs in = w.plan.inputs();
  refuse_when_all_is_lost(in, all.scan.read, all.scan.damaged);
  move_part(w, whole_file(w), {fs::path(w.plan.out).filename().string()});
  Json m = Json::object();
  ScoreSettings settings = w.plan.score->settings;
  m.set("stage", "score"), m.set("settings", write_value(settings));
  m.set("documents", static_cast<int64_t>(all.documents)), m.set("truncated", static_cast<int64_t>(all.truncated));
  m.set("own_members", static_cast<int64_t>(all.own_members));
  m.set("inputs", inputs_json(in, all.scan.read)), m.set("plan", plan_json(w));
  write_file(w.plan.manifest(), with_files(m, w.plan.unfinished()).dump(2) + "\n");
  w.score = std::move(all);
}

}  // namespace quern::corpus
