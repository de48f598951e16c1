// quern corpus stage: runs a corpus stage of a plug-in folder, and lists the plug-ins of this build.
#include <cstdio>

#include "apps/quern/cli/progress.h"
#include "apps/quern/corpus/cmd_corpus.h"
#include "apps/quern/corpus/corpus_flags.h"
#include "quern/base/mmap.h"
#include "quern/corpus/filters/filter_registry.h"
#include "quern/corpus/stages/stage_registry.h"

namespace quern::cli {
namespace {

using namespace corpus;

int list_plugins() {
  if (plugin_stages().stages().empty() && plugin_filters().filters().empty())
    fmt::print(stderr, "no stages or filters were added to this build\n");
  for (const NamedStage& s : plugin_stages().stages()) fmt::print("stage   {:<16} {}\n", s.name, s.summary);
  for (const NamedFilter& f : plugin_filters().filters()) fmt::print("filter  {:<16} {}\n", f.name, f.summary);
  return 0;
}

// KEY=VALUE, where VALUE is JSON or else text.
void set_field(Json& settings, const std::string& word) {
  const size_t at = word.find('=');
  if (at == word.npos || at == 0)
    throw UsageError(fmt::format("quern corpus stage: --set '{}': expected KEY=VALUE", word));
  const std::string key = word.substr(0, at), value = word.substr(at + 1);
  try {
    settings.set(key, Json::parse(value));
  } catch (const Error&) {
    settings.set(key, Json(value));
  }
}

}  // namespace

int corpus_stage(Words args) {
  CorpusFlags flags;
  std::string name;
  std::vector<std::string> set;
  bool list = false;
  Args a("corpus stage", "run a corpus stage that was added to this build");
  a.optional_positional("NAME", name);
  flags.declare(a);
  flags.declare_checkpoints(a);
  a.flag("--set KEY=VALUE", set, "change a setting of the stage; repeatable")
      .flag("--list", list, "list the stages and filters that were added to this build, and exit")
      .note("docs/corpus/adding-a-filter.md shows how to add a stage.");
  if (!a.parse(args)) return 0;
  if (list) return list_plugins();
  if (name.empty()) throw UsageError("quern corpus stage: NAME is missing: --list shows the stages of this build");
  const NamedStage& stage = plugin_stages().find(name);
  flags.check("corpus stage");
  const Inputs in = flags.inputs();
  flags.clear_output(in);
  Progress progress;
  StageJob job{.inputs = in, .scan = flags.scan(), .to = flags.output()};
  for (const std::string& word : set) set_field(job.settings, word);
  job.progress = [&](uint64_t done, uint64_t total) { progress.share(name, done, total); };
  job.finish = [&](const Json& result) {
    Json j = result;
    j.set("stage", name), j.set("inputs", in.json());
    write_manifest(flags.out, j);
  };
  const StageResult r = stage.run(job);
  report_resuming(flags.out, r.went_on);
  const int status = warn_about(r.scan.read, r.scan.damaged, in);
  fmt::print("{}: {} documents read\n", flags.out, r.scan.read.documents);
  return status;
}

}  // namespace quern::cli
