#include "quern/gguf/gguf_tokenizer.h"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "quern/base/error.h"

namespace quern::gguf {
namespace {

constexpr const char* kMark = "\xE2\x96\x81";  // ▁

// How text is split before merging, by tokenizer.ggml.pre. A null pattern is the byte-level splitter's own.
struct Split {
  std::string_view name;
  const char* pattern;
  bool digits, nfc, whole_words;  // digits one by one; normalize to NFC; a word that is a token needs no merges
  bool begins;                    // begin token unless the file says otherwise
};
constexpr const char* kLlama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* kQwen2 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr Split kSplits[] = {{"llama-bpe", kLlama3, false, false, true, true},
                             {"qwen2", kQwen2, false, true, false, false},
                             {"deepseek-r1-qwen", kQwen2, false, true, false, false},
                             {"dbrx", kLlama3, false, false, false, false},  // Granite 4 as well
                             {"falcon-h1", kLlama3, false, false, true, true},
                             {"gpt-2", nullptr, false, false, false, false},
                             {"smollm", nullptr, true, false, false, false},
                             {"starcoder", nullptr, true, false, false, false},
                             {"refact", nullptr, true, false, false, false}};

Json object(std::initializer_list<std::pair<const char*, Json>> fields) {
  Json j = Json::object();
  for (const auto& [key, value] : fields) j.members().emplace_back(key, value);
  return j;
}
Json sequence(const char* list, Json::Array parts) {
  return object({{"type", "Sequence"}, {list, Json(std::move(parts))}});
}
Json literal(const char* s) { return object({{"String", s}}); }

class Source {
 public:
  explicit Source(const GgufFile& f) : file_(f), tokens(list("tokens")) {
    if (tokens.empty()) fail("{}: no tokens", where("tokens"));
    if (find("token_type")) {
      for (const Json& k : list("token_type")) kinds.push_back(k.as_int(where("token_type")));
      if (kinds.size() != tokens.size())
        fail("{}: {} kinds for {} tokens", where("token_type"), kinds.size(), tokens.size());
    } else {
      kinds.assign(tokens.size(), kGgufNormal);
    }
  }
  std::string where(const std::string& key) const {
    return fmt::format("{}, metadata 'tokenizer.ggml.{}'", file_.path().string(), key);
  }
  const Json* find(const std::string& key) const {
    auto it = file_.metadata().find("tokenizer.ggml." + key);
    return it == file_.metadata().end() ? nullptr : &it->second;
  }
  const Json& at(const std::string& key) const {
    const Json* j = find(key);
    if (!j) fail("{} is missing", where(key));
    return *j;
  }
  const Json::Array& list(const std::string& key) const { return at(key).as_array(where(key)); }
  bool flag(const std::string& key, bool otherwise) const {
    const Json* j = find(key);
    return j ? j->as_bool(where(key)) : otherwise;
  }
  // −1 when absent.
  int64_t id(const std::string& key) const {
    const Json* j = find(key);
    if (!j) return -1;
    const int64_t v = j->as_int(where(key));
    if (v < 0 || v >= static_cast<int64_t>(tokens.size()))
      fail("{}: {}, expected 0 … {}", where(key), v, tokens.size() - 1);
    return v;
  }
  const std::string& token(size_t i) const { return tokens[i].as_string(where("tokens")); }

 private:
  const GgufFile& file_;

