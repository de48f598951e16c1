// Pairs of answers as token shards with a loss mask: document 2i is the chosen answer of pair i behind its prompt, 2i + 1 the
// rejected one; the mask is 1 where an answer is. PREFIX.json says "pairs": true.
#pragma once
#include <filesystem>
#include <memory>
#include <vector>

#include "quern/data/indexed.h"

namespace quern::train {

class PreferenceData {
 public:
  // Throws Error naming the file: no mask, an odd number of documents, a document without an answer.
  explicit PreferenceData(const std::filesystem::path& prefix);

  int64_t pairs() const { return tokens_->documents() / 2; }
  int64_t tokens() const { return tokens_->tokens(); }
  const std::filesystem::path& prefix() const { return tokens_->prefix(); }
  // Tokens as training feeds them, all but the last, with the next ones as targets: −1 where the mask is 0. Appended.
  struct Rows {
    std::vector<int32_t> tokens = {}, targets = {};
    std::vector<int64_t> lengths = {};
  };
  void append(int64_t pair, Rows& rows) const;
  int64_t length(int64_t pair) const;  // tokens that append() adds

 private:
  std::unique_ptr<data::IndexedTokens> tokens_, mask_;
};

}  // namespace quern::train
