// Order of the parts: other files, prefix, suffix, middle.
#include "quern/serve/llama/infill.h"

#include "quern/serve/wire/api_error.h"
#include "quern/serve/wire/generation_fields.h"

namespace quern::serve {
namespace {

struct FillFamily {
  const char *prefix, *suffix, *middle, *repo, *file;
};
constexpr FillFamily kFamilies[] = {
    {"<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>", "<|repo_name|>", "<|file_sep|>"},  // Qwen, CodeGemma
    {"<fim_prefix>", "<fim_suffix>", "<fim_middle>", "<repo_name>", "<file_sep>"},            // StarCoder, Granite
    {"<fim-prefix>", "<fim-suffix>", "<fim-middle>", "<reponame>", "<filename>"},             // SantaCoder
    {"<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>", "", ""},                           // DeepSeek
    {"▁<PRE>", "▁<SUF>", "▁<MID>", "", ""},                                                   // Code Llama
};

}  // namespace

std::optional<FillTokens> fill_tokens(const text::Tokenizer& tokenizer) {
  for (const FillFamily& f : kFamilies) {
    const FillTokens t{.prefix = tokenizer.token_to_id(f.prefix),
                       .suffix = tokenizer.token_to_id(f.suffix),
                       .middle = tokenizer.token_to_id(f.middle),
                       .repo = *f.repo ? tokenizer.token_to_id(f.repo) : -1,
                       .file = *f.file ? tokenizer.token_to_id(f.file) : -1};
    if (t.prefix >= 0 && t.suffix >= 0 && t.middle >= 0) return t;
  }
  return std::nullopt;
}

std::vector<int32_t> fill_prompt(const ServedModel& m, const FillText& t) {
  const auto tokens = fill_tokens(m.tokenizer);
  if (!tokens)
    throw ApiError(400, "invalid_request_error", "no_infill",
                   fmt::format("model '{}' has no fill-in-the-middle tokens: serve a model that was trained for it, "
                               "or use /completion",
                               m.id));
  std::vector<int32_t> ids;
  const auto say = [&](const std::string& text) {
    const auto more = m.tokenizer.encode(text, {.add_special_tokens = false, .parse_special = false});
    ids.insert(ids.end(), more.begin(), more.end());
  };
  if (m.tokenizer.bos_id() >= 0 && !m.tokenizer.encode("a", {}).empty() &&
      m.tokenizer.encode("a", {})[0] == m.tokenizer.bos_id())
    ids.push_back(m.tokenizer.bos_id());
  if (!t.others.empty() && tokens->repo >= 0) ids.push_back(tokens->repo), say("project\n");
  for (const FillText::File& f : t.others) {
    if (tokens->file >= 0)
      ids.push_back(tokens->file), say(f.name + "\n" + f.text);
    else
      say(f.text + "\n\n");
  }
  if (!t.others.empty() && tokens->file >= 0) ids.push_back(tokens->file), say("filename\n");
  ids.push_back(tokens->prefix), say(t.prefix);
  ids.push_back(tokens->suffix), say(t.suffix);
  ids.push_back(tokens->middle), say(t.begun);
  return ids;
}

std::vector<int64_t> fill_stops(const text::Tokenizer& tokenizer) {
  std::vector<int64_t> ids;
  const auto tokens = fill_tokens(tokenizer);
  if (!tokens) return ids;
  for (const int32_t id : {tokens->prefix, tokens->suffix, tokens->middle, tokens->repo, tokens->file,
                           tokenizer.token_to_id("<|fim_pad|>"), tokenizer.token_to_id("<fim_pad>"),
                           tokenizer.token_to_id("<|endoftext|>")})
    if (id >= 0) ids.push_back(id);
  return ids;
}

FillText read_fill(const Json& body) {
  const Fields f(body);
  const auto prefix = f.text("input_prefix"), suffix = f.text("input_suffix");
  if (!prefix) bad_field("input_prefix", "expected a text");
  if (!suffix) bad_field("input_suffix", "expected a text");
  FillText t{.prefix = *prefix, .suffix = *suffix, .begun = f.text("prompt").value_or("")};
  const Json* extra = f.find("input_extra");
  if (!extra) return t;
  if (!extra->is_array()) bad_field("input_extra", "expected a list of objects with filename and text");
  for (const Json& one : extra->as_array()) {
    const Fields file(one);
    const auto text = file.text("text");
    if (!text) bad_field("input_extra", "expected a list of objects with filename and text");
    t.others.push_back({file.text("filename").value_or("file"), *text});
  }
  return t;
}

}  // namespace quern::serve