 public:
  const Json::Array& tokens;
  std::vector<int64_t> kinds;
};

bool added(int64_t kind) { return kind == kGgufUnknown || kind == kGgufControl || kind == kGgufUserDefined; }

Json added_tokens(const Source& s) {
  Json::Array all;
  for (size_t i = 0; i < s.tokens.size(); ++i)
    if (added(s.kinds[i]))
      all.push_back(object({{"id", static_cast<int64_t>(i)},
                            {"content", s.token(i)},
                            {"single_word", false},
                            {"lstrip", false},
                            {"rstrip", false},
                            {"normalized", false},
                            {"special", s.kinds[i] != kGgufUserDefined}}));
  return all;
}

// <bos> before and <eos> behind, as the file says.
Json post_processor(const Source& s, bool begins) {
  Json::Array single;
  Json specials = Json::object();
  auto put = [&](const char* flag, const char* key, bool otherwise) {
    if (!s.flag(flag, otherwise) || s.id(key) < 0) return;
    const int64_t id = s.id(key);
    const std::string& t = s.token(static_cast<size_t>(id));
    single.push_back(object({{"SpecialToken", object({{"id", t}, {"type_id", 0}})}}));
    specials.set(t, object({{"id", t}, {"ids", Json(Json::Array{id})}, {"tokens", Json(Json::Array{t})}}));
  };
  put("add_bos_token", "bos_token_id", begins);
  single.push_back(object({{"Sequence", object({{"id", "A"}, {"type_id", 0}})}}));
  put("add_eos_token", "eos_token_id", false);
  if (single.size() == 1) return Json();
  return object({{"type", "TemplateProcessing"}, {"single", single}, {"pair", single}, {"special_tokens", specials}});
}

Json vocabulary(const Source& s, bool with_added) {
  Json v = Json::object();
  for (size_t i = 0; i < s.tokens.size(); ++i)
    if (with_added || !added(s.kinds[i])) v.members().emplace_back(s.token(i), static_cast<int64_t>(i));
  return v;
}

Json byte_level(const Source& s) {
  const std::string pre = s.at("pre").as_string(s.where("pre"));
  const Split* split =
      std::find_if(std::begin(kSplits), std::end(kSplits), [&](const Split& x) { return x.name == pre; });
  if (split == std::end(kSplits)) {
    std::vector<std::string_view> names;
    for (const Split& x : kSplits) names.push_back(x.name);
    fail("{}: '{}' is not supported, expected one of {}; put the model's tokenizer.json next to the file",
         s.where("pre"), pre, fmt::join(names, ", "));
  }
  Json::Array steps;
  if (split->digits) steps.push_back(object({{"type", "Digits"}, {"individual_digits", true}}));
  if (split->pattern)
    steps.push_back(object({{"type", "Split"},
                            {"pattern", object({{"Regex", split->pattern}})},
                            {"behavior", "Isolated"},
                            {"invert", false}}));
  steps.push_back(object({{"type", "ByteLevel"},
                          {"add_prefix_space", false},
                          {"trim_offsets", true},
                          {"use_regex", split->pattern == nullptr}}));
  return object({{"version", "1.0"},
                 {"added_tokens", added_tokens(s)},
                 {"normalizer", split->nfc ? object({{"type", "NFC"}}) : Json()},
                 {"pre_tokenizer", sequence("pretokenizers", std::move(steps))},
                 {"post_processor", post_processor(s, split->begins)},
                 {"decoder", object({{"type", "ByteLevel"}})},
                 {"model", object({{"type", "BPE"},
                                   {"ignore_merges", split->whole_words},
                                   {"vocab", vocabulary(s, false)},
                                   {"merges", Json(s.list("merges"))}})}});
}

// Two pieces that together are a piece may merge; the better the score of the whole, the earlier.
Json::Array merges_of(const Source& s) {
  const Json::Array& scores = s.list("scores");
  if (scores.size() != s.tokens.size())
    fail("{}: {} scores for {} tokens", s.where("scores"), scores.size(), s.tokens.size());
  std::unordered_map<std::string_view, size_t> ids;
  for (size_t i = 0; i < s.tokens.size(); ++i) ids.emplace(s.token(i), i);
  struct Merge {
    double score;
    size_t left_length, right_length, left, right;  // lengths in characters
  };
  std::vector<Merge> all;
  for (size_t i = 0; i < s.tokens.size(); ++i) {
    if (s.kinds[i] != kGgufNormal && s.kinds[i] != kGgufUserDefined && s.kinds[i] != kGgufUnused) continue;
    const std::string& whole = s.token(i);
    auto begins = [&](size_t at) { return (static_cast<unsigned char>(whole[at]) & 0xC0) != 0x80; };
    const auto length = static_cast<size_t>(std::count_if(
        whole.begin(), whole.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
    const size_t first = all.size();
    for (size_t at = 1, before = 1; at < whole.size(); ++at) {
      if (!begins(at)) continue;
      const auto left = ids.find(std::string_view(whole).substr(0, at)),
                 right = ids.find(std::string_view(whole).substr(at));
      if (left != ids.end() && right != ids.end())
        all.push_back({scores[i].as_double(s.where("scores")), before, length - before, left->second, right->second});
      ++before;
    }
    std::sort(all.begin() + static_cast<std::ptrdiff_t>(first), all.end(),
              [](const Merge& a, const Merge& b) { return std::pair(a.left, a.right) < std::pair(b.left, b.right); });
  }
  std::stable_sort(all.begin(), all.end(), [](const Merge& a, const Merge& b) {
    return std::tie(a.score, a.left_length, a.right_length) > std::tie(b.score, b.left_length, b.right_length);
  });
  Json::Array out;
  out.reserve(all.size());
  for (const Merge& m : all) out.push_back(Json(Json::Array{s.tokens[m.left], s.tokens[m.right]}));
  return out;
}

Json sentence_pieces(const Source& s) {
  const bool space = s.flag("add_space_prefix", true);
  Json::Array normal, back;
  if (space) normal.push_back(object({{"type", "Prepend"}, {"prepend", kMark}}));
  normal.push_back(object({{"type", "Replace"}, {"pattern", literal(" ")}, {"content", kMark}}));
  back.push_back(object({{"type", "Replace"}, {"pattern", literal(kMark)}, {"content", " "}}));
  back.push_back(object({{"type", "ByteFallback"}}));
  back.push_back(object({{"type", "Fuse"}}));
  if (space) back.push_back(object({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}}));
  Json unknown;
  for (size_t i = 0; i < s.kinds.size() && unknown.is_null(); ++i)
    if (s.kinds[i] == kGgufUnknown) unknown = s.tokens[i];
  return object({{"version", "1.0"},
                 {"added_tokens", added_tokens(s)},
                 {"normalizer", sequence("normalizers", std::move(normal))},
                 {"pre_tokenizer", Json()},
                 {"post_processor", post_processor(s, true)},
                 {"decoder", sequence("decoders", std::move(back))},
                 {"model", object({{"type", "BPE"},
                                   {"unk_token", unknown},
                                   {"fuse_unk", true},
                                   {"byte_fallback", true},
                                   {"vocab", vocabulary(s, true)},
                                   {"merges", merges_of(s)}})}});
}

}  // namespace

std::string_view split_name(const ByteLevelSplit& split) {
  // Two spellings of the same contractions, one behind the other, are in use.
  constexpr std::string_view kOther = "(?i:'(?:s|t|re|ve|m|ll|d))", kOurs = "(?i:'s|'t|'re|'ve|'m|'ll|'d)";
  const std::string pattern = split.pattern.starts_with(kOther)
                                  ? fmt::format("{}{}", kOurs, split.pattern.substr(kOther.size()))
                                  : split.pattern;
  for (const Split& s : kSplits)
    if (pattern == (s.pattern ? s.pattern : "") && split.digits == s.digits && split.nfc == s.nfc &&
        split.whole_words == s.whole_words)
      return s.name;
  return {};
}

text::Tokenizer read_tokenizer(const GgufFile& file) {
  const auto& m = file.metadata();
  const std::string path = file.path().string();
  auto it = m.find("tokenizer.ggml.model");
  if (it == m.end()) fail("{} contains no tokenizer, and there is no tokenizer.json next to it", path);
  const std::string& kind = it->second.as_string(path + ", metadata 'tokenizer.ggml.model'");
  if (kind != "gpt2" && kind != "llama")
    fail(
        "{}, metadata 'tokenizer.ggml.model': '{}' is not supported, expected gpt2 or llama; put the model's "
        "tokenizer.json next to the file",
        path, kind);
  const Source s(file);
  const Json j = kind == "gpt2" ? byte_level(s) : sentence_pieces(s);
  try {
    return text::Tokenizer::from_json(j.dump(), {.bos = static_cast<int32_t>(s.id("bos_token_id")),
                                                 .eos = static_cast<int32_t>(s.id("eos_token_id")),
                                                 .pad = static_cast<int32_t>(s.id("padding_token_id"))});
  } catch (const Error& e) {
    fail("{}, its tokenizer: {}", path, e.what());
  }
}

}  // namespace quern::gguf
