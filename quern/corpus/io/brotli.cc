#include "quern/corpus/io/brotli.h"

#include <brotli/decode.h>

#include <algorithm>
#include <memory>

#include "quern/base/error.h"

namespace quern::corpus {

void decompress_brotli(std::string_view packed, size_t maximum, std::string& out) {
  constexpr size_t kFirst = size_t{64} << 10;
  const std::unique_ptr<BrotliDecoderState, decltype(&BrotliDecoderDestroyInstance)> state(
      BrotliDecoderCreateInstance(nullptr, nullptr, nullptr), BrotliDecoderDestroyInstance);
  QUERN_CHECK(state != nullptr);
  const auto* in = reinterpret_cast<const uint8_t*>(packed.data());
  size_t left = packed.size(), have = 0;
  out.resize(std::min(maximum, kFirst));
  while (true) {
    auto* to = reinterpret_cast<uint8_t*>(out.data()) + have;
    size_t room = out.size() - have;
    const BrotliDecoderResult r = BrotliDecoderDecompressStream(state.get(), &left, &in, &room, &to, nullptr);
    have = out.size() - room;
    if (r == BROTLI_DECODER_RESULT_SUCCESS) break;
    if (r == BROTLI_DECODER_RESULT_ERROR)
      fail("damaged Brotli data: {}", BrotliDecoderErrorString(BrotliDecoderGetErrorCode(state.get())));
    if (r == BROTLI_DECODER_RESULT_NEEDS_MORE_INPUT) fail("damaged Brotli data: it is cut short");
    if (out.size() == maximum) fail("damaged Brotli data: more than {} bytes decompressed", maximum);
    out.resize(out.size() > maximum / 2 ? maximum : out.size() * 2);
  }
  if (left > 0) fail("damaged Brotli data: {} bytes after its end", left);
  out.resize(have);
}

}  // namespace quern::corpus
