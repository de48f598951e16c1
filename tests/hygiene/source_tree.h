// The headers and sources of quern/, lab/ and apps/, as the rules read them.
#pragma once
#include <filesystem>
#include <vector>

#include "quern/base/mmap.h"
#include "tests/hygiene/include_rules.h"

namespace quern::hygiene {

inline std::vector<SourceFile> source_tree(const std::filesystem::path& root) {
  std::vector<SourceFile> out;
  for (const char* top : {"quern", "lab", "apps"})
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root / top)) {
      const std::filesystem::path at = std::filesystem::relative(entry.path(), root);
      if (entry.is_regular_file() && (at.extension() == ".h" || at.extension() == ".cc"))
        out.push_back({at.generic_string(), read_file(entry.path())});
    }
  return out;
}

}  // namespace quern::hygiene
