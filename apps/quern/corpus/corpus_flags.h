// What the sub-verbs of quern corpus share: flags for reading inputs, and warnings about skipped records.
#pragma once
#include <string>
#include <vector>

#include "apps/quern/cli/args.h"
#include "quern/corpus/run/stage_run.h"

namespace quern {

struct CorpusFlags {
  std::vector<std::string> words;
  std::string form = "auto", text = "text", url, on_bad = "skip", out;
  int64_t max_record_mb = 64, level = 3, shard_mb = 1024, checkpoint_mb = 32;

  void declare(Args& a);
  void declare_reading(Args& a);              // without --out and how it is written
  void declare_checkpoints(Args& a);          // for stages that resume after a kill
  void check(const std::string& verb) const;  // throws UsageError
  void check_reading(const std::string& verb) const;
  corpus::ReadPolicy policy() const;
  corpus::ScanOptions scan() const;
  corpus::StageOutput output() const;
};

void report_resuming(const std::string& out, const corpus::ResumeInfo& w);

void warn_about(const corpus::ReadCounts& read, const std::vector<std::string>& damaged, const corpus::Inputs& in);

}  // namespace quern
