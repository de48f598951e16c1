// quern report: the page of a training run, or of several over each other.
#include <cstdio>

#include "apps/quern/cli/args.h"
#include "apps/quern/cli/verbs.h"
#include "quern/base/mmap.h"
#include "quern/train/report/report.h"

namespace quern {

int cmd_report(Words args) {
  std::string run, out;
  std::vector<std::string> others, rest;
  report::Options options;
  bool json = false;
  Args a("report", "draw a training run as one HTML page");
  a.positional("RUN", run)
      .rest("RUN2", rest)
      .flag("--out", out, "file to write; without it RUN/report.html")
      .flag("--compare", others, "another run to lay over it; may be given again and again")
      .flag("--log-x", options.log_x, "show the loss over a logarithmic axis first; the page can switch")
      .flag("--json", json, "the runs' summaries as JSON instead of a page")
      .note("RUN is the folder of quern train --out. The page needs no other file and no network.");
  if (!a.parse(args)) return 0;
  if (json && !out.empty()) throw UsageError("quern report: --json writes to stdout, --out names a page; choose one");
  std::vector<std::string> folders{run};
  folders.insert(folders.end(), others.begin(), others.end());
  folders.insert(folders.end(), rest.begin(), rest.end());
  const std::vector<report::Run> runs = report::read_runs(folders);
  if (json) {
    Json list = Json::array();
    for (const report::Run& r : runs) list.push(report::to_json(report::summarise(r)));
    fmt::print("{}\n", list.dump(2));
    return 0;
  }
  const std::filesystem::path file = out.empty() ? runs[0].folder / "report.html" : std::filesystem::path(out);
  write_file(file, report::html(runs, options));
  fmt::print("{}\n", file.string());
  return 0;
}

}  // namespace quern
