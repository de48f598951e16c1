// HTML report of a training run, or of several overlaid: one self-contained page, made from metrics.jsonl and
// recipe.json of each run's folder. The same files give the same bytes.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "quern/base/json.h"
#include "quern/html/html_template.h"
#include "quern/train/report/metrics.h"

namespace quern::train::report {

struct Run {
  std::string name;  // of its folder
  std::filesystem::path folder;
  RunMetrics metrics;
  Json recipe;            // null: the folder has no recipe.json
  int64_t discarded = 0;  // lines in metrics.discarded.jsonl
};

// Throws Error when the folder is not one, or its metrics cannot be read or hold no step.
Run read_run(const std::filesystem::path& folder);
// Names made different by as much of their folders as it takes.
std::vector<Run> read_runs(std::span<const std::string> folders);

struct BestEval {  // of one evaluation set
  std::string set;
  double loss = 0;
  std::optional<double> bpb;
  int64_t step = 0, tokens = 0;
};

struct Summary {
  std::string run;
  int64_t steps = 0, tokens = 0, events = 0, discarded = 0;
  double loss = 0;  // of the last steps, smoothed as drawn
  std::optional<double> bpb;
  std::vector<BestEval> best;
  double time_s = 0;
  std::optional<double> tokens_per_s, mfu;  // medians over steps
};
Json to_json(const Summary& s);
Summary summarize(const Run& run);

struct Options {
  bool log_x = false;  // how the loss charts are shown first; the page can switch
};
std::string html(std::span<const Run> runs, const Options& options = {});

// Parts of the page.
std::string facts_html(const Json& recipe);               // a card a section, a table a list of sections
std::string differences_html(std::span<const Run> runs);  // keys of the recipes that differ; "" when none do
std::string part(std::string_view fragment,
                 std::initializer_list<html::HtmlValue> values = {});  // of web/training_report.html

}  // namespace quern::train::report
