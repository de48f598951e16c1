// The decoder of tokenizer.json: token strings back to text. Each step is a stream (push a token, get what is certain,
// flush at the end), so decoding at once and decoding token by token are the same code. A Fuse or ByteLevel step turns
// the rest into one growing token; later steps know that from `fused`. Supported: ByteLevel, ByteFallback, Fuse,
// Metaspace, Replace, Strip, Sequence. Cost: linear.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "quern/text/tokenizer/component.h"

namespace quern::text {

class Decoder {
 public:
  Decoder() = default;
  explicit Decoder(const Json& j);  // null = token strings joined by spaces
  struct State {                    // of one text being decoded
    struct DecoderBuffer {
      std::string held;      // not yet certain
      size_t count = 0;      // tokens seen, or characters stripped so far
      bool started = false;  // something was let through
    };
    std::vector<DecoderBuffer> parts;
    RegexScratch regex;
  };
  std::unique_ptr<State> start() const;
  void push(State& s, std::string_view token, std::string& out) const;
  void finish(State& s, std::string& out) const;

 private:
  enum class Kind { byte_level, byte_fallback, fuse, metaspace, replace, strip, word_piece, spaces };
  struct Step {
    Kind kind;
    bool fused = false;  // everything arrives as parts of one token
    Pattern pattern;
    std::string content;
    size_t left = 0, right = 0;
    bool prepended = true, cleanup = false;
  };
  // A token into step i, and what it lets through into those behind it.
  void feed(State& s, size_t i, std::string_view token, std::string& out) const;
  void feed_byte_level(State& s, size_t i, std::string_view token, std::string& out) const;
  void feed_byte_fallback(State& s, size_t i, std::string_view token, std::string& out) const;
  void feed_metaspace(State& s, size_t i, std::string_view token, std::string& out) const;
  void feed_word_piece(State& s, size_t i, std::string_view token, std::string& out) const;
  void feed_strip(State& s, size_t i, std::string_view token, std::string& out) const;
  void flush(State& s, size_t i, std::string& out) const;
  std::string strip(const Step& s, std::string_view token) const;
  std::vector<Step> steps_;
};

}  // namespace quern::text
