// Another layout of a model family's checkpoints: where each parameter, by its current name, lies there. A family
// registers a maker of its own (Registry::layouts), which takes a config.json in the current form; `quern reshape`
// rewrites training checkpoints by it, either way.
#pragma once
#include <map>
#include <string>

namespace quern::models {

struct LayoutPlace {
  std::string name;         // for stacked experts: up to the expert's number
  std::string expert_tail;  // and after it; empty: not stacked
};

struct CheckpointLayout {
  struct Row {
    LayoutPlace place;
    bool optional = false;  // a checkpoint may lack it
  };
  std::map<std::string, Row> rows;  // by current name
};

}  // namespace quern::models
