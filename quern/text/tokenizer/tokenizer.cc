#include "quern/text/tokenizer/tokenizer.h"

#include <algorithm>
#include <mutex>
#include <unordered_map>

#include "quern/base/error.h"
#include "quern/base/mmap.h"
#include "quern/text/tokenizer/added_tokens.h"
#include "quern/text/tokenizer/bpe.h"
#include "quern/text/tokenizer/decoder.h"
#include "quern/text/tokenizer/normalizer.h"
#include "quern/text/tokenizer/post_processor.h"
#include "quern/text/tokenizer/pre_tokenizer.h"
#include "quern/text/tokenizer/tokenizer_file.h"
#include "quern/text/unicode/utf8.h"

namespace quern::text {
using namespace text;
namespace {

struct Scratch {
  BpeScratch bpe;
  UnigramScratch unigram;
  PreScratch pre;
  std::string normal;
};

struct ModelSink : PieceSink {
  const TokenizerFile& file;
  Scratch& scratch;
  std::vector<int32_t>& out;
  ModelSink(const TokenizerFile& f, Scratch& s, std::vector<int32_t>& o) : file(f), scratch(s), out(o) {}
  void piece(std::string_view t) override {
    if (file.kind == TokenModel::word_piece) return file.words.encode(file.bpe.vocab, t, out);
    if (file.kind == TokenModel::unigram) return file.unigram.encode(file.bpe.vocab, t, scratch.unigram, out);
    file.bpe.encode(t, scratch.bpe, out);
  }
};

}  // namespace

struct Tokenizer::Impl {
  TokenizerFile file;
  Normalizer normalizer;
  PreTokenizer pre;
  PostProcessor post;
  Decoder decoder;
  AddedTokenFinder raw, normalized;  // looked for before and after the normalizer
  std::unordered_map<int32_t, size_t> added_by_id;
  std::unordered_map<std::string, int32_t> added_by_text;
  int32_t end = 0, bos = -1, eos = -1, pad = -1;

  // Caches are worth keeping between calls; each call borrows one.
  mutable std::mutex mutex;
  mutable std::vector<std::unique_ptr<Scratch>> idle;

