// BERT's older folders have no tokenizer.json: the vocabulary is vocab.txt, the rest follows from a few switches of
// tokenizer_config.json and from five tokens that such vocabularies have.
#include "quern/base/error.h"
#include "quern/base/mmap.h"
#include "quern/text/tokenizer/tokenizer_file.h"

namespace quern::text {
namespace {

std::string token_name(const Json& config, const char* key, const char* otherwise) {
  const Json* t = config.find(key);
  if (t && t->is_object()) t = t->find("content");
  return t && t->is_string() ? t->as_string() : otherwise;
}

Json normalizer(const Json& config) {
  Json n = Json::object();
  n.set("type", "BertNormalizer");
  const auto flag = [&](const char* key, bool otherwise) {
    const Json* v = config.find(key);
    return v && !v->is_null() ? v->as_bool(key) : otherwise;
  };
  n.set("clean_text", true);
  n.set("handle_chinese_chars", flag("tokenize_chinese_chars", true));
  n.set("lowercase", flag("do_lower_case", true));
  if (const Json* accents = config.find("strip_accents")) n.set("strip_accents", *accents);
  return n;
}

}  // namespace

TokenizerFile read_vocab_txt(const std::filesystem::path& vocab, const Json& config) {
  TokenizerFile f;
  f.kind = TokenModel::word_piece;
  const std::string text = read_file(vocab);
  int64_t id = 0;
  for (size_t at = 0; at < text.size(); ++id) {
    size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = std::string_view(text).substr(at, end - at);
    if (line.ends_with('\r')) line.remove_suffix(1);
    f.bpe.vocab.add(line, id);
    at = end + 1;
  }
  f.bpe.vocab.finish();
  f.words.unk_token = token_name(config, "unk_token", "[UNK]");
  f.model_rest.set("unk_token", f.words.unk_token);
  f.model_rest.set("continuing_subword_prefix", f.words.prefix);
  f.model_rest.set("max_input_chars_per_word", f.words.max_characters);
  const std::string cls = token_name(config, "cls_token", "[CLS]"), sep = token_name(config, "sep_token", "[SEP]");
  for (const std::string& name : {token_name(config, "pad_token", "[PAD]"), f.words.unk_token, cls, sep,
                                  token_name(config, "mask_token", "[MASK]")}) {
    const int32_t known = f.bpe.vocab.find(name);
    if (known < 0) fail("{}: special token '{}' is not in it", vocab.string(), name);
    AddedToken t;
    t.content = name;
    t.id = known;
    t.special = true;
    f.added.push_back(std::move(t));
  }
  Json pre = Json::object(), post = Json::object(), decoder = Json::object();
  pre.set("type", "BertPreTokenizer");
  decoder.set("type", "WordPiece");
  post.set("type", "BertProcessing");
  const auto with_id = [&](const std::string& name) {
    Json pair = Json::array();
    pair.push(name), pair.push(int64_t{f.bpe.vocab.find(name)});
    return pair;
  };
  post.set("sep", with_id(sep)), post.set("cls", with_id(cls));
  f.rest.set("normalizer", normalizer(config));
  f.rest.set("pre_tokenizer", std::move(pre));
  f.rest.set("post_processor", std::move(post));
  f.rest.set("decoder", std::move(decoder));
  return f;
}

}  // namespace quern::text
