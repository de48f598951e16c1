// Rules of the code base that a program can check, as pure functions from the text of a source file to complaints:
//
//   direction   a module includes only modules above it in quern/rooms.txt; inside one top folder (corpus/io,
//               corpus/dedup, …) only those that its CMakeLists.txt names in DEPS, and these stand above it; the
//               folder's own files include none of its inner modules
//   opening     a file starts with a comment; a .cc may leave that to the header of its folder that it includes first
//   length      no file exceeds kMaxLines
//   crowding    no folder holds more than kMaxSources headers and sources
//   heavy       a heavy third-party header is included by one source file only
//   namespace   a room's files define things in its namespace only (see namespace_of); of other rooms' they may declare
//               classes ahead
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

struct Room {
  std::string name, purpose;  // "corpus/io", "kernels/*"
};
std::vector<Room> read_rooms(std::string_view rooms_txt);

// Folder → folders its CMakeLists.txt names, both as "kernels/gemm".
using Siblings = std::map<std::string, std::set<std::string>>;

std::vector<std::string> includes(std::string_view text);  // targets of #include "…" and #include <…>
// "DEPS kernels_gemm nn" → {kernels/gemm, nn}
std::set<std::string> named_dependencies(std::string_view cmake_lists);

// The list of rooms and the dependencies that the rooms of one folder name.
struct House {
  std::vector<Room> rooms;
  Siblings siblings;
};

std::vector<std::string> direction_complaints(const SourceFile& file, const House& house);
std::vector<std::string> sibling_complaints(const House& house);
std::vector<std::string> opening_complaints(const SourceFile& file);
std::vector<std::string> length_complaints(const SourceFile& file);
std::vector<std::string> crowding_complaints(std::span<const SourceFile> files);
std::vector<std::string> heavy_header_complaints(std::span<const SourceFile> files);

// "quern::infer" for quern/infer/engine/engine.h; "quern" for base and tensor, which every room speaks; "quern::lab" and
// "quern::cli" (apps).
std::string namespace_of(std::string_view path);
std::vector<std::string> namespace_complaints(const SourceFile& file);

}  // namespace quern::hygiene
