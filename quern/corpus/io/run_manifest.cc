#include "quern/corpus/io/run_manifest.h"

#include <algorithm>
#include <fstream>

#include "quern/base/error.h"

namespace quern::corpus {
namespace {

namespace fs = std::filesystem;

constexpr const char* kList = "files";
constexpr const char* kRows = "rows";
constexpr const char* kOther = "other";

// Only what lies below the folder of the list: a name that leads elsewhere is not believed.
bool is_below(const std::string& name) {
  const fs::path p(name);
  return !name.empty() && p.is_relative() && std::ranges::find(p, fs::path("..")) == p.end();
}

}  // namespace

std::optional<std::vector<OwnedFile>> manifest_files(const fs::path& manifest) {
  if (!fs::is_regular_file(manifest)) return {};
  Json j;
  try {
    j = Json::read(manifest);
  } catch (const Error&) {
    return {};
  }
  const Json* list = j.find(kList);
  if (!list || !list->is_object()) return {};
  std::vector<OwnedFile> files;
  for (const auto& [name, role] : list->as_object()) {
    if (!role.is_string() || !is_below(name)) return {};
    files.push_back({name, role.as_string() == kRows});
  }
  return files;
}

fs::path unfinished_of(const fs::path& manifest) {
  if (manifest.filename() == "manifest.json") return manifest.parent_path() / "unfinished";
  fs::path p = manifest;
  return p.replace_extension(".unfinished");
}

std::optional<std::vector<OwnedFile>> unfinished_files(const fs::path& unfinished) {
  if (unfinished.filename() != "unfinished" && unfinished.extension() != ".unfinished") return {};
  const fs::path list = unfinished / kList;
  const bool replaces = fs::is_directory(unfinished / kReplaced) || fs::is_directory(unfinished / kGone);
  if (!fs::is_regular_file(list) && !replaces) return {};
  std::ifstream in(list);
  std::vector<OwnedFile> files;
  for (std::string line; std::getline(in, line);) {
    const size_t space = line.find(' ');  // a line that a kill cut short names nothing
    if (space == line.npos || in.eof() || !is_below(line.substr(space + 1))) continue;
    files.push_back({line.substr(space + 1), line.substr(0, space) == kRows});
  }
  return files;
}

void list_file(const fs::path& unfinished, const OwnedFile& file) {
  if (!fs::is_directory(unfinished)) return;
  if (const auto listed = unfinished_files(unfinished))
    if (std::ranges::find(*listed, file.name, &OwnedFile::name) != listed->end()) return;
  std::ofstream out(unfinished / kList, std::ios::app);
  // A line of its own, whatever a killed process left of the one before.
  out << '\n' << (file.rows ? kRows : kOther) << ' ' << file.name << '\n' << std::flush;
  if (!out) fail("cannot write {}", (unfinished / kList).string());
}

Json with_files(Json manifest, const fs::path& unfinished, const std::vector<std::string>& later) {
  Json list = Json::object();
  std::vector<OwnedFile> files = unfinished_files(unfinished).value_or(std::vector<OwnedFile>());
  std::ranges::sort(files, {}, &OwnedFile::name);
  for (const OwnedFile& f : files)
    if (fs::is_regular_file(unfinished.parent_path() / f.name)) list.set(f.name, f.rows ? kRows : kOther);
  for (const std::string& name : later) list.set(name, kOther);
  manifest.set(kList, std::move(list));
  return manifest;
}

bool is_name_or_part(const std::string& file, const std::string& name) {
  if (!file.starts_with(name)) return false;
  const std::string rest = file.substr(name.size());
  return rest.empty() || (rest.starts_with(".part") && rest.find_first_not_of("0123456789", 5) == rest.npos);
}

}  // namespace quern::corpus
