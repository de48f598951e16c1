// Identifiers of the SPDX license list, and where a text states them: tags and fields with an expression.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace quern::corpus {

// As the list spells it, whatever the case of letters; GPL-2.0 is GPL-2.0-only, GPL-2.0+ GPL-2.0-or-later. Empty: not
// known.
std::string spdx_identifier(std::string_view name);
std::vector<std::string> spdx_identifiers();  // that are known here

// Adds the identifiers of every tag, and of every field whose value is an expression of known identifiers.
void find_spdx_expressions(std::string_view text, std::vector<std::string>& ids);

}  // namespace quern::corpus
