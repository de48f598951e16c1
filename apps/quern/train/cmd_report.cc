// quern report: HTML report of a training run, or of several overlaid.
#include <cstdio>

#include "apps/quern/cli/args.h"
#include "apps/quern/cli/verbs.h"
#include "quern/base/mmap.h"
#include "quern/train/report/report.h"

namespace quern::cli {

int cmd_report(Words args) {
  std::string run, out;
  std::vector<std::string> others, rest;
  train::report::Options options;
  bool json = false;
  Args a("report", "write the HTML report of a training run");
  a.positional("RUN", run)
      .rest("RUN2", rest)
      .flag("--out FILE", out, "output HTML file [RUN/report.html]")
      .flag("--compare RUN", others, "another run to plot in the same charts; repeatable")
      .flag("--log-x", options.log_x, "start with a logarithmic x axis; the page can switch")
      .json(json, "the summaries of the runs as JSON instead of writing a page")
      .note("RUN is the folder of quern train --out. The page needs no other file and no network.");
  if (!a.parse(args)) return 0;
  if (json && !out.empty())
    throw UsageError("quern report: give only one of --json, which prints, and --out, which writes a page");
  std::vector<std::string> folders{run};
  folders.insert(folders.end(), others.begin(), others.end());
  folders.insert(folders.end(), rest.begin(), rest.end());
  const std::vector<train::report::Run> runs = train::report::read_runs(folders);
  if (json) {
    Json list = Json::array();
    for (const train::report::Run& r : runs) list.push(train::report::to_json(train::report::summarize(r)));
    fmt::print("{}\n", list.dump(2));
    return 0;
  }
  const std::filesystem::path file = out.empty() ? runs[0].folder / "report.html" : std::filesystem::path(out);
  write_file(file, train::report::html(runs, options));
  fmt::print("{}\n", file.string());
  return 0;
}

}  // namespace quern::cli
