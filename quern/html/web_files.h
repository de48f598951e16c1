// Files of web/, built into the library: templates of the HTML reports, their styles and scripts.
#pragma once
#include <string_view>

namespace quern::html {

std::string_view web_file(std::string_view name);  // "report.css"; there must be one

}  // namespace quern::html
