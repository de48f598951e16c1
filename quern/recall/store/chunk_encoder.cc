#include "quern/recall/store/chunk_encoder.h"

#include "quern/encoders/text_encoder.h"
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

}  // namespace

std::shared_ptr<const ChunkEncoder> load_chunk_encoder(const std::filesystem::path& folder,
                                                       const kernels::QuantFormat& format) {
  return std::make_shared<FolderEncoder>(folder, format);
}

}  // namespace quern::recall
