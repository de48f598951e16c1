// Licenses that a text names or quotes, by SPDX identifiers:
//   expressions  "SPDX-License-Identifier: MIT OR Apache-2.0", and fields like License: MIT (spdx.h)
//   names        "GNU Lesser General Public License, version 2.1 or later", "MIT license", addresses of their texts
//   wordings     of licenses that do not name themselves: MIT, BSD, ISC, zlib, Unlicense
// A GNU license is X-only, or X-or-later where the text says so. A name without its version is the family (GPL, CC-BY,
// BSD), unless the text also says a version of it. "public-domain" and the families are no SPDX identifiers. A license
// that is named in the full text of another (the GPL's, the MPL's) is none of the text's own.
// Cost: one look for the few words that every license has, and for texts with one of them a pass over its words.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace quern::corpus {

// Buffers, one for each thread.
struct LicenseScratch {
  struct Hit {
    size_t begin = 0, end = 0;  // in `words`
    size_t phrase = 0;
  };
  std::string words;
  std::vector<Hit> hits;
  std::vector<std::string> ids;
};

// Sorted, each once; valid until the next call.
const std::vector<std::string>& find_licenses(std::string_view text, LicenseScratch& scratch);

// Those of the text, and those that a row states beside it: a name, an address, or a JSON list of names.
const std::vector<std::string>& find_licenses(std::string_view text, std::string_view stated,
                                              LicenseScratch& scratch);

// Whether a text holds one of the words without which it names no license.
bool has_license_word(std::string_view text);

// A choice of licenses: identifiers, families (GPL is every version of it) and `permissive`, with commas between.
class LicenseChoice {
 public:
  LicenseChoice(const std::string& ids, const char* form);  // `form` is for the error
  bool has(std::string_view id) const;

 private:
  std::vector<std::string> names_;
};

}  // namespace quern::corpus
