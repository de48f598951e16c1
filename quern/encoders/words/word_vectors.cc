#include "quern/encoders/words/word_vectors.h"

namespace quern::encoders {

WordVectors embed_texts(const WordEncoder& encoder, std::span<const std::string> texts) {
  const auto n = static_cast<int64_t>(texts.size()), width = encoder.width();
  WordVectors out{.rows = Tensor::empty({n, width}, DType::f32)};
  WordEncoder::Reader reader;
  for (int64_t i = 0; i < n; ++i)
    out.words += static_cast<int64_t>(encoder.embed(
        texts[static_cast<size_t>(i)], reader, {out.rows.data<float>() + i * width, static_cast<size_t>(width)}));
  return out;
}

}  // namespace quern::encoders
