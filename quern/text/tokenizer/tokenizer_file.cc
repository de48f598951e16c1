#include "quern/text/tokenizer/tokenizer_file.h"

#include <algorithm>

#include <simdjson.h>
#include <unistd.h>

#include "quern/base/error.h"
#include "quern/base/mmap.h"

namespace quern::text {
namespace {

namespace od = simdjson::ondemand;

[[noreturn]] void bad(std::string_view what, simdjson::error_code e) {
  fail("tokenizer.json: {}: {}", what, simdjson::error_message(e));
}

template <class T>
T get(simdjson::simdjson_result<T> r, std::string_view what) {
  T v;
  if (auto e = std::move(r).get(v)) bad(what, e);
  return v;
}

Json small(od::value v, std::string_view what) {
  std::string_view raw;
  if (auto e = simdjson::to_json_string(v).get(raw)) bad(what, e);
  return Json::parse(raw, fmt::format("tokenizer.json: {}", what));
}

struct Reader {
  TokenizerFile& f;
  bool have_vocab = false, have_merges = false;
  size_t size;

  void read_vocab(od::object vocab) {
    // About 40 bytes an entry in real files; the tables grow if that is wrong.
    f.bpe.vocab.reserve(std::min<size_t>(size / 128 + 16, 1 << 19), std::min<size_t>(size / 8, 8 << 20));
    for (auto field : vocab) {
      std::string_view key;
      if (auto e = field.unescaped_key().get(key)) bad("model.vocab", e);
      int64_t id;
      if (auto e = field.value().get_int64().get(id)) bad(fmt::format("model.vocab: id of '{}'", key), e);
      f.bpe.vocab.add(key, id);
    }
    f.bpe.vocab.finish();
    have_vocab = true;
  }

  // [token, log probability] by id.
  void read_scored_vocab(od::array vocab) {
    std::string token;
    for (auto item : vocab) {
      od::array pair = get(item.get_array(), "model.vocab: an entry");
      double score = 0;
      int n = 0;
      for (auto part : pair) {
        std::string_view s;
        if (n == 0) {
          if (auto e = part.get_string().get(s)) bad("model.vocab: a token", e);
          token.assign(s);
        } else if (auto e = part.get_double().get(score)) {
          bad(fmt::format("model.vocab: score of '{}'", token), e);
        }
        ++n;
      }
      if (n != 2) fail("tokenizer.json: model.vocab: an entry has {} parts, expected a token and its score", n);
      f.bpe.vocab.add(token, static_cast<int64_t>(f.unigram.scores.size()));
      f.unigram.scores.push_back(score);
    }
    f.bpe.vocab.finish();
    have_vocab = true;
  }

  // Merges are looked up in groups, so that the misses of one group overlap.
  struct Pending {
    uint32_t at, left, right;
    uint64_t hash_left, hash_right, hash_made;
  };
  std::string text;
  std::vector<Pending> group;
  std::vector<Bpe::Merge> ready;
  std::string made;

  void drain() {
    const Vocab& v = f.bpe.vocab;
    for (const Pending& p : group) {
      std::string_view both(text.data() + p.at, p.left + p.right), a = both.substr(0, p.left),
                                                                   b = both.substr(p.left);
      int32_t l = v.find(a, p.hash_left), r = v.find(b, p.hash_right), m = v.find(both, p.hash_made);
      if (prefix_size() > 0 && r >= 0 && b.starts_with(f.bpe.options.continuing_subword_prefix)) {
        made.assign(a);
        made += b.substr(prefix_size());
        m = v.find(made);
      }
      if (l < 0 || r < 0 || m < 0)
        fail("tokenizer.json: merge '{} {}': '{}' is not in the vocabulary", a, b, l < 0 ? a : r < 0 ? b : both);
      ready.push_back({l, r, m});
      f.bpe.prefetch_merge(l, r);
    }
    for (const Bpe::Merge& m : ready) f.bpe.add_merge(m.left, m.right, m.made);
    ready.clear();
    group.clear();
    text.clear();
  }
  size_t prefix_size() const { return f.bpe.options.continuing_subword_prefix.size(); }

  void merge(std::string_view a, std::string_view b) {
    const Vocab& v = f.bpe.vocab;
    auto at = static_cast<uint32_t>(text.size());
    text += a;
    text += b;
    const char* p = text.data() + at;
    Pending m{at,
              static_cast<uint32_t>(a.size()),
              static_cast<uint32_t>(b.size()),
              hash_bytes(p, a.size()),
              hash_bytes(p + a.size(), b.size()),
              hash_bytes(p, a.size() + b.size())};
    v.prefetch(m.hash_left);
    v.prefetch(m.hash_right);
    v.prefetch(m.hash_made);
    group.push_back(m);
    if (group.size() == 32) drain();
  }

