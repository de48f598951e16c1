#include "quern/corpus/language/languages.h"

#include "quern/base/embedded_file.h"

QUERN_EMBED_FILE(quern_languages, QUERN_LANGUAGES)

namespace quern::corpus {

const NgramClassifier& shipped_languages() {
  static const NgramClassifier classifier =
      NgramClassifier::parse(QUERN_EMBEDDED(quern_languages), "the shipped languages");
  return classifier;
}

}  // namespace quern::corpus
