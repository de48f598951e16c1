// The language classifier that comes with Quern, models/languages: part of the library, so that it is found wherever that
// is. Labels are ISO 639 codes of two letters, or three where there are none of two.
#pragma once
#include "quern/corpus/language/ngram_classifier.h"

namespace quern::corpus {

constexpr const char* kUnknownLanguage = "und";  // of a text without letters

const NgramClassifier& shipped_languages();

}  // namespace quern::corpus
