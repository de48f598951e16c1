// Passages: the chunks of a document that has headings. A passage lies within one section, and knows the path of
// headings above it ("Manual > Files > Locking"), which is searched and shown with it. Chunks of fewer than min_words
// are joined with their neighbors of the same section; a heading without text of its own goes to the section below
// it. Cost: linear.
#pragma once
#include "quern/recall/read/document.h"
#include "quern/recall/words/chunker.h"

namespace quern::recall {

struct PassageOptions {
  ChunkOptions chunks;
  int64_t min_words = 0;  // 0: chunks stay as they are
};

inline constexpr std::string_view kPathBetween = " > ";

// Chunks with their paths. paths[0] is "", that of text without headings.
struct PassageList {
  std::vector<Chunk> chunks;
  std::vector<uint32_t> path;  // chunk → paths
  std::vector<std::string> paths{""};
  void add_path(const std::string& p);  // for the chunks to come
  void add(const Chunk& c) { chunks.push_back(c), path.push_back(static_cast<uint32_t>(paths.size() - 1)); }
  std::string_view path_of(size_t chunk) const { return paths[path[chunk]]; }
};

// Appends the passages of d; `base` is added to their offsets.
void append_passages(const ReadDocument& d, const PassageOptions& options, uint64_t base, PassageList& out);

}  // namespace quern::recall
