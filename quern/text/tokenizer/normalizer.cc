#include "quern/text/tokenizer/normalizer.h"

#include "quern/text/tokenizer/byte_level.h"
#include "quern/text/unicode/unicode.h"
#include "quern/text/unicode/utf8.h"

namespace quern::text {
namespace {

void strip(std::string& text, bool left, bool right) {
  size_t begin = 0, end = text.size();
  while (left && begin < end) {
    Utf8Char c = utf8_at(text, begin);
    if (!unicode_is_space(c.cp)) break;
    begin += c.len;
  }
  while (right && end > begin) {
    Utf8Char c = utf8_before(text, end);
    if (!unicode_is_space(c.cp)) break;
    end -= c.len;
  }
  text = text.substr(begin, end - begin);
}

}  // namespace

Normalizer::Normalizer(const Json& j) {
  if (j.is_null()) return;
  each_component(j, "normalizer", "normalizers", [&](const Json& c) {
    const std::string& type = component_type(c, "normalizer");
    Step s{};
    if (type == "NFC") {
      s.kind = Kind::nfc;
    } else if (type == "NFD") {
      s.kind = Kind::nfd;
    } else if (type == "NFKC") {
      s.kind = Kind::nfkc;
    } else if (type == "NFKD") {
      s.kind = Kind::nfkd;
    } else if (type == "Replace") {
      s.kind = Kind::replace;
      s.pattern = Pattern::from_json(c, "normalizer Replace");
      s.content = c.at("content", "normalizer Replace").as_string("content");
    } else if (type == "Prepend") {
      s.kind = Kind::prepend;
      s.content = c.at("prepend", "normalizer Prepend").as_string("prepend");
    } else if (type == "Lowercase") {
      s.kind = Kind::lowercase;
    } else if (type == "Strip") {
      s.kind = Kind::strip;
      s.left = field_bool(c, "strip_left", true);
      s.right = field_bool(c, "strip_right", true);
    } else if (type == "StripAccents") {
      s.kind = Kind::strip_accents;
    } else if (type == "ByteLevel") {
      s.kind = Kind::byte_level;
    } else if (type == "BertNormalizer") {
      s.kind = Kind::bert;
      s.bert = BertNormalizer::from_json(c);
    } else if (type == "Precompiled") {
      s.kind = Kind::precompiled;
      s.map = CharacterMap::from_base64(c.at("precompiled_charsmap", type).as_string("precompiled_charsmap"));
    } else {
      unknown_component(
          "normalizer", type,
          "Sequence, NFC, NFD, NFKC, NFKD, Replace, Prepend, Lowercase, Strip, StripAccents, ByteLevel, "
          "BertNormalizer, Precompiled");
    }
    steps_.push_back(std::move(s));
  });
}

void Normalizer::apply(std::string& text, RegexScratch& scratch) const {
  for (const Step& s : steps_) {
    switch (s.kind) {
      case Kind::nfc:
        unicode_normalize(text, NormalForm::nfc);
        break;
      case Kind::nfd:
        unicode_normalize(text, NormalForm::nfd);
        break;
      case Kind::nfkc:
        unicode_normalize(text, NormalForm::nfkc);
        break;
      case Kind::nfkd:
        unicode_normalize(text, NormalForm::nfkd);
        break;
      case Kind::replace:
        replace_all(text, s.pattern, s.content, scratch);
        break;
      case Kind::prepend:
        if (!text.empty()) text.insert(0, s.content);
        break;
      case Kind::lowercase:
        unicode_lowercase(text);
        break;
      case Kind::strip:
        strip(text, s.left, s.right);
        break;
      case Kind::strip_accents:
        unicode_strip_accents(text);
        break;
      case Kind::bert:
        s.bert.apply(text);
        break;
      case Kind::precompiled:
        s.map.apply(text);
        break;
      case Kind::byte_level: {
        std::string out;
        to_byte_level(text, out);
        text = std::move(out);
        break;
      }
    }
  }
}

}  // namespace quern::text
