// TextEncoder: an encoder with its tokenizer. Texts become vectors of length 1 (embeddings), texts or pairs of texts
// become scores (classifiers, rerankers). Texts of a call are sorted by length and laid behind one another in batches
// without padding; a text that is too long is cut, and counted.
#pragma once
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "quern/encoders/encoder.h"
#include "quern/encoders/sentence_settings.h"
#include "quern/text/tokenizer/tokenizer.h"

namespace quern::encoders {

// Instructions that some models want before a text; where the folder has none, nothing is added.
enum class TextRole : uint8_t { plain, query, document };

struct EncoderResult {
  Tensor rows;            // [texts, …]
  int64_t tokens = 0;     // read
  int64_t truncated = 0;  // texts that were cut
};

class TextEncoder {
 public:
  static TextEncoder load(const std::filesystem::path& folder, kernels::QuantFormat format = DType::f32);

  int64_t width() const { return encoder_->width() * static_cast<int64_t>(settings_.pooling.size()); }
  int64_t max_tokens() const { return max_tokens_; }
  const text::Tokenizer& tokenizer() const { return tokenizer_; }
  const Encoder& encoder() const { return *encoder_; }

  EncoderResult embed(std::span<const std::string> texts, TextRole role = TextRole::plain) const;  // [n, width]
  // A text's ids with the prompt of its role and the special tokens, however long it is.
  std::vector<int32_t> tokens(std::string_view text, TextRole role = TextRole::plain) const;
  EncoderResult embed_tokens(std::span<const std::vector<int32_t>> texts) const;  // ids with their special tokens

  // The head: rows are the scores as the folder wants them shown (probabilities of labels; one score of a reranker).
  bool scores() const { return encoder_->labels() > 0; }
  const std::vector<std::string>& labels() const { return labels_; }
  EncoderResult score(std::span<const std::string> texts) const;  // [n, labels]
  struct Pair {
    std::string_view first, second;
  };
  EncoderResult score_pairs(std::span<const Pair> pairs) const;

 private:
  enum class Shown : uint8_t { logits, sigmoid, softmax };
  explicit TextEncoder(text::Tokenizer tokenizer) : tokenizer_(std::move(tokenizer)) {}
  void read_head(const Json& config);
  std::string prompt_of(TextRole role) const;
  text::TokenSequence sequence(std::string_view text, EncoderResult& count) const;
  text::TokenSequence sequence(const Pair& pair, EncoderResult& count) const;
  // Rows of every sequence by what `last` makes of a batch's hidden rows.
  template <class Last>
  void run(std::span<const text::TokenSequence> all, int64_t width, EncoderResult& result, Last last) const;
  void show(const Tensor& logits) const;
  EncoderResult score_sequences(std::span<const text::TokenSequence> all, EncoderResult count) const;

  text::Tokenizer tokenizer_;
  std::unique_ptr<Encoder> encoder_;
  SentenceSettings settings_;
  std::vector<std::string> labels_;
  Shown shown_ = Shown::logits;
  int64_t max_tokens_ = 0;
};

}  // namespace quern::encoders
