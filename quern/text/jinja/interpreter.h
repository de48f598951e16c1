// Runs a parsed template. Bounds: steps, call depth and output, so that a hostile template ends with an Error.
#pragma once
#include "quern/text/jinja/ast.h"

namespace quern::text::jinja {

std::string render(const Block& program, const Json& context);

}  // namespace quern::text::jinja
