#include "quern/serve/app/live_settings.h"

#include <algorithm>

#include "quern/base/config.h"
#include "quern/base/toml.h"

namespace quern::serve {
namespace {

struct LiveFile {
  LiveSettings settings;
  Json aliases = Json::object();
  std::vector<LiveModel> models = {};
  template <class V>
  void visit(V& v) {
    settings.visit_cors(v);
    v("aliases", aliases, "further names of models");
    v("models", models, "models next to those of the command line");
  }
};

}  // namespace

void check_origins(const std::vector<std::string>& origins, std::string_view where) {
  for (const std::string& o : origins)
    if (o != "*" && (o.find("://") == o.npos || o.find('/', o.find("://") + 3) != o.npos))
      fail("{} '{}': expected * or an origin such as https://example.org", where, o);
}

std::string LiveSettings::model(const std::string& name) const {
  if (std::string whole = alias_target(aliases, name); !whole.empty()) return whole;
  const size_t colon = std::min(name.find(':'), name.size());
  const std::string found = alias_target(aliases, name.substr(0, colon));
  return found.empty() ? name : found + name.substr(colon);
}

LiveSettings read_live_settings(const std::filesystem::path& file, LiveSettings over) {
  const std::string where = file.string();
  LiveFile f{.settings = std::move(over)};
  from_json(file.extension() == ".json" ? Json::read(file) : read_toml(file), f, where, UnknownKeys::refuse);
  over = std::move(f.settings);
  check_origins(over.cors, where + ", cors");
  for (const auto& [alias, model] : f.aliases.as_object(where + ", aliases")) {
    if (alias.empty()) fail("{}, aliases: an empty name", where);
    if (alias.find('*') < alias.size() - 1) fail("{}, aliases: '{}': * may only be the end of a name", where, alias);
    over.aliases[alias] = model.as_string(where + ", aliases, " + alias);
  }
  for (const LiveModel& m : f.models) {
    if (m.name.empty() || m.dir.empty()) fail("{}, models: expected name and dir", where);
    if (std::ranges::find(over.models, m.name, &LiveModel::name) != over.models.end())
      fail("{}, models: two have the name '{}'", where, m.name);
    over.models.push_back(m);
  }
  return over;
}

}  // namespace quern::serve
