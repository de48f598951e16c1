// Numbers of accounts that carry a check of their own: payment cards by the prefixes and lengths of the large networks
// (ISO/IEC 7812) with Luhn's digit, written together or in fours (4-6-5 and 4-6-4 where issuers print them so); IBANs
// by the lengths of SWIFT's registry with ISO 7064's mod 97, together or in fours; US social security numbers,
// AAA-GG-SSSS.
#pragma once
#include "quern/corpus/pii/addresses.h"
#include "quern/corpus/pii/digit_groups.h"

namespace quern::corpus {

TextRange card_at(std::string_view s, const DigitGroups& g);
TextRange ssn_at(std::string_view s, const DigitGroups& g);
// `digits` is the first digit, behind the two letters of the country.
TextRange iban_at(std::string_view s, size_t digits);

}  // namespace quern::corpus
