// The C, C++, JSON and TOML blocks of a page: the first two compile against Quern's headers, the others parse.
#pragma once
#include <filesystem>
#include <vector>

#include "tests/docs/markdown.h"

namespace quern::docs {

// ```c as C11, ```cpp as C++20, both without linking. A block without an #include line is taken as statements: it is
// compiled within a function, behind quern.h or quern.hpp.
std::vector<Complaint> compile_complaints(const Page& page, const std::filesystem::path& include_folder);
int compiled_blocks(const Page& page);

// ```json: a value, or a value per line; ```toml: a file. Blocks with an elision ("…") are left out.
std::vector<Complaint> data_complaints(const Page& page);

}  // namespace quern::docs
