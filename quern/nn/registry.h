// Registry of mixers, FFNs, models and their checkpoint layouts by name; each folder adds its own through
// register_<name>(Registry&). There are no static initializers: registry.gen.cc (written by CMake) calls them all from
// register_builtins.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "quern/base/error.h"
#include "quern/base/json.h"
#include "quern/base/nearest.h"

namespace quern {
class TensorFolder;
}
namespace quern::ffn {
class Ffn;
}
namespace quern::mixers {
class Mixer;
}
namespace quern::models {
class Model;
struct CheckpointLayout;
}  // namespace quern::models
namespace quern::optim {
class Optimizer;
}

namespace quern::nn {

// Makers of one kind. A template, so that T may be incomplete here: rooms further down define it.
template <class T, class... A>
class Makers {
 public:
  using Make = std::function<std::unique_ptr<T>(A...)>;
  explicit Makers(std::string kind) : kind_(std::move(kind)) {}
  void add(std::string name, Make make) {
    bool fresh = makers_.emplace(name, std::move(make)).second;
    QUERN_CHECK(fresh, "{} '{}' registered twice", kind_, name);
  }
  std::unique_ptr<T> make(const std::string& name, A... args) const {
    auto it = makers_.find(name);
    if (it == makers_.end())
      fail("unknown {} '{}'{} (known: {})", kind_, name, did_you_mean(name, names()), fmt::join(names(), ", "));
    return it->second(args...);
  }
  std::vector<std::string> names() const {
    std::vector<std::string> n;
    for (const auto& [name, make] : makers_) n.push_back(name);
    return n;
  }

 private:
  std::string kind_;
  std::map<std::string, Make> makers_;
};

class Registry {
 public:
  Makers<mixers::Mixer, const Json&> mixers{"mixer"};  // a layer's configuration as JSON; unknown keys are refused
  Makers<ffn::Ffn, const Json&> ffns{"ffn"};
  Makers<optim::Optimizer, const Json&> optimizers{"optimizer"};
  // config.json, for models with their weights (may be null), for layouts of a family with another one
  Makers<models::Model, const Json&, const TensorFolder*> models{"model_type"};
  Makers<models::CheckpointLayout, const Json&> layouts{"layout"};
};

void register_builtins(Registry& r);

}  // namespace quern::nn
