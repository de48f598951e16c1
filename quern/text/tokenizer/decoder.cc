#include "quern/text/tokenizer/decoder.h"

#include <algorithm>

#include "quern/base/error.h"
#include "quern/text/tokenizer/byte_level.h"
#include "quern/text/unicode/utf8.h"

namespace quern::text {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

int hex(char c) {
  return c >= '0' && c <= '9'   ? c - '0'
         : c >= 'A' && c <= 'F' ? c - 'A' + 10
         : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                : -1;
}

int byte_of_token(std::string_view t) {  // <0xE4> → 0xE4, else -1
  if (t.size() != 6 || !t.starts_with("<0x") || t[5] != '>') return -1;
  int h = hex(t[3]), l = hex(t[4]);
  // Rust's number parser takes a sign: "+A" is ten.
  if (t[3] == '+') return l;
  return h < 0 || l < 0 ? -1 : h * 16 + l;
}

}  // namespace

Decoder::Decoder(const Json& j) {
  if (j.is_null()) {
    steps_.push_back({.kind = Kind::spaces, .fused = false, .pattern = {}, .content = {}});
    return;
  }
  bool fused = false;
  each_component(j, "decoder", "decoders", [&](const Json& c) {
    const std::string& type = component_type(c, "decoder");
    Step s{};
    s.fused = fused;
    if (type == "ByteLevel") {
      s.kind = Kind::byte_level;
      fused = true;
    } else if (type == "ByteFallback") {
      s.kind = Kind::byte_fallback;
    } else if (type == "Fuse") {
      s.kind = Kind::fuse;
      fused = true;
    } else if (type == "Metaspace") {
      s.kind = Kind::metaspace;
      s.content = field_string(c, "replacement", "\xE2\x96\x81");
      if (utf8_length(s.content) != 1)
        fail("tokenizer.json: decoder Metaspace: replacement '{}' must be one character", s.content);
      s.prepended =
          field_string(c, "prepend_scheme", field_bool(c, "add_prefix_space", true) ? "always" : "never") != "never";
    } else if (type == "Replace") {
      s.kind = Kind::replace;
      s.pattern = Pattern::from_json(c, "decoder Replace");
      s.content = c.at("content", "decoder Replace").as_string("content");
    } else if (type == "Strip") {
      s.kind = Kind::strip;
      s.content = c.at("content", "decoder Strip").as_string("content");
      if (utf8_length(s.content) != 1)
        fail("tokenizer.json: decoder Strip: content '{}' must be one character", s.content);
      int64_t l = c.at("start", "decoder Strip").as_int("start"), r = c.at("stop", "decoder Strip").as_int("stop");
      if (l < 0 || r < 0 || l > 1 << 20 || r > 1 << 20)
        fail("tokenizer.json: decoder Strip: start {} and stop {} are out of range", l, r);
      s.left = static_cast<size_t>(l);
      s.right = static_cast<size_t>(r);
    } else if (type == "WordPiece") {
      s.kind = Kind::word_piece;
      s.content = field_string(c, "prefix", "##");
      s.cleanup = field_bool(c, "cleanup", true);
    } else {
      unknown_component("decoder", type,
                        "Sequence, ByteLevel, ByteFallback, Fuse, Metaspace, Replace, Strip, WordPiece");
    }
    steps_.push_back(std::move(s));
  });
}

std::unique_ptr<Decoder::State> Decoder::start() const {
  auto s = std::make_unique<State>();
  s->parts.resize(steps_.size());
  return s;
}

void Decoder::push(State& s, std::string_view token, std::string& out) const { feed(s, 0, token, out); }
void Decoder::finish(State& s, std::string& out) const { flush(s, 0, out); }

std::string Decoder::strip(const Step& s, std::string_view t) const {
  std::string_view c = s.content;
  for (size_t k = 0; k < s.left && t.starts_with(c); ++k) t.remove_prefix(c.size());
  for (size_t k = 0; k < s.right && t.ends_with(c); ++k) t.remove_suffix(c.size());
  return std::string(t);
}

void Decoder::feed_byte_level(State& state, size_t i, std::string_view token, std::string& out) const {
  std::string& held = state.parts[i].held;
  if (steps_[i].fused) {  // one token: its characters decide together whether they stand for bytes
    held += token;
    return;
  }
  from_byte_level(token, held);
  std::string ready;
  size_t at = 0;
  while (at < held.size()) {
    Utf8Step u = utf8_step(held, at);
    if (u.cut) break;
    if (u.ok) {
      ready.append(held, at, u.len);
    } else {
      ready += kReplacement;
    }
    at += u.len;
  }
  held.erase(0, at);
  if (!ready.empty()) feed(state, i + 1, ready, out);
}

// Whether a run of bytes is text is known only at its end: one bad byte turns all of them into U+FFFD.
void Decoder::feed_byte_fallback(State& state, size_t i, std::string_view token, std::string& out) const {
  std::string& held = state.parts[i].held;
  if (steps_[i].fused) {
    held += token;
    return;
  }
  if (int b = byte_of_token(token); b >= 0) {
    held += static_cast<char>(b);
    return;
  }
  if (!held.empty()) {
    std::string run = std::move(held);
    held.clear();
    if (utf8_error(run) == std::string::npos) {
      feed(state, i + 1, run, out);
    } else {
      for (size_t k = 0; k < run.size(); ++k) feed(state, i + 1, kReplacement, out);
    }
  }
  feed(state, i + 1, token, out);
}

