// Resolves refs to snapshots.
#include "apps/quern/models/hub_models.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <vector>

#include "quern/base/error.h"
#include "quern/base/nearest.h"

namespace quern::cli {
namespace {

namespace fs = std::filesystem;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

bool is_part(std::string_view part) {
  return !part.empty() && part.size() <= 96 && part[0] != '.' && part[0] != '-' &&
         std::ranges::all_of(
             part, [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.'; });
}

std::vector<fs::path> entries(const fs::path& folder) {
  std::vector<fs::path> out;
  std::error_code none;
  for (const auto& e : fs::directory_iterator(folder, none)) out.push_back(e.path());
  std::sort(out.begin(), out.end());
  return out;
}

// The commit a branch or tag stands for, or the word itself where it is a commit.
std::string commit_of(const fs::path& repository, const std::string& revision) {
  std::ifstream f(repository / "refs" / revision);
  std::string commit;
  return f >> commit ? commit : revision;
}

constexpr std::string_view kRepository = "models--";

fs::path repository_of(const std::string& name) {  // of org/name, without a revision
  const size_t slash = name.find('/');
  return hub_folder() / fmt::format("{}{}--{}", kRepository, name.substr(0, slash), name.substr(slash + 1));
}

}  // namespace

fs::path hub_folder() {
  if (const std::string hub = environment("HF_HUB_CACHE"); !hub.empty()) return hub;
  if (const std::string home = environment("HF_HOME"); !home.empty()) return fs::path(home) / "hub";
  const std::string cache = environment("XDG_CACHE_HOME");
  return (cache.empty() ? fs::path(environment("HOME")) / ".cache" : fs::path(cache)) / "huggingface/hub";
}

std::vector<std::string> hub_names() {
  std::vector<std::string> names;
  for (const fs::path& p : entries(hub_folder())) {
    std::string name = p.filename().string();
    if (!name.starts_with(kRepository)) continue;
    name.erase(0, kRepository.size());
    const size_t dashes = name.find("--");
    if (dashes == name.npos) continue;
    name.replace(dashes, 2, "/");
    if (is_hub_name(name)) names.push_back(std::move(name));
  }
  return names;
}

bool in_hub_cache(const std::string& name) {
  std::error_code none;
  return is_hub_name(name) && fs::is_directory(repository_of(name.substr(0, name.find('@'))), none);
}

bool is_hub_name(const std::string& name) {
  const std::string_view whole(name);
  const size_t slash = whole.find('/'), at = whole.find('@');
  if (slash == whole.npos || (at != whole.npos && at < slash)) return false;
  const std::string_view model = whole.substr(slash + 1, at == whole.npos ? at : at - slash - 1);
  return is_part(whole.substr(0, slash)) && is_part(model) && (at == whole.npos || is_part(whole.substr(at + 1)));
}

fs::path hub_model(const std::string& name) {
  QUERN_CHECK(is_hub_name(name), "{}", name);
  const size_t at = std::min(name.find('@'), name.size());
  const std::string revision = at < name.size() ? name.substr(at + 1) : "main";
  const fs::path repository = repository_of(name.substr(0, at));
  std::error_code none;
  const fs::path local = fs::path(name.substr(0, name.find('/')));
  if (!fs::is_directory(repository, none) && fs::is_directory(local, none)) {
    std::vector<std::string> there;
    for (const fs::path& p : entries(local)) there.push_back((local / p.filename()).string());
    if (const std::string near = did_you_mean(name, there); !near.empty()) fail("{}: does not exist{}", name, near);
  }
  if (!fs::is_directory(repository, none))
    fail(
        "{}: neither a local folder nor a model in the Hugging Face cache: {} does not exist (HF_HUB_CACHE or "
        "HF_HOME "
        "set the cache folder; nothing is downloaded; quern pull {} says where to put it)",
        name, repository.string(), name);
  const fs::path snapshot = repository / "snapshots" / commit_of(repository, revision);
  if (!fs::is_directory(snapshot, none)) {
    std::vector<std::string> there;
    for (const fs::path& p : entries(repository / "refs")) there.push_back(p.filename().string());
    for (const fs::path& p : entries(repository / "snapshots")) there.push_back(p.filename().string());
    fail("{}: {} does not exist; the cache has {}", name, snapshot.string(),
         there.empty() ? "no revision of this model"
                       : fmt::format("{} (name one as {}@REVISION)", fmt::join(there, ", "), name.substr(0, at)));
  }
  if (fs::exists(snapshot / "config.json", none)) return snapshot;
  std::vector<fs::path> packed;
  for (const fs::path& p : entries(snapshot))
    if (p.extension() == ".gguf") packed.push_back(p);
  if (packed.size() == 1) return packed[0];
  if (packed.empty()) fail("{}: {} has no config.json: the download is incomplete", name, snapshot.string());
  std::vector<std::string> names;
  for (const fs::path& p : packed) names.push_back(p.filename().string());
  fail("{}: {} has several .gguf files ({}); give the path of one", name, snapshot.string(), fmt::join(names, ", "));
}

}  // namespace quern::cli
