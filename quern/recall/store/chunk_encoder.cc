#include "quern/recall/store/chunk_encoder.h"

#include <optional>

#include "quern/encoders/text_encoder.h"
#include "quern/encoders/words/shipped_words.h"
#include "quern/encoders/words/word_vectors.h"
#include "quern/models/fingerprint.h"

namespace quern::recall {
namespace {

class FolderEncoder : public ChunkEncoder {
 public:
  FolderEncoder(const std::filesystem::path& folder, const kernels::QuantFormat& format)
      : encoder_(encoders::TextEncoder::load(folder, format)),
        fingerprint_(models::model_fingerprint(folder, "encoder")),
        name_(std::filesystem::absolute(folder).lexically_normal().string()) {}
  std::string fingerprint() const override { return fingerprint_; }
  std::string name() const override { return name_; }
  int64_t width() const override { return encoder_.width(); }
  Tensor chunks(std::span<const std::string> texts) const override {
    return encoder_.embed(texts, encoders::TextRole::document).rows;
  }
  Tensor question(const std::string& text) const override {
    return encoder_.embed({&text, 1}, encoders::TextRole::query).rows;
  }

 private:
  encoders::TextEncoder encoder_;
  std::string fingerprint_, name_;
};

class WordChunkEncoder : public ChunkEncoder {
 public:
  explicit WordChunkEncoder(const encoders::WordEncoder& encoder)
      : encoder_(encoder), name_(encoders::kShippedWords) {}
  WordChunkEncoder(encoders::WordEncoder encoder, std::string name)
      : own_(std::move(encoder)), encoder_(*own_), name_(std::move(name)) {}
  std::string fingerprint() const override {
    return fmt::format("{}{:016x}", encoders::kWordVectors, encoder_.fingerprint());
  }
  std::string name() const override { return name_; }
  int64_t width() const override { return encoder_.width(); }
  Tensor chunks(std::span<const std::string> texts) const override {
    return encoders::embed_texts(encoder_, texts).rows;
  }
  Tensor question(const std::string& text) const override { return chunks({&text, 1}); }

 private:
  std::optional<encoders::WordEncoder> own_;
  const encoders::WordEncoder& encoder_;
  std::string name_;
};

}  // namespace

std::shared_ptr<const ChunkEncoder> load_chunk_encoder(const std::filesystem::path& folder,
                                                       const kernels::QuantFormat& format) {
  if (encoders::is_word_encoder(folder))
    return std::make_shared<WordChunkEncoder>(encoders::load_word_encoder(folder), folder.string());
  return std::make_shared<FolderEncoder>(folder, format);
}

std::shared_ptr<const ChunkEncoder> shipped_chunk_encoder() {
  static const auto encoder = std::make_shared<WordChunkEncoder>(encoders::shipped_words());
  return encoder;
}

}  // namespace quern::recall
