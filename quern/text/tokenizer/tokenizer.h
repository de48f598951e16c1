// A tokenizer as described by its tokenizer.json (Hugging Face `tokenizers`: BPE, WordPiece, Unigram): text to ids and back,
// identical to the reference. Text → added tokens → normalizer → pre-tokenizer → model → post-processor; ids → decoder →
// text. Const methods may be called from many threads. Copies share everything. Cost: tens of MB/s per core on
// ordinary text.
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace quern::text {

struct EncodeOptions {
  bool add_special_tokens = true;  // what the post-processor puts around the text (<bos> …)
  bool parse_special = true;       // special tokens spelled in the text become their ids; false = they are plain text
  std::span<const size_t> plain = {};  // offsets in ascending order: no added token is found across one of them
};

enum class SpecialTokens { keep, skip };  // of a decoded text

struct SpecialIds {  // -1: none
  int32_t bos = -1, eos = -1, pad = -1;
};

struct TokenSequence {
  std::vector<int32_t> ids, types;  // types: 0 for the first text, 1 for the second, as the file says
};

class Tokenizer {
 public:
  // A folder with tokenizer.json or BERT's vocab.txt (and tokenizer_config.json, for bos and eos), or the path of a
  // tokenizer.json.
  static Tokenizer load(const std::filesystem::path& path);
  static Tokenizer from_json(std::string_view tokenizer_json, SpecialIds ids = {});

  // The text must be valid UTF-8 (utf8_lossy() mends what is not); Error names the offset where it stops being.
  std::vector<int32_t> encode(std::string_view text, EncodeOptions options = {}) const;
  // Ids that no token has (padding rows of the embedding) give nothing, as in the reference.
  std::string decode(std::span<const int32_t> ids, SpecialTokens specials = SpecialTokens::keep) const;

  // One text's ids, or two texts', with the special tokens around and between them.
  TokenSequence with_specials(std::span<const int32_t> a) const;
  TokenSequence with_specials(std::span<const int32_t> a, std::span<const int32_t> b) const;

  int32_t vocab_size() const;                         // one past the highest id, added tokens included
  int32_t token_to_id(std::string_view token) const;  // -1 when there is none
  std::string id_to_token(int32_t id) const;          // as spelled in the file; empty when there is none
  bool is_special(int32_t id) const;
  std::vector<size_t> specials_in(std::string_view text) const;  // where special tokens are spelled, overlaps too
  int32_t bos_id() const;                                        // -1 when tokenizer_config.json names none
  int32_t eos_id() const;
  int32_t pad_id() const;

  void save(const std::filesystem::path& file) const;  // writes a tokenizer.json

  struct Impl;

 private:
  friend class StreamDecoder;
  explicit Tokenizer(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

// Decodes token by token. Each push returns the text that is certain by then, always whole characters; all of it
// together is what decode() gives.
class StreamDecoder {
 public:
  explicit StreamDecoder(const Tokenizer& tokenizer, SpecialTokens specials = SpecialTokens::keep);
  ~StreamDecoder();
  StreamDecoder(StreamDecoder&&) noexcept;
  std::string push(int32_t id);
  std::string finish();  // the rest; the decoder is then ready for another text

 private:
  friend class Tokenizer;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace quern::text
