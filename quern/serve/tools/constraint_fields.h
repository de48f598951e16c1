// Request fields for constrained decoding: response_format (json_object, json_schema), grammar (GBNF), regex, and
// structured_outputs {json, regex, choice, grammar, json_object}. Recent grammars of a model are cached together with
// their token masks.
#pragma once
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "quern/infer/sampling/grammar_constraint.h"
#include "quern/serve/tools/tool_format.h"
#include "quern/serve/wire/generation_fields.h"
#include "quern/text/tokenizer/tokenizer.h"

namespace quern::serve {

class ConstraintCache {
 public:
  // Null when nothing is asked for; an ApiError naming the field when it cannot be done.
  std::shared_ptr<const infer::ConstraintSource> read(const Fields& f, const text::Tokenizer& tokenizer,
                                                      infer::ThinkStart start);
  // response_format beside tools: calls, or an answer that follows it. Null: it asks for nothing. Any other constraint is
  // an ApiError.
  std::shared_ptr<const infer::ConstraintSource> answer_or_calls(const Fields& f, const ToolFormat& format,
                                                                 const ToolUse& use, const text::Tokenizer& tokenizer,
                                                                 infer::ThinkStart start);
  // Calls follow their schemas wherever the model makes one. Null: the format does not tell calls from words.
  std::shared_ptr<const infer::ConstraintSource> strict_calls(const ToolFormat& format, const ToolUse& use,
                                                              const text::Tokenizer& tokenizer,
                                                              infer::ThinkStart start);
  // An answer of nothing but calls.
  std::shared_ptr<const infer::ConstraintSource> calls(const ToolFormat& format, const ToolUse& use,
                                                       const text::Tokenizer& tokenizer, infer::ThinkStart start);

 private:
  struct Asked {
    std::string field;
    infer::GrammarNotation notation;
    std::string text;
  };
  static void read_response_format(const Fields& f, std::vector<Asked>& asked);
  static void read_structured_outputs(const Fields& f, std::vector<Asked>& asked);
  static std::vector<Asked> read_asked(const Fields& f);
  // A grammar that holds calls; `schema`: of an answer instead of them, or empty.
  infer::GrammarSource tool_source(const ToolFormat& format, const ToolUse& use, const text::Tokenizer& tokenizer,
                                   const std::string& schema = {});
  infer::GrammarSource source(const Asked& a, const text::Tokenizer& tokenizer);
  infer::GrammarSource kept(const std::string& key, const std::function<infer::GrammarSource()>& make);
  std::mutex mutex_;
  std::shared_ptr<const text::TokenTrie> tokens_;  // made when first needed
  std::shared_ptr<const text::TokenTrie> tool_tokens_;
  std::list<std::pair<std::string, infer::GrammarSource>> recent_;  // the latest first
};

}  // namespace quern::serve