  explicit Impl(TokenizerFile f);
  void check_added();
  std::unique_ptr<Scratch> borrow() const {
    std::lock_guard lock(mutex);
    if (idle.empty()) return std::make_unique<Scratch>();
    auto s = std::move(idle.back());
    idle.pop_back();
    return s;
  }
  void give_back(std::unique_ptr<Scratch> s) const {
    std::lock_guard lock(mutex);
    if (idle.size() < 64) idle.push_back(std::move(s));
  }
  void encode_normalized(std::string_view text, TextPlace place, ParseSpecial special, Scratch& s,
                         ModelSink& sink) const;
  void encode(std::string_view text, const EncodeOptions& o, Scratch& s, std::vector<int32_t>& out) const;
  std::string_view token(int32_t id) const {
    if (auto it = added_by_id.find(id); it != added_by_id.end()) return file.added[it->second].spelled;
    return file.bpe.vocab.has(id) ? file.bpe.vocab.token(id) : std::string_view();
  }
  bool special(int32_t id) const {
    auto it = added_by_id.find(id);
    return it != added_by_id.end() && file.added[it->second].special;
  }
  int32_t find(std::string_view token) const {
    if (auto it = added_by_text.find(std::string(token)); it != added_by_text.end()) return it->second;
    return file.bpe.vocab.find(token);
  }
};

void Tokenizer::Impl::check_added() {
  const Vocab& v = file.bpe.vocab;
  for (size_t i = 0; i < file.added.size(); ++i) {
    const AddedToken& t = file.added[i];
    if (int32_t there = v.find(t.content); there >= 0 && there != t.id)
      fail("tokenizer.json: added token '{}' has id {}, but the vocabulary gives it {}", t.content, t.id, there);
    if (v.has(t.id) && v.token(t.id) != t.content)
      fail("tokenizer.json: added token '{}' has id {}, which is '{}' in the vocabulary", t.content, t.id,
           v.token(t.id));
    if (!added_by_id.emplace(t.id, i).second || !added_by_text.emplace(t.content, t.id).second)
      fail("tokenizer.json: added token '{}' with id {} repeats another added token's text or id", t.content, t.id);
    end = std::max(end, t.id + 1);
  }
}

Tokenizer::Impl::Impl(TokenizerFile f) : file(std::move(f)) {
  auto part = [&](const char* key) {
    const Json* j = file.rest.find(key);
    return j ? *j : Json();
  };
  normalizer = Normalizer(part("normalizer"));
  pre = PreTokenizer(part("pre_tokenizer"));
  post = PostProcessor(part("post_processor"));
  decoder = Decoder(part("decoder"));
  if (file.kind == TokenModel::bpe) file.bpe.finish(pre.emits_bytes() ? PieceText::raw_bytes : PieceText::utf8);
  if (file.kind == TokenModel::word_piece) file.words.finish(file.bpe.vocab);
  if (file.kind == TokenModel::unigram) file.unigram.finish(file.bpe.vocab);
  if (file.kind != TokenModel::bpe && pre.emits_bytes())
    fail("tokenizer.json: pre_tokenizer ByteLevel goes with BPE models only");
  end = file.bpe.vocab.end();
  check_added();
  std::vector<std::pair<std::string, size_t>> plain, normal;
  RegexScratch regex;
  for (size_t i = 0; i < file.added.size(); ++i) {
    AddedToken& t = file.added[i];
    t.spelled = t.content;
    if (t.normalized) normalizer.apply(t.spelled, regex);
    (t.normalized ? normal : plain).emplace_back(t.spelled, i);
  }
  raw.build(std::move(plain));
  normalized.build(std::move(normal));
}

void Tokenizer::Impl::encode_normalized(std::string_view text, TextPlace place, ParseSpecial special, Scratch& s,
                                        ModelSink& sink) const {
  if (normalized.empty()) return pre.run(text, place, s.pre, sink);
  size_t floor = 0;
  for (size_t from = 0;;) {
    auto f = normalized.find(file.added, text, from, floor, special);
    size_t stop = f.token ? f.begin : text.size();
    if (floor < stop) pre.run(text.substr(floor, stop - floor), floor == 0 ? place : TextPlace::inside, s.pre, sink);
    if (!f.token) return;
    sink.out.push_back(f.token->id);
    floor = f.end;
    from = f.next;
  }
}

void Tokenizer::Impl::encode(std::string_view text, const EncodeOptions& o, Scratch& s,
                             std::vector<int32_t>& out) const {
  ModelSink sink(file, s, out);
  auto plain = [&](size_t b, size_t e) {
    std::string_view part = text.substr(b, e - b);
    // Normalizing moves offsets: where one lies, no special token is found by its normalized spelling.
    const auto offset = std::lower_bound(o.plain.begin(), o.plain.end(), b);
    const ParseSpecial special{o.parse_special && (offset == o.plain.end() || *offset > e)};
    const TextPlace place = b == 0 ? TextPlace::start : TextPlace::inside;
    if (normalizer.empty()) return encode_normalized(part, place, special, s, sink);
    s.normal.assign(part);
    normalizer.apply(s.normal, s.pre.regex);
    encode_normalized(s.normal, place, special, s, sink);
  };
  size_t floor = 0;
  for (size_t from = 0;;) {
    auto f = raw.empty() ? AddedTokenFinder::Found{}
                         : raw.find(file.added, text, from, floor, ParseSpecial{o.parse_special}, o.plain);
    size_t stop = f.token ? f.begin : text.size();
    if (floor < stop) plain(floor, stop);
    if (!f.token) return;
    out.push_back(f.token->id);
    floor = f.end;
    from = f.next;
  }
}

Tokenizer Tokenizer::from_json(std::string_view json, SpecialIds ids) {
  auto impl = std::make_shared<Impl>(parse_tokenizer_json(json));
  impl->bos = ids.bos, impl->eos = ids.eos, impl->pad = ids.pad;
  return Tokenizer(std::move(impl));
}

Tokenizer Tokenizer::load(const std::filesystem::path& path) {
  namespace fs = std::filesystem;
  bool folder = fs::is_directory(path);
  fs::path file = folder ? path / "tokenizer.json" : path;
  const fs::path config = file.parent_path() / "tokenizer_config.json";
  const Json c = fs::exists(config) ? Json::read(config) : Json::object();
  const bool old = folder && !fs::exists(file);
  if (old && !fs::exists(path / "vocab.txt"))
    fail("{}: no tokenizer.json (or vocab.txt) in this folder", path.string());
  auto impl = std::make_shared<Impl>(old ? read_vocab_txt(path / "vocab.txt", c) : read_tokenizer_json(file));
  if (fs::exists(config)) {
    auto id = [&](const char* key) -> int32_t {
      const Json* t = c.find(key);
      if (t && t->is_object()) t = t->find("content");
      return t && t->is_string() ? impl->find(t->as_string()) : -1;
    };
    impl->bos = id("bos_token");
    impl->eos = id("eos_token");
    impl->pad = id("pad_token");
  }
  return Tokenizer(std::move(impl));
}

std::vector<int32_t> Tokenizer::encode(std::string_view text, EncodeOptions options) const {
  if (size_t at = utf8_error(text); at != std::string_view::npos)
    fail("text to encode: not valid UTF-8 at byte {}", at);
  std::vector<int32_t> out;
  if (options.add_special_tokens) out = impl_->post.before();
  // Not given back when an Error passes: its state would not matter, but there is no need to think about it.
  auto scratch = impl_->borrow();
  impl_->encode(text, options, *scratch, out);
  impl_->give_back(std::move(scratch));
  if (options.add_special_tokens)
    for (int32_t id : impl_->post.after()) out.push_back(id);
  return out;
}

struct StreamDecoder::State {
  std::shared_ptr<const Tokenizer::Impl> impl;
  SpecialTokens specials;
  std::unique_ptr<Decoder::State> decoder;
  void push(int32_t id, std::string& out) {
    if (!impl->added_by_id.contains(id) && !impl->file.bpe.vocab.has(id)) return;
    if (specials == SpecialTokens::skip && impl->special(id)) return;
    impl->decoder.push(*decoder, impl->token(id), out);
  }
};

StreamDecoder::StreamDecoder(const Tokenizer& t, SpecialTokens specials)
    : state_(std::make_unique<State>(State{t.impl_, specials, t.impl_->decoder.start()})) {}
StreamDecoder::~StreamDecoder() = default;
StreamDecoder::StreamDecoder(StreamDecoder&&) noexcept = default;

std::string StreamDecoder::push(int32_t id) {
  std::string out;
  state_->push(id, out);
  return out;
}

std::string StreamDecoder::finish() {
  std::string out;
  state_->impl->decoder.finish(*state_->decoder, out);
  state_->decoder = state_->impl->decoder.start();
  return out;
}

std::string Tokenizer::decode(std::span<const int32_t> ids, SpecialTokens specials) const {
  StreamDecoder d(*this, specials);
  std::string out;
  for (int32_t id : ids) d.state_->push(id, out);
  return out + d.finish();
}

int32_t Tokenizer::vocab_size() const { return impl_->end; }
int32_t Tokenizer::token_to_id(std::string_view token) const { return impl_->find(token); }
TokenSequence Tokenizer::with_specials(std::span<const int32_t> a) const {
  return impl_->post.wrap(impl_->post.single, a, {});
}
TokenSequence Tokenizer::with_specials(std::span<const int32_t> a, std::span<const int32_t> b) const {
  if (impl_->post.pair.empty()) fail("tokenizer.json: its post_processor has no form for pairs of texts");
  return impl_->post.wrap(impl_->post.pair, a, b);
}
std::string Tokenizer::id_to_token(int32_t id) const { return std::string(impl_->token(id)); }
bool Tokenizer::is_special(int32_t id) const { return impl_->special(id); }

std::vector<size_t> Tokenizer::specials_in(std::string_view text) const {
  std::vector<size_t> at;
  for (const AddedTokenFinder* finder : {&impl_->raw, &impl_->normalized})
    for (size_t from = 0; !finder->empty();) {
      const AddedTokenFinder::Found f = finder->find(impl_->file.added, text, from, from, ParseSpecial::yes);
      if (!f.token) break;
      const size_t begin = f.next - f.token->spelled.size();
      if (f.token->special) at.push_back(begin);
      from = begin + 1;
    }
  std::sort(at.begin(), at.end());
  at.erase(std::unique(at.begin(), at.end()), at.end());
  return at;
}
int32_t Tokenizer::bos_id() const { return impl_->bos; }
int32_t Tokenizer::eos_id() const { return impl_->eos; }
int32_t Tokenizer::pad_id() const { return impl_->pad; }
void Tokenizer::save(const std::filesystem::path& file) const { write_file(file, write_tokenizer_json(impl_->file)); }

}  // namespace quern::text