  void read_merges(od::array merges) {
    if (f.bpe.vocab.size() == 0) fail("tokenizer.json: model.merges needs a model.vocab");
    f.bpe.reserve_merges(std::min<size_t>(f.bpe.vocab.size() * 2, size / 8));
    std::string first;
    for (auto item : merges) {
      od::value v;
      if (auto e = item.get(v)) bad("model.merges", e);
      od::json_type type = get(v.type(), "model.merges");
      if (type == od::json_type::string) {
        std::string_view s;
        if (auto e = v.get_string().get(s)) bad("model.merges", e);
        size_t space = s.find(' ');
        if (space == std::string_view::npos || s.find(' ', space + 1) != std::string_view::npos)
          fail("tokenizer.json: merge '{}' must be two tokens with one space between", s);
        merge(s.substr(0, space), s.substr(space + 1));
        continue;
      }
      od::array pair = get(v.get_array(), "model.merges: an entry");
      int n = 0;
      for (auto part : pair) {
        std::string_view s;
        if (auto e = part.get_string().get(s)) bad("model.merges", e);
        if (n == 0) first.assign(s);
        if (n == 1) merge(first, s);
        ++n;
      }
      if (n != 2) fail("tokenizer.json: a merge has {} parts, expected 2", n);
    }
    drain();
  }

  void read_model(od::object model, bool merges_pass) {
    for (auto field : model) {
      std::string_view key;
      if (auto e = field.unescaped_key().get(key)) bad("model", e);
      od::value v;
      if (key == "vocab") {
        if (merges_pass) continue;
        if (auto e = field.value().get(v)) bad("model.vocab", e);
        od::json_type type = get(v.type(), "model.vocab");
        if (type == od::json_type::array) {
          read_scored_vocab(get(v.get_array(), "model.vocab"));
        } else if (type == od::json_type::object) {
          read_vocab(get(v.get_object(), "model.vocab"));
        } else {
          fail("tokenizer.json: model.vocab must be an object of token → id, or a list of [token, score] (Unigram)");
        }
      } else if (key == "merges") {
        // Nearly every file has them last. Before the vocabulary or the options they are left for a second walk.
        bool ready = have_vocab && f.model_rest.find("continuing_subword_prefix");
        if (have_merges || (!merges_pass && !ready)) continue;
        if (!merges_pass) options();
        if (auto e = field.value().get(v)) bad("model.merges", e);
        read_merges(get(v.get_array(), "model.merges"));
        have_merges = true;
      } else if (!merges_pass) {
        std::string name(key);
        if (auto e = field.value().get(v)) bad("model", e);
        f.model_rest.set(name, small(v, "model." + name));
      }
    }
  }

