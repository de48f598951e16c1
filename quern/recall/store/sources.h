// Reads texts from files and folders: plain text, Markdown, code and JSON lines. What cannot be read as text is
// counted and named, never dropped silently.
#pragma once
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "quern/recall/store/segment.h"

namespace quern::recall {

struct SourceOptions {
  std::optional<ChunkUnit> unit;  // by the file's name when absent: code for programs, else sentence
  int64_t max_words = 64;
  std::string field = "text";  // of a JSON line
};

struct SourceReport {
  std::vector<std::string> skipped;  // "path: why"
  int64_t ill_formed = 0;            // texts with bytes that are no UTF-8; their words are read around them
};

// The files among and below the paths, sorted and without repetition; hidden ones and those of other kinds are left
// out below a folder. Throws Error for a path that is not there.
std::vector<std::filesystem::path> source_files(const std::vector<std::string>& paths);

SegmentFile stat_file(const std::filesystem::path& path);  // without the hash
// Appends the file's documents and chunks; false when it is no text (then it is in the report).
bool append_file(const std::filesystem::path& path, SegmentFile file, const SourceOptions& options,
                 uint64_t& sequence, SegmentInput& in, SourceReport& report);

}  // namespace quern::recall
