// Short lines that pages put around a text and that are not part of it: where a picture comes from, whom to share it with,
// what to read next, when it was changed. Known by how they begin, in a few languages.
#pragma once
#include <string_view>

namespace quern::text {

bool is_label_line(std::string_view line);

}  // namespace quern::text
