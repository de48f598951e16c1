#include "quern/memory/wording/table.h"
namespace quern::memory {
const WordingTexts& spanish_wording() { static constexpr WordingTexts t{"", "", ""}; return t; }
}
