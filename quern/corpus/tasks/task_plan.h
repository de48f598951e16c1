// A corpus build divided into tasks that know of each other by files alone, so that anything that starts processes can
// run them: one machine, Slurm, Ray. A stage is some tasks of one kind; a task begins when all tasks of the stages that
// it waits for are done. N shards are ranges of the input files; N partitions are ranges of keys.
//
//   sketch N    a shard: filters, signatures; records, sets, keys of exact copies and of bands, each cut by partition
//   exact N     a partition: exact copies
//   merge N     a partition of all bands: candidate pairs
//   join 1      pairs of all partitions, each once; connected components, divided among the next
//   cluster N   some components: similarities, documents to keep
//   settle N    some of the kept documents: their clusters
//   write N     a shard: lines of its kept documents, compressed
//   parts N     some of the output files
//   finish 1    files to their names, report, manifest
//
// and where the recipe has a mixture and tokens, which stand alone as well:
//
//   count N     a shard of the kept documents: how much each source has
//   pick N      a shard: the lines that come out, by output file
//   shuffle N   some of the output files, from the lines of all shards, in their order
//   mixed 1     files to their names, manifest
//   tokenize N  a shard of the mixture, or of the kept documents
//   concat N    a range of bytes of every token file, from the shards that have it
//   later 1     token files to their names, manifest; the build's report
//
// a column of scores, which stands alone:
//
//   score N     a shard: its rows with their scores
//   concat N    a range of bytes of the file, from the shards that have it
//   finish 1    the file to its name, manifest
//
// filter, extract, annotate and decontaminate, whose documents do not depend on each other:
//
//   filter N    (or extract …) a shard: lines of its rows, compressed, and why others were removed
//   parts N, finish 1
//
// Bytes that a task of N reads, and the tables that it holds, are an N-th of what one would have; join holds 17
// bytes per document of a candidate pair. Documents are numbered over all shards, up to 2^40, and within a shard up to
// 2^32. The output has the bytes that one process gives.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "quern/corpus/run/run_folder.h"
#include "quern/corpus/scores/scores.h"
#include "quern/corpus/stages/row_stage.h"

namespace quern::corpus {

struct PlannedFile {
  std::string path, form;
  uint64_t source = 0, bytes = 0;
  int64_t modified = 0;
  std::string named;  // as the user's words have it
  template <class V>
  void visit(V& v) {
    v("path", path), v("named", named), v("form", form), v("source", source), v("bytes", bytes),
        v("modified", modified);
  }
};
struct PlannedStage {
  std::string name;
  uint64_t tasks = 1;
  std::vector<std::string> after;  // stages
  template <class V>
  void visit(V& v) {
    v("name", name), v("tasks", tasks), v("after", after);
  }
};
struct PlannedTask {
  std::string id, stage;                     // STAGE-NUMBER
  std::vector<std::string> command, after;   // after: stages
  std::vector<std::string> inputs, outputs;  // files and folders
  template <class V>
  void visit(V& v) {
    v("id", id), v("stage", stage), v("after", after), v("command", command), v("inputs", inputs);
    v("outputs", outputs);
  }
};

// A mixture that stands alone; what else decides it is in the recipe.
struct MixStage {
  std::vector<std::pair<std::string, double>> shares;
  std::string source_field;  // names the source of a row; empty: its file does
  template <class V>
  void visit(V& v) {
    v("shares", shares), v("source_field", source_field);
  }
};
// Tokens likewise.
struct TokenStage {
  std::string tokenizer;  // as the manifest has it
  template <class V>
  void visit(V& v) {
    v("tokenizer", tokenizer);
  }
};

// Scores likewise.
struct ScoreStage {
  ScoreSettings settings;  // the model by an absolute path
  template <class V>
  void visit(V& v) {
    v("settings", settings);
  }
};

struct TaskPlan {
  std::string kind, out, folder, identity, models;  // folder: relative paths of models start there
  // A stage that stands alone, whose recipe has one source for all inputs; all null: a build. `out` is the PREFIX of
  // tokens, the file of scores.
  std::optional<RowStage> rows;
  std::optional<MixStage> mix;
  std::optional<TokenStage> tokens;
  std::optional<ScoreStage> score;
  Json tool;  // name and version of the program that planned, for the manifest
  uint64_t block_bytes = 0;
  std::vector<std::string> sources;
  std::vector<PlannedFile> files;
  std::vector<uint64_t> shards;  // the first file of each
  std::vector<PlannedStage> stages;
  std::vector<PlannedTask> tasks;
  CorpusRecipe recipe;
  template <class V>
  void visit(V& v) {
    v("kind", kind), v("out", out), v("folder", folder), v("identity", identity), v("models", models);
    v("tool", tool);
    v("block_bytes", block_bytes), v("sources", sources), v("files", files), v("shards", shards);
    v("stages", stages), v("tasks", tasks), v("recipe", recipe), v("rows", rows), v("mix", mix);
    v("tokens", tokens), v("score", score);
  }
  // Of a later stage of a build (later_plan.h), which is planned when the documents that it reads lie there.
  const TaskPlan* build = nullptr;
  std::vector<uint64_t> source_ends, first_rows;  // as Inputs'; numbers of the files' first rows, or empty: from 0

