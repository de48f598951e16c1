// Corpus stages that come as plug-ins: a folder quern/corpus/stages/NAME/, or one outside the tree (QUERN_EXTRA_ROOMS),
// adds its stages through register_NAME(StageRegistry&). `quern corpus stage NAME` runs them. See
// docs/corpus/adding-a-filter.md.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "quern/base/json.h"
#include "quern/corpus/run/stage_run.h"

namespace quern::corpus {

// What a stage is given. finish(result) is the last thing before it forgets its progress: it writes the manifest.
struct StageJob {
  const Inputs& inputs;
  ScanOptions scan;
  StageOutput to;
  Json settings = Json::object();  // by the user's words; the stage refuses a key that it does not know
  ScanProgress progress = {};
  std::function<void(const Json& result)> finish = {};
};

struct StageResult {
  ScanReport scan;
  ResumeInfo went_on;
};

struct NamedStage {
  std::string name, summary;
  std::function<StageResult(const StageJob&)> run;
};

class StageRegistry {
 public:
  void add(std::string name, std::string summary, std::function<StageResult(const StageJob&)> run);
  const NamedStage& find(const std::string& name) const;  // throws Error for a name that is none
  const std::vector<NamedStage>& stages() const { return stages_; }

 private:
  std::vector<NamedStage> stages_;
};

// Calls register_NAME of every plug-in folder; written by cmake/plugins.cmake.
void register_stage_plugins(StageRegistry& r);
const StageRegistry& plugin_stages();  // of this build

}  // namespace quern::corpus
