// The version of a license that stands near its name: "GPLv2+", "GNU General Public License, version 2 or (at your
// option) any later version", "version 2.1 of the GNU Lesser General Public License"; the elements of a Creative Commons
// license; and whether a name is denied.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "quern/corpus/licenses/license_phrases.h"

namespace quern::corpus {

// Of a family that is named at words[begin, end). Text from `stop` on speaks of another license. None: no version is
// said.
struct NamePlace {
  size_t begin = 0, end = 0, stop = 0;
};
struct SaidVersion {
  std::string id;
  bool bare = false;  // nothing is said of other versions
};
std::vector<SaidVersion> versions_near(std::string_view words, NamePlace at, const LicenseFamily& family);

// Whether the words before a name say that it is not the license: "not (licensed) under the MIT license".
bool denied(std::string_view words, size_t begin);

// CC-BY-SA-4.0 and the like; empty: no elements stand there.
std::string creative_commons(std::string_view words, NamePlace at);

}  // namespace quern::corpus
