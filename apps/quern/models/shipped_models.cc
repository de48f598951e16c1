// Where shipped files are looked for.
#include "apps/quern/models/shipped_models.h"

#include <cstdlib>
#include <vector>

#include "apps/quern/models/hub_models.h"

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

std::optional<fs::path> shipped_model(const std::string& name) {
  if (name.empty() || name.find('/') != name.npos || name.starts_with('.')) return std::nullopt;
  std::vector<fs::path> places;
  if (const char* p = std::getenv("QUERN_MODELS"); p && *p) places.emplace_back(p);
  if (const auto models = shipped_file("models")) places.push_back(*models);
  std::error_code none;
  for (const fs::path& p : places)
    if (fs::exists(p / name / "config.json", none)) return p / name;
  return std::nullopt;
}

std::string model_folder(const std::string& folder) {
  if (fs::exists(folder)) return folder;
  const auto shipped = shipped_model(folder);
  if (shipped) return shipped->string();
  return is_hub_name(folder) ? hub_model(folder).string() : folder;
}

}  // namespace quern::cli
