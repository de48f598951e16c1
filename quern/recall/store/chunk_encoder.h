// What turns chunks and questions into vectors for hybrid retrieval. An index remembers the fingerprint of the encoder
// that made its vectors and refuses any other.
#pragma once
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "quern/kernels/quant/quant_format.h"
#include "quern/tensor/tensor.h"

namespace quern::recall {

class ChunkEncoder {
 public:
  virtual ~ChunkEncoder() = default;
  virtual std::string fingerprint() const = 0;
  virtual std::string name() const = 0;  // for people
  virtual int64_t width() const = 0;
  virtual Tensor chunks(std::span<const std::string> texts) const = 0;  // [n, width], rows of length 1
  virtual Tensor question(const std::string& text) const = 0;           // [1, width]
};

inline constexpr const char* kNoEncoder = "none";  // as the name of one: RecallStore::use_words_alone()

// The word encoder that is a part of the library (models/words): what a new index of English texts uses by default.
std::shared_ptr<const ChunkEncoder> shipped_chunk_encoder();

// An encoder's folder (quern/encoders). The format of its weights is not part of the fingerprint: vectors by rounded
// weights are close to the others.
std::shared_ptr<const ChunkEncoder> load_chunk_encoder(const std::filesystem::path& folder,
                                                       const kernels::QuantFormat& format);

}  // namespace quern::recall
