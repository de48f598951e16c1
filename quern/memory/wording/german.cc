#include "quern/memory/wording/table.h"
namespace quern::memory {
const WordingTexts& german_wording() { static constexpr WordingTexts t{"", "", ""}; return t; }
}
