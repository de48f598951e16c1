// Tokenizes texts into token shards: documents are read in order, tokenized in batches on all threads and written in
// order, so that the same input gives the same bytes. Memory: one batch.
//   text   documents are whole files, lines, or runs of lines between blank ones
//   jsonl  one JSON object per line, the text in one of its fields
//   chat   one JSON object per line, {"messages": [{"role", "content"}, …]}: tokens and, as PREFIX.mask, the loss mask;
//          conversations longer than max_tokens are trimmed without changing an answer, or dropped
// A document ends with the tokenizer's end token (chat: as the template has it). Invalid UTF-8 or JSON stops the build
// with file and line, or is skipped and counted. PREFIX.json holds the counts.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "quern/base/json.h"
#include "quern/text/chat/chat_template.h"
#include "quern/text/tokenizer/tokenizer.h"

namespace quern::data {

struct BuildOptions {
  enum class Form { by_name, text, jsonl, chat } form = Form::by_name;  // by_name: .jsonl is jsonl, the rest text
  enum class Split { file, line, blank } split = Split::file;           // of text
  std::string field = "text";                                           // of jsonl
  bool end_token = true, skip_bad = false;
  int64_t max_tokens = 0;  // of chat; 0: any length
};

struct BuildReport {
  int64_t documents = 0, tokens = 0, bytes = 0;   // bytes of text read into documents
  int64_t bad = 0, empty = 0;                     // skipped
  int64_t learned = 0, trimmed = 0, dropped = 0;  // chat: tokens learned, conversations
  double kept_reasoning = 1;                      // of reasoning tokens of conversations kept, the share still there
  Json json() const;
};

// on_progress is called about once a batch.
BuildReport build_shards(const std::vector<std::string>& files, const text::Tokenizer& tokenizer,
                         const text::ChatTemplate& chat_template, const std::filesystem::path& prefix,
                         const BuildOptions& options, const std::function<void(const BuildReport&)>& on_progress);

}  // namespace quern::data
