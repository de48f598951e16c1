#include "quern/text/tokenizer/bpe_train.h"

#include <algorithm>
#include <map>
#include <queue>
#include <set>

#include "quern/base/error.h"
#include "quern/base/json.h"
#include "quern/text/tokenizer/byte_level.h"
#include "quern/text/unicode/regex.h"
#include "quern/text/unicode/utf8.h"

namespace quern::text {
namespace {

// The pattern GPT-2 published: contractions, letters, numbers, the rest, each with at most one blank before.
constexpr const char* kWords = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

struct Word {
  std::vector<int32_t> ids;
  int64_t count;
};

uint64_t pair_key(int32_t a, int32_t b) {
  return static_cast<uint64_t>(static_cast<uint32_t>(a)) << 32 | static_cast<uint32_t>(b);
}

struct Candidate {
  int64_t count;
  uint64_t pair;
  bool operator<(const Candidate& o) const {
    return count != o.count ? count < o.count : pair > o.pair;
  }  // top: most frequent, then lowest ids
};

class Merger {
 public:
  Merger(std::vector<std::string>& vocab, std::vector<Word> words) : vocab_(vocab), words_(std::move(words)) {
    for (size_t i = 0; i < vocab_.size(); ++i) id_.emplace(vocab_[i], static_cast<int32_t>(i));
    for (size_t w = 0; w < words_.size(); ++w)
      for (size_t i = 0; i + 1 < words_[w].ids.size(); ++i) {
        uint64_t p = pair_key(words_[w].ids[i], words_[w].ids[i + 1]);
        count_[p] += words_[w].count;
        where_[p].insert(w);
      }
    for (const auto& [p, n] : count_) queue_.push({n, p});
  }

  std::vector<std::pair<int32_t, int32_t>> run(int64_t vocab_size, int64_t min_frequency) {
    std::vector<std::pair<int32_t, int32_t>> merges;
    while (static_cast<int64_t>(vocab_.size()) < vocab_size && !queue_.empty()) {
      Candidate top = queue_.top();
      queue_.pop();
      int64_t now = count_[top.pair];
      if (now != top.count) {  // counted since; try again at its true place
        if (now > 0) queue_.push({now, top.pair});
        continue;
      }
      if (top.count < 1 || top.count < min_frequency) break;
      int32_t a = static_cast<int32_t>(top.pair >> 32), b = static_cast<int32_t>(top.pair & 0xffffffffu);
      std::string made = vocab_[static_cast<size_t>(a)] + vocab_[static_cast<size_t>(b)];
      auto [it, fresh] = id_.try_emplace(made, static_cast<int32_t>(vocab_.size()));
      if (fresh) vocab_.push_back(made);
      merges.emplace_back(a, b);
      merge(a, b, it->second);
    }
    return merges;
  }

 private:
  void merge(int32_t a, int32_t b, int32_t made) {
    std::set<size_t> words;
    words.swap(where_[pair_key(a, b)]);
    std::set<uint64_t> grown;
    for (size_t w : words) {
      std::vector<int32_t>& ids = words_[w].ids;
      int64_t n = words_[w].count;
      auto change = [&](int32_t x, int32_t y, int64_t by) {
        uint64_t p = pair_key(x, y);
        count_[p] += by;
        if (by > 0) where_[p].insert(w), grown.insert(p);
      };
      for (size_t i = 0; i + 1 < ids.size(); ++i) {
        if (ids[i] != a || ids[i + 1] != b) continue;
        if (i > 0) change(ids[i - 1], a, -n), change(ids[i - 1], made, n);
        if (i + 2 < ids.size()) change(b, ids[i + 2], -n), change(made, ids[i + 2], n);
        ids[i] = made;
        ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      }
    }
    count_[pair_key(a, b)] = 0;
    for (uint64_t p : grown)
      if (count_[p] > 0) queue_.push({count_[p], p});
  }

