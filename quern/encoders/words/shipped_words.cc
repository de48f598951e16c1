#include "quern/encoders/words/shipped_words.h"

// The file as it lies in models/, between two symbols.
asm(R"(
  .pushsection .rodata
  .balign 64
  .globl quern_words_begin
  .hidden quern_words_begin
  .globl quern_words_end
  .hidden quern_words_end
quern_words_begin:
  .incbin ")" QUERN_WORDS R"("
quern_words_end:
  .byte 0
  .popsection
)");

extern "C" {
extern const char quern_words_begin[];
extern const char quern_words_end[];
}

namespace quern::encoders {

const WordEncoder& shipped_words() {
  static const WordEncoder encoder = WordEncoder::parse(
      {quern_words_begin, static_cast<size_t>(quern_words_end - quern_words_begin)}, "the shipped word encoder");
  return encoder;
}

}  // namespace quern::encoders
