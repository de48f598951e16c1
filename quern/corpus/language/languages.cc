#include "quern/corpus/language/languages.h"

// The file as it lies in models/, between two symbols.
asm(R"(
  .pushsection .rodata
  .balign 64
  .globl quern_languages_begin
  .hidden quern_languages_begin
  .globl quern_languages_end
  .hidden quern_languages_end
quern_languages_begin:
  .incbin ")" QUERN_LANGUAGES R"("
quern_languages_end:
  .byte 0
  .popsection
)");

extern "C" {
extern const char quern_languages_begin[];
extern const char quern_languages_end[];
}

namespace quern::corpus {

const NgramClassifier& shipped_languages() {
  static const NgramClassifier classifier = NgramClassifier::parse(
      {quern_languages_begin, static_cast<size_t>(quern_languages_end - quern_languages_begin)},
      "the shipped languages");
  return classifier;
}

}  // namespace quern::corpus
