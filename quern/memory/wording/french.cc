#include "quern/memory/wording/table.h"
namespace quern::memory {
const WordingTexts& french_wording() { static constexpr WordingTexts t{"", "", ""}; return t; }
}
