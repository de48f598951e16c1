// The post-processor of tokenizer.json: the special tokens around one text and around and between two. Supported:
// TemplateProcessing, BertProcessing, RobertaProcessing, ByteLevel (offsets only, nothing to do here), Sequence.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "quern/base/json.h"
#include "quern/text/tokenizer/tokenizer.h"

namespace quern::text {

struct PostProcessor {
  enum class What { special, first, second };
  struct Item {
    What what;
    int32_t id, type;  // id: of a special token
  };
  std::vector<Item> single{{What::first, 0, 0}}, pair;  // pair: empty when the file has no form of it

  PostProcessor() = default;
  explicit PostProcessor(const Json& j);  // null = nothing around the text
  std::vector<int32_t> before() const;    // of a single text
  std::vector<int32_t> after() const;
  TokenSequence wrap(std::span<const Item> items, std::span<const int32_t> a, std::span<const int32_t> b) const;
};

}  // namespace quern::text