void Decoder::feed_metaspace(State& state, size_t i, std::string_view token, std::string& out) const {
  const Step& s = steps_[i];
  State::DecoderBuffer& p = state.parts[i];
  const bool drop = p.count == 0 && s.prepended;
  if (!s.fused || !token.empty()) p.count += !s.fused;
  std::string t;
  for (size_t k = 0; k < token.size();) {
    if (token.substr(k).starts_with(s.content)) {
      if (!drop) t += ' ';
      k += s.content.size();
    } else {
      t += token[k++];
    }
  }
  feed(state, i + 1, t, out);
}

// A continuation joins the token before it; cleanup takes the space before punctuation and contractions away.
void Decoder::feed_word_piece(State& state, size_t i, std::string_view token, std::string& out) const {
  constexpr std::pair<std::string_view, std::string_view> kCleanup[] = {
      {" .", "."},   {" ?", "?"},           {" !", "!"},   {" ,", ","},     {" ' ", "'"},   {" n't", "n't"},
      {" 'm", "'m"}, {" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  const Step& s = steps_[i];
  std::string t(token);
  if (state.parts[i].count++ > 0) {
    if (!s.content.empty() && token.starts_with(s.content)) {
      t = token.substr(s.content.size());
    } else {
      t.insert(0, " ");
    }
  }
  if (s.cleanup)
    for (const auto& [from, to] : kCleanup) replace_all(t, Pattern::literal(std::string(from)), to, state.regex);
  feed(state, i + 1, t, out);
}

void Decoder::feed_strip(State& state, size_t i, std::string_view token, std::string& out) const {
  const Step& s = steps_[i];
  State::DecoderBuffer& p = state.parts[i];
  if (!s.fused) return feed(state, i + 1, strip(s, token), out);
  p.held += token;
  std::string_view c = s.content;
  std::string_view h = p.held;
  while (!p.started && p.count < s.left && h.starts_with(c)) {
    h.remove_prefix(c.size());
    ++p.count;
  }
  if (h.empty()) {
    p.held.clear();
    return;
  }
  p.started = true;
  // What the end of the text may still strip is kept back.
  size_t keep = h.size();
  for (size_t k = 0; k < s.right && keep >= c.size() && h.substr(0, keep).ends_with(c); ++k) keep -= c.size();
  std::string ready(h.substr(0, keep)), rest(h.substr(keep));
  p.held = std::move(rest);
  if (!ready.empty()) feed(state, i + 1, ready, out);
}

void Decoder::feed(State& state, size_t i, std::string_view token, std::string& out) const {
  if (i == steps_.size()) {
    out += token;
    return;
  }
  const Step& s = steps_[i];
  State::DecoderBuffer& p = state.parts[i];
  switch (s.kind) {
    case Kind::spaces:
      if (p.count++ > 0) out += ' ';
      return feed(state, i + 1, token, out);
    case Kind::fuse:
      return feed(state, i + 1, token, out);
    case Kind::byte_level:
      return feed_byte_level(state, i, token, out);
    case Kind::byte_fallback:
      return feed_byte_fallback(state, i, token, out);
    case Kind::word_piece:
      return feed_word_piece(state, i, token, out);
    case Kind::metaspace:
      return feed_metaspace(state, i, token, out);
    case Kind::replace: {
      if (s.fused) {
        p.held += token;
        return;
      }
      std::string t(token);
      replace_all(t, s.pattern, s.content, state.regex);
      return feed(state, i + 1, t, out);
    }
    case Kind::strip:
      return feed_strip(state, i, token, out);
  }
}

void Decoder::flush(State& state, size_t i, std::string& out) const {
  if (i == steps_.size()) return;
  const Step& s = steps_[i];
  std::string held = std::move(state.parts[i].held);
  state.parts[i].held.clear();
  if (!held.empty()) {
    if (s.kind == Kind::byte_level && !s.fused) {
      feed(state, i + 1, utf8_lossy(held), out);
    } else if (s.kind == Kind::byte_level) {
      std::string bytes;
      from_byte_level(held, bytes);
      feed(state, i + 1, utf8_lossy(bytes), out);
    } else if (s.kind == Kind::byte_fallback && !s.fused) {
      if (utf8_error(held) == std::string::npos) {
        feed(state, i + 1, held, out);
      } else {
        for (size_t k = 0; k < held.size(); ++k) feed(state, i + 1, kReplacement, out);
      }
    } else if (s.kind == Kind::byte_fallback) {
      int b = byte_of_token(held);
      std::string one = b < 0 ? held : utf8_lossy(std::string(1, static_cast<char>(b)));
      feed(state, i + 1, one, out);
    } else if (s.kind == Kind::replace) {
      replace_all(held, s.pattern, s.content, state.regex);
      feed(state, i + 1, held, out);
    } else {
      // Strip: `held` is exactly the end that it takes away, but never more than `right` characters of it.
      size_t maximum = s.right * s.content.size();
      if (held.size() > maximum) feed(state, i + 1, std::string_view(held).substr(0, held.size() - maximum), out);
    }
  }
  flush(state, i + 1, out);
}

}  // namespace quern::text
