#include "quern/corpus/stages/stage_registry.h"

#include <algorithm>

#include "quern/base/error.h"
#include "quern/base/nearest.h"

namespace quern::corpus {

void StageRegistry::add(std::string name, std::string summary, std::function<StageResult(const StageJob&)> run) {
  QUERN_CHECK(!name.empty() && std::ranges::find(stages_, name, &NamedStage::name) == stages_.end(),
              "corpus stage '{}' registered twice or without a name", name);
  stages_.push_back({std::move(name), std::move(summary), std::move(run)});
}

const NamedStage& StageRegistry::find(const std::string& name) const {
  std::vector<std::string> known;
  for (const NamedStage& s : stages_) {
    if (s.name == name) return s;
    known.push_back(s.name);
  }
  if (known.empty()) fail("corpus stage '{}': this build has no stage plug-ins", name);
  fail("corpus stage '{}': expected one of {}{}", name, fmt::join(known, ", "), did_you_mean(name, known));
}

const StageRegistry& plugin_stages() {
  static const StageRegistry registry = [] {
    StageRegistry r;
    register_stage_plugins(r);
    return r;
  }();
  return registry;
}

}  // namespace quern::corpus
