// MinHash signatures as a separate stage: sketch-*.jsonl.zst, one line per document: {"id", "source", "shingles",
// "content" (128 bits, hexadecimal), "rows"}, for use by other programs.
#pragma once
#include <filesystem>

#include "quern/corpus/run/stage_run.h"
#include "quern/corpus/sketch/sketch.h"

namespace quern::corpus {

struct SketchesReport {
  ScanReport scan;
  std::vector<std::string> files;
  uint64_t bytes_out = 0;
  ResumeInfo went_on;
};

SketchesReport write_sketches(const Inputs& inputs, const ScanOptions& o, const SketchConfig& c,
                              const StageOutput& to, const ScanProgress& progress = {},
                              const std::function<void(const SketchesReport&)>& finish = {});

}  // namespace quern::corpus