  void options() {
    const Json& m = f.model_rest;
    auto text_of = [&](const char* key) {
      const Json* v = m.find(key);
      return v && !v->is_null() ? v->as_string(key) : std::string();
    };
    auto flag = [&](const char* key) {
      const Json* v = m.find(key);
      return v && !v->is_null() && v->as_bool(key);
    };
    const bool scored = !f.unigram.scores.empty();
    // Files of before the field was written: only Unigram's vocabulary is a list.
    const std::string type = m.find("type") ? text_of("type") : scored ? "Unigram" : "BPE";
    if (type != "BPE" && type != "WordPiece" && type != "Unigram")
      fail("tokenizer.json: model of type '{}' is not supported; known types: BPE, WordPiece, Unigram", type);
    if (have_vocab && scored != (type == "Unigram"))
      fail("tokenizer.json: model.vocab of type {} must be {}", type,
           scored ? "an object of token → id" : "a list of [token, score]");
    if (type == "WordPiece") {
      f.kind = TokenModel::word_piece;
      f.words.unk_token = text_of("unk_token");
      if (m.find("continuing_subword_prefix")) f.words.prefix = text_of("continuing_subword_prefix");
      if (const Json* n = m.find("max_input_chars_per_word"))
        f.words.max_characters = n->as_int("max_input_chars_per_word");
      return;
    }
    if (type == "Unigram") {
      f.kind = TokenModel::unigram;
      if (const Json* id = m.find("unk_id"); id && !id->is_null()) f.unigram.unk_id = id->as_int("unk_id");
      f.unigram.byte_fallback = flag("byte_fallback");
      return;
    }
    if (const Json* d = m.find("dropout"); d && !d->is_null() && d->as_double("dropout") != 0)
      fail("tokenizer.json: model.dropout is {}: random encodings are not supported, set it to null", d->as_double());
    auto& o = f.bpe.options;
    o.unk_token = text_of("unk_token");
    o.continuing_subword_prefix = text_of("continuing_subword_prefix");
    o.end_of_word_suffix = text_of("end_of_word_suffix");
    o.fuse_unk = flag("fuse_unk");
    o.byte_fallback = flag("byte_fallback");
    o.ignore_merges = flag("ignore_merges");
  }
};

std::vector<AddedToken> added_tokens(const Json& list) {
  std::vector<AddedToken> out;
  for (const Json& j : list.as_array("added_tokens")) {
    AddedToken t;
    t.content = j.at("content", "added_tokens").as_string("added_tokens content");
    int64_t id = j.at("id", "added_tokens").as_int("added_tokens id");
    if (id < 0 || id > 1 << 24)
      fail("tokenizer.json: added token '{}' has id {}, expected 0 … {}", t.content, id, 1 << 24);
    t.id = static_cast<int32_t>(id);
    auto flag = [&](const char* key) {
      const Json* v = j.find(key);
      return v && v->as_bool(key);
    };
    t.special = flag("special");
    t.lstrip = flag("lstrip");
    t.rstrip = flag("rstrip");
    t.single_word = flag("single_word");
    t.normalized = flag("normalized");
    out.push_back(std::move(t));
  }
  return out;
}

TokenizerFile parse_padded(simdjson::padded_string_view text) {
  TokenizerFile f;
  Reader reader{.f = f, .size = text.size(), .text = {}, .group = {}, .ready = {}, .made = {}};
  od::parser parser;
  for (int pass = 0; pass < 2 && !(pass == 1 && reader.have_merges); ++pass) {
    od::document doc;
    if (auto e = parser.iterate(text).get(doc)) bad("not valid JSON", e);
    od::object root;
    if (auto e = doc.get_object().get(root)) bad("expected an object", e);
    bool seen = false;
    for (auto field : root) {
      std::string_view key;
      if (auto e = field.unescaped_key().get(key)) bad("top level", e);
      if (key == "model") {
        if (seen) fail("tokenizer.json: field 'model' is given twice");
        seen = true;
        reader.read_model(get(field.value().get_object(), "model"), pass == 1);
        if (pass == 1) break;
      } else if (pass == 0) {
        std::string name(key);
        od::value v;
        if (auto e = field.value().get(v)) bad(name, e);
        Json j = small(v, name);
        if (name == "added_tokens") {
          f.added = added_tokens(j);
        } else {
          f.rest.set(name, std::move(j));
        }
      }
    }
    if (pass == 0) {
      if (!seen) fail("tokenizer.json: field 'model' is missing");
      if (!reader.have_vocab) fail("tokenizer.json: model: field 'vocab' is missing");
      const char* rest;
      if (!doc.current_location().get(rest)) fail("tokenizer.json: something follows the end of the object");
      reader.options();
    }
  }
  return f;
}

}  // namespace

TokenizerFile parse_tokenizer_json(std::string_view text) {
  simdjson::padded_string padded(text);
  return parse_padded(padded);
}

TokenizerFile read_tokenizer_json(const std::filesystem::path& file) {
  MappedFile map(file);
  auto bytes = map.bytes();
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  // The rest of the last page reads as zeros: padding enough for the parser, unless the file ends near the page's
  // end.
  auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  size_t slack = (page - text.size() % page) % page;
  try {
    if (slack >= simdjson::SIMDJSON_PADDING)
      return parse_padded(simdjson::padded_string_view(text.data(), text.size(), text.size() + slack));
    return parse_tokenizer_json(text);
  } catch (const Error& e) {
    fail("{}: {}", file.string(), e.what());
  }
}

std::string write_tokenizer_json(const TokenizerFile& f) {
  Json model = f.model_rest;
  if (model.is_null()) model = Json::object();
  const char* const kNames[] = {"BPE", "WordPiece", "Unigram"};
  model.set("type", kNames[static_cast<size_t>(f.kind)]);
  std::string out = "{";
  for (const auto& [key, value] : f.rest.as_object()) {
    out += fmt::format("{}:{},", Json(key).dump(), value.dump());
  }
  out += "\"added_tokens\":[";
  for (size_t i = 0; i < f.added.size(); ++i) {
    const AddedToken& t = f.added[i];
    Json j = Json::object();
    j.set("id", int64_t{t.id});
    j.set("content", t.content);
    j.set("single_word", t.single_word);
    j.set("lstrip", t.lstrip);
    j.set("rstrip", t.rstrip);
    j.set("normalized", t.normalized);
    j.set("special", t.special);
    out += (i ? "," : "") + j.dump();
  }
  std::string head = model.dump();
  head.pop_back();
  const Vocab& v = f.bpe.vocab;
  bool first = true;
  if (f.kind == TokenModel::unigram) {
    out += "],\"model\":" + head + ",\"vocab\":[";
    for (int32_t id = 0; id < v.end(); ++id)
      out += fmt::format("{}\n[{},{}]", id ? "," : "", Json(v.token(id)).dump(),
                         Json(f.unigram.scores[static_cast<size_t>(id)]).dump());
    return out + "]}}\n";
  }
  out += "],\"model\":" + head + ",\"vocab\":{";
  for (int32_t id = 0; id < v.end(); ++id) {
    if (!v.has(id)) continue;
    out += fmt::format("{}\n{}:{}", first ? "" : ",", Json(v.token(id)).dump(), id);
    first = false;
  }
  if (f.kind == TokenModel::word_piece) return out + "}}}\n";
  out += "},\"merges\":[";
  first = true;
  for (const Bpe::Merge& m : f.bpe.merges()) {
    out += fmt::format("{}\n[{},{}]", first ? "" : ",", Json(v.token(m.left)).dump(), Json(v.token(m.right)).dump());
    first = false;
  }
  return out + "]}}\n";
}

}  // namespace quern::text
