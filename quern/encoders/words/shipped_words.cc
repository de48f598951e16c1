#include "quern/encoders/words/shipped_words.h"

#include "quern/base/embedded_file.h"
#include "quern/base/json.h"

QUERN_EMBED_FILE(quern_words, QUERN_WORDS)

namespace quern::encoders {
namespace {

bool names_shipped(const std::filesystem::path& folder) {
  return folder == kShippedWords && !std::filesystem::exists(folder);
}

}  // namespace

const WordEncoder& shipped_words() {
  static const WordEncoder encoder = WordEncoder::parse(QUERN_EMBEDDED(quern_words), "the shipped word encoder");
  return encoder;
}

bool is_word_encoder(const std::filesystem::path& folder) {
  if (names_shipped(folder)) return true;
  if (!std::filesystem::is_regular_file(folder / "config.json")) return false;
  const Json config = Json::read(folder / "config.json");
  const Json* type = config.is_object() ? config.find("model_type") : nullptr;
  return type && type->is_string() && type->as_string() == kWordModelType;
}

WordEncoder load_word_encoder(const std::filesystem::path& folder) {
  return names_shipped(folder) ? shipped_words() : WordEncoder::load(folder / kWordFile);
}

}  // namespace quern::encoders
