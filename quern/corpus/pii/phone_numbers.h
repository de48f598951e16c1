// Telephone numbers as people write them.
//   international  + and a calling code (or 00 and a calling code in groups), then as many digits as that country has
//   national       the forms that are hardly anything else: of North America (AAA) EEE-NNNN, AAA-EEE-NNNN,
//                  AAA.EEE.NNNN, all with or without 1; pairs of digits behind 0 (France); 0 and the groups of the
//                  United Kingdom, Japan and Australia; an area code with 0 in parentheses or before a slash
//   named          7 to 15 digits behind a word for telephone or fax, in any groups, also with spaces around a hyphen
//                  or a slash
// Numbers that are written like dates, versions, page ranges or ISBNs have none of these forms.
#pragma once
#include "quern/corpus/pii/addresses.h"
#include "quern/corpus/pii/digit_groups.h"

namespace quern::corpus {

TextRange phone_at(std::string_view s, const DigitGroups& g);

}  // namespace quern::corpus
