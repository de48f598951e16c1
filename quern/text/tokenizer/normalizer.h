// The normalizer of tokenizer.json: a list of rewrites of the whole text, Sequences flattened. Supported: NFC NFD NFKC
// NFKD Replace Prepend Lowercase Strip StripAccents ByteLevel BertNormalizer Precompiled. Cost: linear per step.
#pragma once
#include <string>
#include <vector>

#include "quern/text/tokenizer/bert_normalizer.h"
#include "quern/text/tokenizer/character_map.h"
#include "quern/text/tokenizer/component.h"

namespace quern::text {

class Normalizer {
 public:
  Normalizer() = default;
  explicit Normalizer(const Json& j);  // null = none
  bool empty() const { return steps_.empty(); }
  void apply(std::string& text, RegexScratch& scratch) const;

 private:
  enum class Kind {
    nfc,
    nfd,
    nfkc,
    nfkd,
    replace,
    prepend,
    lowercase,
    strip,
    strip_accents,
    byte_level,
    bert,
    precompiled
  };
  struct Step {
    Kind kind;
    Pattern pattern;
    std::string content;
    bool left = false, right = false;
    BertNormalizer bert = {};
    CharacterMap map = {};
  };
  std::vector<Step> steps_;
};

}  // namespace quern::text
