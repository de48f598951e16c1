// The version of this build: its number, spelled once by project() in the top CMakeLists.txt, and the git commit of its
// sources. Both live in the library quern_version (cmake/version.cmake); a target that asks links it.
#pragma once

namespace quern {

const char* version();         // MAJOR.MINOR.PATCH
const char* version_commit();  // twelve hexadecimal digits; empty when the sources were not a git checkout

}  // namespace quern
