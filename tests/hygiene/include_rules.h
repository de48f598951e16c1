// The house rules that a program can check, as pure functions from the text of a source file to complaints:
//   direction   a folder includes only rooms above its own in kRooms; inside a room, a subfolder may include the
//   room's
//               own headers and those siblings that its CMakeLists.txt names, and the room's headers include no
//               subfolder
//   opening     a file starts with a comment; a .cc may leave that to the header of its folder that it includes first
//   length      no file exceeds 600 lines
//   heavy       a heavy third-party header is included by one source file only
#pragma once
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace quern::hygiene {

struct SourceFile {
  std::string path;  // from the root of the repository: "quern/nn/linear.cc"
  std::string text;
};

// Folder → folders its CMakeLists.txt names, both as "kernels/gemm".
using Siblings = std::map<std::string, std::set<std::string>>;

std::vector<std::string> includes(std::string_view text);  // targets of #include "…" and #include <…>
std::set<std::string> named_dependencies(
    std::string_view cmake_lists);  // "DEPS kernels_gemm nn" → {kernels/gemm, nn}

std::vector<std::string> direction_complaints(const SourceFile& file, const Siblings& siblings);
std::vector<std::string> opening_complaints(const SourceFile& file);
std::vector<std::string> length_complaints(const SourceFile& file);
std::vector<std::string> heavy_header_complaints(std::span<const SourceFile> files);

}  // namespace quern::hygiene
