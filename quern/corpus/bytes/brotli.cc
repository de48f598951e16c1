#include "quern/corpus/bytes/brotli.h"

#include <brotli/decode.h>

#include <algorithm>
#include <memory>

#include "quern/base/error.h"

namespace quern::corpus {

namespace {

struct BrotliEnd {
  BrotliDecoderResult result;
  const char* problem;
  size_t left;  // bytes behind the end
};

BrotliEnd unpack(std::string_view packed, size_t maximum, std::string& out) {
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
    if (r != BROTLI_DECODER_RESULT_NEEDS_MORE_OUTPUT || out.size() == maximum) {
      out.resize(have);
      return {r, BrotliDecoderErrorString(BrotliDecoderGetErrorCode(state.get())), left};
    }
    out.resize(out.size() > maximum / 2 ? maximum : out.size() * 2);
  }
}

}  // namespace

void decompress_brotli(std::string_view packed, size_t maximum, std::string& out) {
  const BrotliEnd end = unpack(packed, maximum, out);
  if (end.result == BROTLI_DECODER_RESULT_ERROR) fail("damaged Brotli data: {}", end.problem);
  if (end.result == BROTLI_DECODER_RESULT_NEEDS_MORE_INPUT) fail("damaged Brotli data: it is cut short");
  if (end.result == BROTLI_DECODER_RESULT_NEEDS_MORE_OUTPUT)
    fail("damaged Brotli data: more than {} bytes decompressed", maximum);
  if (end.left > 0) fail("damaged Brotli data: {} bytes after its end", end.left);
}

Unpacked decompress_some_brotli(std::string_view packed, size_t maximum, std::string& out) {
  switch (unpack(packed, maximum, out).result) {
    case BROTLI_DECODER_RESULT_SUCCESS:
      return Unpacked::whole;
    case BROTLI_DECODER_RESULT_NEEDS_MORE_INPUT:
      return Unpacked::cut;
    case BROTLI_DECODER_RESULT_NEEDS_MORE_OUTPUT:
      return Unpacked::too_long;
    default:
      return Unpacked::damaged;
  }
}

}  // namespace quern::corpus
