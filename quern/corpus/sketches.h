// Sketches as a stage of its own: sketch-*.jsonl.zst, a line a document: {"id", "source", "shingles", "content" (128
// bits, hexadecimal), "rows"}, for whoever wants the signatures elsewhere.
#pragma once
#include <filesystem>

#include "quern/corpus/scan.h"
#include "quern/corpus/sketch.h"

namespace quern::corpus {

struct SketchesReport {
  ScanReport scan;
  std::vector<std::string> files;
  uint64_t bytes_out = 0;
};

SketchesReport write_sketches(const Inputs& inputs, const ScanOptions& o, const SketchConfig& c, int level,
                              uint64_t shard_bytes, const std::filesystem::path& out,
                              const ScanProgress& progress = {});

}  // namespace quern::corpus
