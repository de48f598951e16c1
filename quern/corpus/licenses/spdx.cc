#include "quern/corpus/licenses/spdx.h"

#include <algorithm>
#include <unordered_map>

#include "quern/corpus/bytes/ascii.h"
#include "quern/text/unicode/ascii_case.h"

namespace quern::corpus {
namespace {

using text::ascii_lowercase;

// Those that texts state; the list has some 700.
constexpr std::string_view kIdentifiers =
    "0BSD AFL-2.1 AFL-3.0 AGPL-1.0-only AGPL-1.0-or-later AGPL-3.0-only AGPL-3.0-or-later Apache-1.0 Apache-1.1 "
    "Apache-2.0 "
    "APSL-2.0 Artistic-1.0 Artistic-1.0-Perl Artistic-1.0-cl8 Artistic-2.0 Beerware BSD-1-Clause BSD-2-Clause "
    "BSD-2-Clause-Patent BSD-3-Clause BSD-3-Clause-Clear BSD-3-Clause-LBNL BSD-4-Clause BSD-4-Clause-UC "
    "BSD-Source-Code "
    "BSL-1.0 BUSL-1.1 bzip2-1.0.6 CC-BY-1.0 CC-BY-2.0 CC-BY-2.5 CC-BY-3.0 CC-BY-4.0 CC-BY-NC-1.0 CC-BY-NC-2.0 "
    "CC-BY-NC-2.5 "
    "CC-BY-NC-3.0 CC-BY-NC-4.0 CC-BY-NC-ND-1.0 CC-BY-NC-ND-2.0 CC-BY-NC-ND-2.5 CC-BY-NC-ND-3.0 CC-BY-NC-ND-4.0 "
    "CC-BY-NC-SA-1.0 "
    "CC-BY-NC-SA-2.0 CC-BY-NC-SA-2.5 CC-BY-NC-SA-3.0 CC-BY-NC-SA-4.0 CC-BY-ND-1.0 CC-BY-ND-2.0 CC-BY-ND-2.5 "
    "CC-BY-ND-3.0 "
    "CC-BY-ND-4.0 CC-BY-SA-1.0 CC-BY-SA-2.0 CC-BY-SA-2.5 CC-BY-SA-3.0 CC-BY-SA-4.0 CC0-1.0 CDDL-1.0 CDDL-1.1 "
    "CECILL-2.0 "
    "CECILL-2.1 CECILL-B CECILL-C CPL-1.0 curl ECL-2.0 EFL-2.0 EPL-1.0 EPL-2.0 EUPL-1.1 EUPL-1.2 FSFAP FSFUL FSFULLR "
    "FTL "
    "GFDL-1.1-only GFDL-1.1-or-later GFDL-1.2-only GFDL-1.2-or-later GFDL-1.3-only GFDL-1.3-or-later GPL-1.0-only "
    "GPL-1.0-or-later GPL-2.0-only GPL-2.0-or-later GPL-3.0-only GPL-3.0-or-later HPND ICU IJG ImageMagick IPL-1.0 "
    "ISC JSON "
    "Latex2e LGPL-2.0-only LGPL-2.0-or-later LGPL-2.1-only LGPL-2.1-or-later LGPL-3.0-only LGPL-3.0-or-later Libpng "
    "libpng-2.0 libtiff LPPL-1.0 LPPL-1.2 LPPL-1.3a LPPL-1.3c MIT MIT-0 MIT-CMU MPL-1.0 MPL-1.1 MPL-2.0 "
    "MPL-2.0-no-copyleft-exception MS-PL MS-RL MulanPSL-2.0 NCSA NTP ODbL-1.0 ODC-By-1.0 OFL-1.0 OFL-1.1 OLDAP-2.8 "
    "OpenSSL "
    "OSL-2.1 OSL-3.0 PDDL-1.0 PHP-3.0 PHP-3.01 PostgreSQL PSF-2.0 Python-2.0 QPL-1.0 Ruby SGI-B-2.0 Sleepycat SMLNJ "
    "SSPL-1.0 "
    "TCL Unicode-3.0 Unicode-DFS-2016 Unlicense UPL-1.0 Vim W3C WTFPL X11 Zlib zlib-acknowledgement ZPL-2.1 ";
// Deprecated identifiers without a word about later versions, and short names of package systems.
constexpr std::string_view kWithoutLater =
    " agpl-1.0 agpl-3.0 gfdl-1.1 gfdl-1.2 gfdl-1.3 gpl-1.0 gpl-2.0 gpl-3.0 lgpl-2.0 lgpl-2.1 lgpl-3.0 ";
constexpr std::pair<const char*, const char*> kOtherNames[] = {
    {"expat", "MIT"}, {"apache2", "Apache-2.0"}, {"boost", "BSL-1.0"}, {"cc0", "CC0-1.0"}, {"mpl2", "MPL-2.0"}};

const std::unordered_map<std::string, std::string>& identifiers() {
  static const auto table = [] {
    std::unordered_map<std::string, std::string> t;
    for (std::string& id : spdx_identifiers()) t.emplace(ascii_lowercase(id), std::move(id));
    for (const auto& [name, id] : kOtherNames) t.emplace(name, id);
    return t;
  }();
  return table;
}

bool in_name(char c) { return ascii_alnum(c) || c == '-' || c == '.' || c == '+'; }

struct SpdxExpression {
  std::vector<std::string> ids;
  bool all_known = true;
  size_t end = 0;  // behind the last name
};

// Names, AND, OR, WITH and parentheses from i on, in one line.
SpdxExpression read_expression(std::string_view s, size_t i) {
  SpdxExpression e;
  bool wants_name = true, exception = false;
  for (;;) {
    while (i < s.size() && (s[i] == ' ' || s[i] == '\t' || s[i] == '(' || s[i] == ')')) ++i;
    const size_t begin = i;
    while (i < s.size() && in_name(s[i])) ++i;
    std::string_view word = s.substr(begin, i - begin);
    while (word.ends_with('.')) word.remove_suffix(1);
    if (word.empty()) return e;
    const std::string small = ascii_lowercase(word);
    const bool joins = small == "and" || small == "or" || small == "with";
    if (joins == wants_name) return e;
    if (joins) {
      exception = small == "with", wants_name = true;
      continue;
    }
    wants_name = false, e.end = begin + word.size();
    if (exception) continue;
    std::string id = spdx_identifier(word);
    if (id.empty()) e.all_known = false, id = std::string(word);
    e.ids.push_back(std::move(id));
  }
}

// Behind "SPDX-License-Identifier:". A name that is not known stays as it is written where the expression is all that
// the line has, but for signs that end a comment or a quotation.
void add_tag(std::string_view text, size_t at, std::vector<std::string>& ids) {
  const SpdxExpression e = read_expression(text, at);
  bool alone = true;
  for (size_t i = e.end; i < text.size() && text[i] != '\n'; ++i)
    alone = alone && !ascii_alnum(text[i]) && text[i] != ':';
  for (const std::string& id : e.ids)
    if (!spdx_identifier(id).empty() || (alone && id.size() > 2 && ascii_alnum(id[0]) && id.find('+') == id.npos))
      ids.push_back(id);
}

// Behind the word license: `: MIT`, `= "MIT OR Apache-2.0"`, `": "MIT"`, with the value's end behind it.
void add_field(std::string_view text, size_t i, std::vector<std::string>& ids) {
  const auto skip = [&](std::string_view what) {
    while (i < text.size() && what.find(text[i]) != what.npos) ++i;
  };
  skip("\"'");
  skip(" \t");
  if (i >= text.size() || (text[i] != ':' && text[i] != '=')) return;
  ++i;
  skip(" \t");
  skip("\"'{[");
  const SpdxExpression e = read_expression(text, i);
  if (e.ids.empty() || !e.all_known) return;
  const size_t end = std::min(text.find_first_not_of(" \t)\r", e.end), text.size());
  const char c = end < text.size() ? text[end] : '\n';
  if (c == '\n' || c == '"' || c == '\'' || c == ',' || c == '}' || c == ']' || c == '<' || c == ';')
    ids.insert(ids.end(), e.ids.begin(), e.ids.end());
}

}  // namespace

std::vector<std::string> spdx_identifiers() {
  std::vector<std::string> all;
  for (size_t at = 0, end; (end = kIdentifiers.find(' ', at)) != kIdentifiers.npos; at = end + 1)
    all.emplace_back(kIdentifiers.substr(at, end - at));
  return all;
}

std::string spdx_identifier(std::string_view name) {
  std::string small = ascii_lowercase(name);
  const bool later = small.ends_with('+');
  if (later) small.pop_back();
  if (kWithoutLater.find(" " + small + " ") != kWithoutLater.npos) small += later ? "-or-later" : "-only";
  const auto at = identifiers().find(small);
  return at == identifiers().end() ? std::string() : at->second;
}

void find_spdx_expressions(std::string_view text, std::vector<std::string>& ids) {
  constexpr std::string_view kTag = "SPDX-License-Identifier:";
  for (size_t at = 0; (at = text.find("icense", at)) != text.npos; at += 6) {
    if (at > 0 && (text[at - 1] | 32) != 'l') continue;
    const size_t begin = at > 6 ? at - 6 : 0;
    if (text.substr(begin, kTag.size()) == kTag)
      add_tag(text, begin + kTag.size(), ids);
    else
      add_field(text, at + 6, ids);
  }
}

}  // namespace quern::corpus
