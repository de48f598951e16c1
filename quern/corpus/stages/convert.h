// Converts a corpus to Parquet: part-00000.parquet … with one row per document (id, source, text, members). `members`
// is the JSON line the document came as, with null for its text.
#pragma once
#include <filesystem>
#include <functional>

#include "quern/corpus/run/stage_run.h"

namespace quern::corpus {

struct ConvertReport {
  ScanReport scan;
  std::vector<std::string> files;
};

// finish(report): the last thing before the run is forgotten.
ConvertReport write_parquet(const Inputs& inputs, const ScanOptions& o, const StageOutput& to,
                            const ScanProgress& progress = {},
                            const std::function<void(const ConvertReport&)>& finish = {});

}  // namespace quern::corpus