  std::vector<std::string>& vocab_;
  std::vector<Word> words_;
  std::unordered_map<std::string, int32_t> id_;
  std::unordered_map<uint64_t, int64_t> count_;
  std::unordered_map<uint64_t, std::set<size_t>> where_;
  std::priority_queue<Candidate> queue_;
};

Json byte_level(const char* type) {
  Json j = Json::object();
  j.set("type", type);
  j.set("add_prefix_space", false);
  j.set("trim_offsets", true);
  j.set("use_regex", true);
  return j;
}

Json pre_tokenizer(bool digits) {
  if (!digits) return byte_level("ByteLevel");
  Json d = Json::object(), list = Json::array(), j = Json::object();
  d.set("type", "Digits");
  d.set("individual_digits", true);
  list.push(d);
  list.push(byte_level("ByteLevel"));
  j.set("type", "Sequence");
  j.set("pretokenizers", list);
  return j;
}

// <bos> $A
Json template_with_bos(const std::string& bos, int64_t id) {
  auto piece = [](const char* kind, const std::string& name, const char* id_key) {
    Json inner = Json::object(), outer = Json::object();
    inner.set(id_key, name);
    inner.set("type_id", 0);
    outer.set(kind, inner);
    return outer;
  };
  Json single = Json::array(), pair = Json::array(), ids = Json::array(), tokens = Json::array(),
       entry = Json::object(), specials = Json::object(), j = Json::object();
  single.push(piece("SpecialToken", bos, "id"));
  single.push(piece("Sequence", "A", "id"));
  for (const char* s : {"A", "B"}) {
    pair.push(piece("SpecialToken", bos, "id"));
    pair.push(piece("Sequence", s, "id"));
  }
  ids.push(id);
  tokens.push(bos);
  entry.set("id", bos);
  entry.set("ids", ids);
  entry.set("tokens", tokens);
  specials.set(bos, entry);
  j.set("type", "TemplateProcessing");
  j.set("single", single);
  j.set("pair", pair);
  j.set("special_tokens", specials);
  return j;
}

}  // namespace

BpeTrainer::BpeTrainer(BpeTrainOptions o) : o_(std::move(o)) {
  int64_t minimum = 256 + static_cast<int64_t>(o_.special_tokens.size());
  if (o_.vocab_size < minimum)
    fail("vocabulary of {}: at least {} are needed (256 bytes and {} special tokens)", o_.vocab_size, minimum,
         o_.special_tokens.size());
  if (!o_.bos_token.empty() &&
      std::find(o_.special_tokens.begin(), o_.special_tokens.end(), o_.bos_token) == o_.special_tokens.end())
    fail("bos token '{}' is not one of the special tokens", o_.bos_token);
}

void BpeTrainer::add(std::string_view text) {
  if (size_t at = utf8_error(text); at != text.npos) fail("text to train on: not UTF-8 at byte {}", at);
  static const Regex words(kWords), number("\\p{N}");
  thread_local RegexScratch scratch;
  auto count = [&](std::string_view piece) {
    for (size_t at = 0; at < piece.size();) {
      Regex::Match m = words.find(piece, at, scratch);
      if (!m || m.end == m.begin) return;
      auto [it, fresh] = count_.try_emplace(std::string(piece.substr(m.begin, m.end - m.begin)), 0);
      if (fresh) order_.push_back(it->first);
      ++it->second;
      at = m.end;
    }
  };
  size_t at = 0;
  while (o_.individual_digits && at < text.size()) {
    Regex::Match m = number.find(text, at, scratch);
    if (!m) break;
    count(text.substr(at, m.begin - at));
    count(text.substr(m.begin, m.end - m.begin));
    at = m.end;
  }
  count(text.substr(at));
}

std::string BpeTrainer::train() const {
  std::vector<std::string> vocab = o_.special_tokens;
  std::vector<char32_t> alphabet(byte_level_chars().begin(), byte_level_chars().end());
  std::sort(alphabet.begin(), alphabet.end());
  std::map<char32_t, int32_t> id_of;
  for (char32_t c : alphabet) {
    id_of[c] = static_cast<int32_t>(vocab.size());
    vocab.emplace_back();
    utf8_append(vocab.back(), c);
  }
  std::vector<Word> words;
  for (const std::string& w : order_) {
    words.push_back({{}, count_.at(w)});
    for (unsigned char byte : w) words.back().ids.push_back(id_of[byte_level_chars()[byte]]);
  }
  auto merges = Merger(vocab, std::move(words)).run(o_.vocab_size, o_.min_frequency);

  Json added = Json::array(), ids = Json::object(), pairs = Json::array(), model = Json::object(), j = Json::object();
  for (size_t i = 0; i < o_.special_tokens.size(); ++i) {
    Json t = Json::object();
    t.set("id", static_cast<int64_t>(i));
    t.set("content", o_.special_tokens[i]);
    for (const char* key : {"single_word", "lstrip", "rstrip", "normalized"}) t.set(key, false);
    t.set("special", true);
    added.push(t);
  }
  for (size_t i = 0; i < vocab.size(); ++i) ids.members().emplace_back(vocab[i], static_cast<int64_t>(i));
  for (auto [a, b] : merges) {
    Json p = Json::array();
    p.push(vocab[static_cast<size_t>(a)]);
    p.push(vocab[static_cast<size_t>(b)]);
    pairs.push(std::move(p));
  }
  model.set("type", "BPE");
  for (const char* key : {"dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix"})
    model.set(key, Json());
  for (const char* key : {"fuse_unk", "byte_fallback", "ignore_merges"}) model.set(key, false);
  model.set("vocab", std::move(ids));
  model.set("merges", std::move(pairs));
  j.set("version", "1.0");
  j.set("truncation", Json());
  j.set("padding", Json());
  j.set("added_tokens", added);
  j.set("normalizer", Json());
  j.set("pre_tokenizer", pre_tokenizer(o_.individual_digits));
  auto bos = std::find(o_.special_tokens.begin(), o_.special_tokens.end(), o_.bos_token);
  j.set("post_processor",
        o_.bos_token.empty() ? Json() : template_with_bos(o_.bos_token, bos - o_.special_tokens.begin()));
  j.set("decoder", byte_level("ByteLevel"));
  j.set("model", std::move(model));
  return j.dump(1) + "\n";
}

}  // namespace quern::text
