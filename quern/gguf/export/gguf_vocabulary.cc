#include "quern/gguf/export/gguf_vocabulary.h"

#include <unordered_map>

#include "quern/base/error.h"
#include "quern/gguf/gguf_tokenizer.h"
#include "quern/models/checkpoint.h"
#include "quern/text/chat/chat_template.h"

namespace quern::gguf {
namespace {

namespace fs = std::filesystem;

struct Vocabulary {
  std::vector<std::string> tokens;
  std::vector<int32_t> kinds;
  std::unordered_map<std::string, int32_t> ids;
};

const Json* field(const Json& j, const char* key) {
  const Json* v = j.is_object() ? j.find(key) : nullptr;
  return v && !v->is_null() ? v : nullptr;
}
bool flag(const Json& j, const char* key, bool otherwise) {
  const Json* v = field(j, key);
  return v ? v->as_bool(key) : otherwise;
}
bool is_type(const Json& j, const char* type) {
  const Json* t = field(j, "type");
  return t && *t == Json(type);
}
// The parts of a Sequence, or the one component itself; none of null.
std::vector<Json> parts(const Json* j, const char* list) {
  if (!j) return {};
  if (!is_type(*j, "Sequence")) return {*j};
  return j->at(list).as_array();
}

Vocabulary vocabulary(const Json& t, int64_t size) {
  Vocabulary v;
  for (int64_t i = 0; i < size; ++i) v.tokens.push_back(fmt::format("[PAD{}]", i)), v.kinds.push_back(kGgufUnused);
  auto put = [&](const std::string& token, int64_t id, int32_t kind) {
    if (id < 0 || id >= size)
      fail("tokenizer.json: token '{}' has number {}, the embedding has {} rows", token, id, size);
    v.tokens[static_cast<size_t>(id)] = token, v.kinds[static_cast<size_t>(id)] = kind;
    v.ids[token] = static_cast<int32_t>(id);
  };
  const Json& model = t.at("model");
  const bool fallback = flag(model, "byte_fallback", false);
  for (const auto& [token, id] : model.at("vocab").as_object("tokenizer.json, vocab")) {
    const bool byte = fallback && token.size() == 6 && token.starts_with("<0x") && token.ends_with(">");
    put(token, id.as_int("tokenizer.json, vocab"), byte ? kGgufByte : kGgufNormal);
  }
  const Json* unknown = field(model, "unk_token");
  if (const Json* added = field(t, "added_tokens"))
    for (const Json& a : added->as_array("tokenizer.json, added_tokens")) {
      const std::string& token = a.at("content").as_string();
      const bool unk = unknown && *unknown == Json(token);
      put(token, a.at("id").as_int(),
          unk                         ? kGgufUnknown
          : flag(a, "special", false) ? kGgufControl
                                      : kGgufUserDefined);
    }
  return v;
}

std::vector<std::string> merges(const Json& model) {
  std::vector<std::string> out;
  for (const Json& m : model.at("merges").as_array("tokenizer.json, merges"))
    out.push_back(m.is_array() ? m.as_array()[0].as_string() + " " + m.as_array()[1].as_string() : m.as_string());
  return out;
}

// The better the score of a piece, the earlier two pieces become it: minus the rank of its first merge.
std::vector<float> scores(const Json& model, const Vocabulary& v) {
  std::vector<float> s(v.tokens.size(), 0);
  std::vector<bool> seen(v.tokens.size());
  float rank = 0;
  for (const std::string& m : merges(model)) {
    const size_t space = m.find(' ');
    const auto made = v.ids.find(m.substr(0, space) + m.substr(space + 1));
    rank -= 1;
    if (made == v.ids.end() || seen[static_cast<size_t>(made->second)]) continue;
    s[static_cast<size_t>(made->second)] = rank, seen[static_cast<size_t>(made->second)] = true;
  }
  return s;
}

// How a byte-level tokenizer splits, by its name in GGUF; empty: none.
std::string_view split_of(const Json& t) {
  ByteLevelSplit split;
  bool bytes = false, own_pattern = false;
  for (const Json& n : parts(field(t, "normalizer"), "normalizers")) {
    if (!is_type(n, "NFC")) return {};
    split.nfc = true;
  }
  for (const Json& p : parts(field(t, "pre_tokenizer"), "pretokenizers")) {
    if (is_type(p, "Digits")) {
      split.digits = flag(p, "individual_digits", false);
    } else if (is_type(p, "ByteLevel") && !flag(p, "add_prefix_space", true)) {
      bytes = true, own_pattern = flag(p, "use_regex", true);
    } else if (is_type(p, "Split") && split.pattern.empty() && p.at("pattern").find("Regex")) {
      split.pattern = p.at("pattern").at("Regex").as_string();
    } else {
      return {};
    }
  }
  if (!bytes || own_pattern != split.pattern.empty()) return {};
  split.whole_words = flag(t.at("model"), "ignore_merges", false);
  return split_name(split);
}

bool prepends_space(const Json& t) {
  for (const Json& n : parts(field(t, "normalizer"), "normalizers"))
    if (is_type(n, "Prepend")) return true;
  for (const Json& p : parts(field(t, "pre_tokenizer"), "pretokenizers"))
    if (is_type(p, "Metaspace")) {
      const Json* scheme = field(p, "prepend_scheme");
      return scheme ? !(*scheme == Json("never")) : flag(p, "add_prefix_space", true);
    }
  return false;
}

bool has_bos_first(const Json& t) {
  for (const Json& p : parts(field(t, "post_processor"), "processors"))
    if (is_type(p, "TemplateProcessing"))
      if (const auto& single = p.at("single").as_array(); !single.empty()) return single[0].find("SpecialToken");
  return false;
}

void put_ids(GgufSheet& s, const Json& config) {
  for (const auto& [name, key] : {std::pair{"bos_token_id", "tokenizer.ggml.bos_token_id"},
                                  {"eos_token_id", "tokenizer.ggml.eos_token_id"},
                                  {"pad_token_id", "tokenizer.ggml.padding_token_id"}}) {
    const Json* id = field(config, name);
    if (id && id->is_array()) id = id->as_array().empty() ? nullptr : &id->as_array()[0];
    if (id) s.set(key, static_cast<uint32_t>(id->as_int(name)));
  }
}

}  // namespace

void put_vocabulary(GgufSheet& s, const fs::path& model, const Json& config, int64_t vocab_size, Notes& notes) {
  put_ids(s, config);
  const fs::path folder = fs::is_directory(model) ? model : model.parent_path();
  auto none = [&](const std::string& why) {
    s.set("tokenizer.ggml.model", std::string("no_vocab"));
    notes.push_back(why);
  };
  if (!fs::exists(folder / "tokenizer.json")) return none("the file has no tokenizer: there is no tokenizer.json");
  const Json t = Json::read(folder / "tokenizer.json");
  const Json& bpe = t.at("model");
  const bool pieces = is_type(bpe, "BPE") && flag(bpe, "byte_fallback", false);
  const std::string_view split = is_type(bpe, "BPE") && !pieces ? split_of(t) : std::string_view();
  if (!pieces && split.empty())
    return none(
        "the file has no tokenizer: GGUF has no name for the way tokenizer.json splits text; keep it next to "
        "the file, where Quern reads it");
  const Vocabulary v = vocabulary(t, vocab_size);
  s.set("tokenizer.ggml.model", std::string(pieces ? "llama" : "gpt2"));
  s.set("tokenizer.ggml.pre", pieces ? std::string("default") : std::string(split));
  s.set("tokenizer.ggml.tokens", v.tokens);
  s.set("tokenizer.ggml.token_type", v.kinds);
  if (pieces) {
    s.set("tokenizer.ggml.scores", scores(bpe, v));
    s.set("tokenizer.ggml.add_space_prefix", prepends_space(t));
  } else {
    s.set("tokenizer.ggml.merges", merges(bpe));
  }
  s.set("tokenizer.ggml.add_bos_token", has_bos_first(t));
  if (text::ChatTemplate::present(folder))
    s.set("tokenizer.chat_template", text::ChatTemplate::load(folder).source());
}

}  // namespace quern::gguf
