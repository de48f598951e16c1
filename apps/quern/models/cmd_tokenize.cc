// quern tokenize | detokenize: text to ids and back, for pipes. Without arguments the text comes from stdin.
#include <cstdio>

#include "apps/quern/cli/args.h"
#include "apps/quern/cli/standard_input.h"
#include "apps/quern/cli/verbs.h"
#include "apps/quern/models/shipped_models.h"
#include "quern/base/json.h"
#include "quern/models/checkpoint.h"

namespace quern::cli {
namespace {

std::string words_or_stdin(const std::vector<std::string>& words) {
  if (!words.empty()) return fmt::format("{}", fmt::join(words, " "));
  return standard_input();
}

}  // namespace

int cmd_tokenize(Words args) {
  std::string dir;
  std::vector<std::string> words;
  bool json = false, pieces = false, plain = false;
  Args a("tokenize", "convert text to token ids");
  a.positional("DIR", dir)
      .rest("TEXT", words)
      .flag("--pieces", pieces, "print one line per token: id and text")
      .flag("--no-special", plain, "add no special tokens")
      .json(json, "a JSON array of ids")
      .note("Without TEXT, reads stdin. Ids are printed as 1,2,3, the form that quern logits --ids takes.");
  if (!a.parse(args)) return 0;
  text::Tokenizer t = models::load_tokenizer(model_folder(dir));
  std::vector<int32_t> ids = t.encode(words_or_stdin(words), {.add_special_tokens = !plain});
  if (pieces)
    for (int32_t id : ids) fmt::print("{}\t{}\n", id, Json(t.id_to_token(id)).dump());
  else
    fmt::print("{}{}{}\n", json ? "[" : "", fmt::join(ids, ","), json ? "]" : "");
  return 0;
}

int cmd_detokenize(Words args) {
  std::string dir;
  std::vector<std::string> words;
  bool skip = false, json = false;
  Args a("detokenize", "convert token ids to text");
  a.positional("DIR", dir)
      .rest("IDS", words)
      .flag("--skip-special", skip, "omit special tokens")
      .json(json, "a JSON string")
      .note("IDS are numbers separated by commas or spaces; without IDS, reads them from stdin.");
  if (!a.parse(args)) return 0;
  std::string list = words_or_stdin(words);
  for (char& c : list)
    if (c == ' ' || c == '\n' || c == '\t' || c == '[' || c == ']') c = ',';
  std::string packed;  // runs of separators collapse
  for (char c : list)
    if (c != ',' || (!packed.empty() && packed.back() != ',')) packed += c;
  if (!packed.empty() && packed.back() == ',') packed.pop_back();
  if (packed.empty()) throw UsageError("quern detokenize: IDS is missing: expected token ids such as 1,2,3");
  text::Tokenizer t = models::load_tokenizer(model_folder(dir));
  std::string text = t.decode(parse_token_list(packed, "quern detokenize: token id"),
                              skip ? text::SpecialTokens::skip : text::SpecialTokens::keep);
  fmt::print("{}\n", json ? Json(text).dump() : text);
  return 0;
}

}  // namespace quern::cli