  static TaskPlan load(const std::filesystem::path& file);
  void save(const std::filesystem::path& file) const;
  DedupConfig config() const;
  Inputs inputs() const;
  std::filesystem::path manifest() const;    // OUT/manifest.json, PREFIX.json or FILE.json, that ends the run
  std::filesystem::path base() const;        // the folder in which output files are made
  std::filesystem::path unfinished() const;  // the run's folder until then
  std::filesystem::path work() const;        // where results of tasks lie: OUT/unfinished/tasks
  const PlannedTask& task(const std::string& id) const;
  const PlannedStage& stage(const std::string& name) const;
  bool has_stage(const std::string& name) const;
  RunNames names() const;  // of the output folder's run
  bool is_build() const { return !rows && !mix && !tokens && !score; }
  bool shares_folder() const { return tokens || score; }  // with other runs
};

struct PlanSettings {
  std::string out;
  uint64_t tasks = 1;
  std::filesystem::path file;                // where the plan is to lie, for the commands in it
  uint64_t block_bytes = uint64_t{4} << 20;  // as DedupConfig's
  Json tool = {};                            // as TaskPlan's
  bool overwrite = false;                    // of a build: the finished run that lies in `out`
  std::string setting = "out";               // likewise: what the caller knows `out` by, for messages
};
// Throws Error for what cannot be built. Prepares `out`, where a plan of the same recipe, inputs and number of tasks goes
// on with the results that lie there, and another's are removed. There may be fewer shards than tasks asked for: a shard
// has one file at least, and as many bytes as a block.
TaskPlan plan_tasks(const CorpusRecipe& recipe, const PlanSettings& settings);
// The same for a stage that stands alone: the bytes are those of filter_corpus.
struct PlannedRows {
  const CorpusRecipe& recipe;
  const RowStage& stage;
  const Inputs& inputs;
  const FilterRun& run;  // row_stage_run's
};
TaskPlan plan_rows(const PlannedRows& rows, const PlanSettings& settings);
// A mixture and tokens that stand alone. recipe: with the fields of its one source, and [mix] or [tokenize].
TaskPlan plan_mix(const CorpusRecipe& recipe, const MixStage& stage, const Inputs& inputs,
                  const PlanSettings& settings);
TaskPlan plan_tokens(const CorpusRecipe& recipe, const TokenStage& stage, const Inputs& inputs,
                     const PlanSettings& settings);
TaskPlan plan_scores(const CorpusRecipe& recipe, const ScoreStage& stage, const Inputs& inputs,
                     const PlanSettings& settings);

// Ranges of files with about the same bytes, between places where a block ends in any case: the first file of each.
std::vector<uint64_t> divide_files(const Inputs& in, uint64_t block_bytes, uint64_t tasks);
std::vector<PlannedFile> planned_files(const Inputs& in);
std::vector<PlannedStage> mix_stages(uint64_t shards, uint64_t tasks);
std::vector<PlannedStage> token_stages(uint64_t shards, uint64_t tasks);

}  // namespace quern::corpus
