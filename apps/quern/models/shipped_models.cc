// Where shipped files are looked for.
#include "apps/quern/models/shipped_models.h"

#include <cstdlib>
#include <vector>

#include "apps/quern/models/hub_models.h"
#include "quern/base/error.h"
#include "quern/base/nearest.h"

namespace quern::cli {

namespace fs = std::filesystem;

std::optional<fs::path> shipped_file(const std::string& name) {
  std::error_code none;
  const fs::path self = fs::read_symlink("/proc/self/exe", none);
  if (none) return std::nullopt;
  const fs::path at = self.parent_path().parent_path() / "share/quern" / name;
  if (!fs::exists(at, none)) return std::nullopt;
  return at;
}

namespace {

std::vector<fs::path> places_of_models() {
  std::vector<fs::path> places;
  if (const char* p = std::getenv("QUERN_MODELS"); p && *p) places.emplace_back(p);
  if (const auto models = shipped_file("models")) places.push_back(*models);
  return places;
}

bool is_bare_name(const std::string& name) {
  return !name.empty() && name.find('/') == name.npos && !name.starts_with('.');
}

bool has_model(const fs::path& folder) {
  std::error_code none;
  return fs::exists(folder / "config.json", none);
}

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  std::error_code none;
  for (const fs::path& place : places_of_models())
    for (const fs::directory_entry& folder : fs::directory_iterator(place, none))
      if (has_model(folder.path())) names.push_back(folder.path().filename());
  return names;
}

}  // namespace

std::optional<fs::path> shipped_model(const std::string& name) {
  if (!is_bare_name(name)) return std::nullopt;
  for (const fs::path& p : places_of_models())
    if (has_model(p / name)) return p / name;
  return std::nullopt;
}

std::string model_folder(const std::string& folder) {
  if (fs::exists(folder)) return folder;
  const auto shipped = shipped_model(folder);
  if (shipped) return shipped->string();
  if (is_hub_name(folder)) return hub_model(folder).string();
  if (is_bare_name(folder))
    if (const std::string meant = did_you_mean(folder, model_names()); !meant.empty())
      fail("there is no model '{}' here{}", folder, meant);
  return folder;
}

}  // namespace quern::cli
