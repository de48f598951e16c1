// What facts are about, and the words that ask for them and tell of them.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>

namespace quern::memory {

enum class FactValue : uint8_t { any, name, digits, at_sign, street };

using FactWords = std::span<const std::string_view>;

struct FactField {
  FactWords asked, told;  // phrases; `told`: one of them, in a turn, makes it a statement of the field
  FactValue value = FactValue::any;
  std::string_view kind = {};  // in the table of kinds (telling_kinds.h)
  bool words_matter = false;   // of several things of the field the question's other words choose ("favourite film")
};

std::span<const FactField> fact_fields();
const FactField& count_field();        // "how many …"
const FactField& appointment_field();  // "when is …"
const FactField& commute_field();

// Phrases of whole words in a text of lower case.
bool has_phrase(std::string_view lower, std::string_view phrase);
bool has_any_phrase(std::string_view lower, FactWords phrases);

}  // namespace quern::memory
