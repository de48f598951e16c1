// A corpus as token shards for training: every document tokenised on all threads, written in order as quern data does
// (PREFIX.bin, PREFIX.idx), with the tokenizer's end token behind it. The same inputs give the same bytes.
#pragma once
#include <filesystem>

#include "quern/corpus/scan.h"
#include "quern/text/tokenizer.h"

namespace quern::corpus {

struct TokenShardReport {
  ScanReport scan;
  uint64_t documents = 0, tokens = 0, empty = 0;  // empty: documents without a token, left out
  Json json() const;
};

TokenShardReport write_token_shards(const Inputs& inputs, const ScanOptions& o, const Tokenizer& tokenizer,
                                    bool end_token, const std::filesystem::path& prefix,
                                    const ScanProgress& progress = {});

}  // namespace quern::corpus
