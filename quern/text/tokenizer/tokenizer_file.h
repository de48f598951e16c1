// Reads and writes tokenizer.json. The vocabulary and the merges, nearly all of the file, are streamed straight into
// their tables (simdjson, only in tokenizer_file.cc); the rest, a few kilobytes of components, becomes one Json. Cost:
// one pass; a file of 33 MB (262 K tokens, 515 K merges) in about 100 ms.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "quern/base/json.h"
#include "quern/text/tokenizer/added_tokens.h"
#include "quern/text/tokenizer/bpe.h"
#include "quern/text/tokenizer/unigram.h"
#include "quern/text/tokenizer/word_piece.h"

namespace quern::text {

enum class TokenModel { bpe, word_piece, unigram };

struct TokenizerFile {
  TokenModel kind = TokenModel::bpe;
  Bpe bpe;                           // the vocabulary, of whichever kind; merges, options; finish() not yet called
  WordPiece words;                   // word_piece: options
  Unigram unigram;                   // unigram: scores and options
  std::vector<AddedToken> added;     // ids as the file has them
  Json rest = Json::object();        // every other top-level field
  Json model_rest = Json::object();  // every other field of "model"
};

TokenizerFile read_tokenizer_json(const std::filesystem::path& file);
TokenizerFile parse_tokenizer_json(std::string_view text);
// BERT's older form: vocab.txt, one token a line, and the switches of tokenizer_config.json.
TokenizerFile read_vocab_txt(const std::filesystem::path& vocab, const Json& config);
std::string write_tokenizer_json(const TokenizerFile& f);

}  // namespace quern::text
