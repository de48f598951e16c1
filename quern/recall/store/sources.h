// Reads texts from files and folders: plain text, Markdown, reStructuredText, HTML, man pages, code and JSON lines, also
// compressed with gzip. What is not read is counted and named, never dropped silently.
#pragma once
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "quern/recall/store/segment.h"

namespace quern::recall {

struct SourceOptions {
  // When absent, passages: paragraphs of code for programs, else sentences, of which short ones are joined.
  std::optional<ChunkUnit> unit;
  int64_t max_words = 0;       // 0: 128 for passages, 64 for other units
  int64_t min_words = 32;      // of a passage
  std::string field = "text";  // of a JSON line
};

bool is_below(const std::string& path, const std::string& root);  // or is the root itself

struct SourceReport {
  std::vector<std::string> skipped;  // "path: why"
  std::map<std::string, int64_t>
      unread_kinds;          // files below a folder whose kind is not read, by the end of their names
  int64_t without_text = 0;  // files that were read and hold no words
  int64_t ill_formed = 0;    // texts with bytes that are no UTF-8; their words are read around them
};

// The files among and below the paths, sorted and without repetition; hidden ones are left out below a folder, and those
// of other kinds, which `report` counts. Throws Error for a path that is not there.
std::vector<std::filesystem::path> source_files(const std::vector<std::string>& paths,
                                                SourceReport* report = nullptr);

SegmentFile stat_file(const std::filesystem::path& path);  // without the hash
// Appends the file's documents and chunks; false when it cannot be read (then it is in the report).
bool append_file(const std::filesystem::path& path, SegmentFile file, const SourceOptions& options,
                 uint64_t& sequence, SegmentInput& in, SourceReport& report);

}  // namespace quern::recall
