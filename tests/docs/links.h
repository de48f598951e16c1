// Links between the pages: a relative one must lead to a file or folder, its #anchor to a heading there.
#pragma once
#include <filesystem>
#include <map>
#include <vector>

#include "tests/docs/markdown.h"

namespace quern::docs {

// Pages by their names from `root`; those that a link leads to are read from there when `pages` lacks them.
std::vector<Complaint> link_complaints(const std::vector<Page>& pages, const std::filesystem::path& root);

}  // namespace quern::docs
