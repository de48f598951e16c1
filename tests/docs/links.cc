#include "tests/docs/links.h"

#include <fmt/format.h>

#include <algorithm>

#include "quern/base/mmap.h"

namespace quern::docs {
namespace {

namespace fs = std::filesystem;

bool leads_outside(const std::string& target) {  // "https:", "mailto:"
  const size_t colon = target.find(':');
  return target.starts_with("//") || (colon != target.npos && target.find('/') > colon);
}

std::string unescaped(const std::string& target) {  // %20
  std::string out;
  for (size_t i = 0; i < target.size(); ++i) {
    const std::string hex = target.substr(i + 1, 2);
    if (target[i] == '%' && hex.size() == 2 && hex.find_first_not_of("0123456789abcdefABCDEF") == hex.npos) {
      out += static_cast<char>(std::stoi(hex, nullptr, 16));
      i += 2;
    } else {
      out += target[i];
    }
  }
  return out;
}

}  // namespace

std::vector<Complaint> link_complaints(const std::vector<Page>& pages, const fs::path& root) {
  std::map<std::string, std::set<std::string>> anchors;
  for (const Page& p : pages) anchors[p.name] = p.anchors;
  std::vector<Complaint> out;
  for (const Page& p : pages)
    for (const Link& l : p.links) {
      if (leads_outside(l.target)) continue;
      const size_t hash = std::min(l.target.find('#'), l.target.size());
      const std::string path = unescaped(l.target.substr(0, hash));
      const fs::path from_root =
          path.empty() ? fs::path(p.name)
                       : (path.starts_with('/') ? fs::path(path.substr(1)) : fs::path(p.name).parent_path() / path)
                             .lexically_normal();
      const std::string name = from_root.generic_string();
      if (name.starts_with("..")) {
        out.push_back({p.name, l.line, fmt::format("'{}' leads out of the project", l.target)});
      } else if (!path.empty() && !fs::exists(root / from_root)) {
        out.push_back({p.name, l.line, fmt::format("'{}' leads to no file", l.target)});
      } else if (hash + 1 < l.target.size() && name.ends_with(".md")) {
        if (!anchors.contains(name)) anchors[name] = read_page(name, read_file(root / from_root)).anchors;
        if (!anchors[name].contains(unescaped(l.target.substr(hash + 1))))
          out.push_back({p.name, l.line, fmt::format("'{}': {} has no such heading", l.target, name)});
      }
    }
  return out;
}

}  // namespace quern::docs
