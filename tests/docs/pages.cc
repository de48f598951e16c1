#include "tests/docs/pages.h"

#include <algorithm>
#include <set>

#include "quern/base/mmap.h"

namespace quern::docs {

namespace fs = std::filesystem;

fs::path project_root() { return QUERN_SOURCE_DIR; }

Page read_project_page(const std::string& name) { return read_page(name, read_file(project_root() / name)); }

std::vector<std::string> all_pages() {
  static const std::set<std::string> kOutside = {"build", "runs", "testdata"};
  std::vector<std::string> out;
  for (auto it = fs::recursive_directory_iterator(project_root()); it != fs::recursive_directory_iterator(); ++it) {
    const std::string name = it->path().filename().string();
    if (it->is_directory() && (name.starts_with('.') || kOutside.contains(name)))
      it.disable_recursion_pending();
    else if (it->path().extension() == ".md")
      out.push_back(fs::relative(it->path(), project_root()).generic_string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<std::string> guides() {
  std::vector<std::string> out;
  for (std::string& name : all_pages())
    if (name == "README.md" || (name.starts_with("docs/") && !name.starts_with("docs/log/"))) out.push_back(name);
  return out;
}

}  // namespace quern::docs
