// Whether a code point has a character: not a noncharacter, a surrogate, or one that Unicode keeps for later.
#pragma once

namespace quern::text {

bool unicode_is_assigned(char32_t cp);

}  // namespace quern::text
