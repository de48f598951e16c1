// The Markdown pages of the project.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "tests/docs/markdown.h"

namespace quern::docs {

std::filesystem::path project_root();
Page read_project_page(const std::string& name);  // name: from the root, "docs/serving.md"

std::vector<std::string> all_pages();  // every .md but those of build folders and test data
std::vector<std::string> guides();     // README.md and docs/, the log left out

}  // namespace quern::docs
