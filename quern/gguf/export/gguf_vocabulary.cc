#include "quern/gguf/export/gguf_vocabulary.h"

#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "quern/base/config.h"
#include "quern/gguf/gguf_tokenizer.h"
#include "quern/models/checkpoint.h"
#include "quern/tensor/weight_files.h"
#include "quern/text/chat/chat_template.h"

namespace quern::gguf {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMark = "\xE2\x96\x81";  // ▁

constexpr const char* kTemplate = "tokenizer.chat_template";

struct Vocabulary {
  std::vector<std::string> tokens;
  std::vector<int32_t> kinds;
  std::unordered_map<std::string, int32_t> ids;
};

template <class T>
std::vector<T> read_list(const Json& j, const std::string& what) {
  std::vector<T> list;
  read_value(j, list, what);
  return list;
}
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
  const std::string where = "tokenizer.json, merges";
  for (const Json& m : model.at("merges").as_array(where)) {
    if (m.is_array() && m.as_array().size() != 2)
      fail("{}: expected pairs, found {} pieces", where, m.as_array().size());
    out.push_back(m.is_array() ? m.as_array()[0].as_string(where) + " " + m.as_array()[1].as_string(where)
                               : m.as_string(where));
    if (out.back().find(' ') == std::string::npos) fail("{}: '{}' is not two pieces", where, out.back());
  }
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
      if (!flag(p, "individual_digits", false)) return {};
      split.digits = true;
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

bool is_text(const Json& j, const char* key, const char* text) {
  const Json* v = field(j, key);
  return v && *v == Json(text);
}

// Whether pieces of SentencePiece come out: spaces become marks, nothing else is changed or split.
bool splits_as_pieces(const Json& t) {
  bool marks = false;
  for (const Json& n : parts(field(t, "normalizer"), "normalizers")) {
    const Json* pattern = field(n, "pattern");
    const bool mark =
        is_type(n, "Replace") && pattern && is_text(*pattern, "String", " ") && is_text(n, "content", kMark);
    marks = marks || mark;
    if (!mark && !(is_type(n, "Prepend") && is_text(n, "prepend", kMark))) return false;
  }
  for (const Json& p : parts(field(t, "pre_tokenizer"), "pretokenizers")) {
    const Json* pattern = field(p, "pattern");  // Gemma's, of spaces that are gone by then
    const bool space = is_type(p, "Metaspace") && is_text(p, "replacement", kMark);
    marks = marks || space;
    if (!space && !(is_type(p, "Split") && pattern && is_text(*pattern, "String", " "))) return false;
  }
  return marks && !flag(t.at("model"), "ignore_merges", false);
}

// Readers of scores merge any two pieces that together are one: each of these must be a merge here.
bool merges_all(const Json& model, const Vocabulary& v) {
  const std::vector<std::string> list = merges(model);
  const std::unordered_set<std::string> known(list.begin(), list.end());
  auto normal = [&](const std::string& piece) {
    const auto it = v.ids.find(piece);
    return it != v.ids.end() && v.kinds[static_cast<size_t>(it->second)] == kGgufNormal;
  };
  for (const auto& [whole, id] : v.ids) {
    if (!normal(whole)) continue;
    for (size_t at = 1; at < whole.size(); ++at)
      if (const std::string left = whole.substr(0, at), right = whole.substr(at);
          normal(left) && normal(right) && !known.contains(left + " " + right))
        return false;
  }
  return true;
}

// The tokens that the template of one text puts before and behind it.
struct Around {
  std::vector<std::string> before, behind;
};
Around around(const Json& t) {
  Around a;
  for (const Json& p : parts(field(t, "post_processor"), "processors")) {
    if (!is_type(p, "TemplateProcessing")) continue;
    bool inside = false;
    for (const Json& x : p.at("single").as_array("tokenizer.json, post_processor"))
      if (const Json* special = x.find("SpecialToken"))
        (inside ? a.behind : a.before).push_back(special->at("id").as_string("tokenizer.json, post_processor"));
      else
        inside = true;
  }
  return a;
}

// Ids that config.json names; of several, the first.
using Ids = std::map<std::string, int64_t>;
Ids named_ids(const Json& config, int64_t vocab_size, Notes& notes) {
  Ids ids;
  for (const auto& [name, key] : {std::pair{"bos_token_id", "bos_token_id"},
                                  {"eos_token_id", "eos_token_id"},
                                  {"pad_token_id", "padding_token_id"}}) {
    const Json* given = field(config, name);
    if (given && given->is_array()) {
      const Json::Array& all = given->as_array();
      if (all.size() > 1)
        notes.push_back(fmt::format("config.json, {}: of {} tokens the file names the first only", name, all.size()));
      given = all.empty() ? nullptr : &all[0];
    }
    if (!given) continue;
    const int64_t id = given->as_int(fmt::format("config.json, {}", name));
    if (id >= vocab_size)
      notes.push_back(fmt::format("config.json, {}: {} is no row of the embedding and stays out", name, id));
    else if (id >= 0)  // negative: none
      ids[key] = id;
  }
  return ids;
}

// What goes around a text: one token before it, which is then the file's begin token, and its end token behind it.
void put_around(GgufSheet& s, const Around& a, const Vocabulary& v, Ids& ids, Notes& notes) {
  auto id = [&](const std::vector<std::string>& tokens) {
    const auto it = tokens.size() == 1 ? v.ids.find(tokens[0]) : v.ids.end();
    return it == v.ids.end() ? int64_t{-1} : it->second;
  };
  const int64_t before = id(a.before), behind = id(a.behind);
  if (before >= 0) ids["bos_token_id"] = before;
  if (behind >= 0) ids.emplace("eos_token_id", behind);
  const bool ends = behind >= 0 && ids["eos_token_id"] == behind;
  if ((before < 0 && !a.before.empty()) || (!ends && !a.behind.empty()))
    notes.push_back(
        "tokenizer.json, post_processor: not all tokens that it puts around a text have a place in the file");
  s.set("tokenizer.ggml.add_bos_token", before >= 0);
  s.set("tokenizer.ggml.add_eos_token", ends);
}

void put_ids(GgufSheet& s, const Ids& ids) {
  for (const auto& [key, id] : ids) s.set("tokenizer.ggml." + key, static_cast<uint32_t>(id));
}

void put_tokenizer(GgufSheet& s, const Json& t, int64_t vocab_size, Ids& ids, Notes& notes) {
  const Json& bpe = t.at("model");
  const bool bytes = is_type(bpe, "BPE") && flag(bpe, "byte_fallback", false);
  const std::string_view split = is_type(bpe, "BPE") && !bytes ? split_of(t) : std::string_view();
  std::optional<Vocabulary> v;
  if (!split.empty() || (bytes && splits_as_pieces(t))) v = vocabulary(t, vocab_size);
  if (!v || (bytes && !merges_all(bpe, *v))) {
    s.set("tokenizer.ggml.model", std::string("no_vocab"));
    notes.push_back(
        "the file has no tokenizer: GGUF has no name for the way tokenizer.json splits text; keep it next to "
        "the file, where Quern reads it");
    return;
  }
  s.set("tokenizer.ggml.model", std::string(bytes ? "llama" : "gpt2"));
  s.set("tokenizer.ggml.pre", bytes ? std::string("default") : std::string(split));
  s.set("tokenizer.ggml.tokens", v->tokens);
  s.set("tokenizer.ggml.token_type", v->kinds);
  if (bytes) {
    s.set("tokenizer.ggml.scores", scores(bpe, *v));
    s.set("tokenizer.ggml.add_space_prefix", prepends_space(t));
  } else {
    s.set("tokenizer.ggml.merges", merges(bpe));
  }
  put_around(s, around(t), *v, ids, notes);
}

// A list's kinds of numbers are those that the format gives to scores and to kinds of tokens; another list stays out.
std::optional<GgufWriter::Value> value_of(const std::string& key, const Json& j) {
  if (j.is_bool()) return j.as_bool();
  if (j.is_string()) return j.as_string();
  if (j.is_int() && std::in_range<uint32_t>(j.as_int())) return static_cast<uint32_t>(j.as_int());
  if (j.is_number()) return static_cast<float>(j.as_double());
  if (!j.is_array()) return {};
  if (key == "tokenizer.ggml.scores") return read_list<float>(j, key);
  if (key == "tokenizer.ggml.token_type") return read_list<int32_t>(j, key);
  for (const Json& x : j.as_array())
    if (!x.is_string()) return {};
  return read_list<std::string>(j, key);
}

void copy_tokenizer(GgufSheet& s, const fs::path& file, bool has_template, Notes& notes) {
  const GgufFile from(file);
  const auto model = from.metadata().find("tokenizer.ggml.model");
  if (model == from.metadata().end()) s.set("tokenizer.ggml.model", std::string("no_vocab"));
  if (model == from.metadata().end() || model->second == Json("no_vocab"))
    notes.push_back("the file has no tokenizer, as the one that it was made from");
  for (const auto& [key, value] : from.metadata()) {
    if (!key.starts_with("tokenizer.") || (key == kTemplate && has_template)) continue;
    if (const auto v = value_of(key, value))
      s.set(key, *v);
    else
      notes.push_back(fmt::format("metadata '{}' stays out", key));
  }
}

}  // namespace

void put_vocabulary(GgufSheet& s, const fs::path& model, const Json& config, int64_t vocab_size, Notes& notes) {
  const fs::path folder = fs::is_directory(model) ? model : model.parent_path();
  const bool tokenizer = fs::exists(folder / "tokenizer.json"), has_template = text::ChatTemplate::present(folder);
  if (!tokenizer && fs::is_regular_file(model) && !is_torch_file(model)) {
    copy_tokenizer(s, model, has_template, notes);
  } else {
    Ids ids = named_ids(config, vocab_size, notes);
    if (tokenizer) {
      put_tokenizer(s, Json::read(folder / "tokenizer.json"), vocab_size, ids, notes);
    } else {
      s.set("tokenizer.ggml.model", std::string("no_vocab"));
      notes.push_back("the file has no tokenizer: there is no tokenizer.json");
    }
    put_ids(s, ids);
  }
  if (has_template) s.set(kTemplate, text::ChatTemplate::load(folder).source());
}

}  // namespace quern::gguf
