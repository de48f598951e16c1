// The web UI at `/`: web/index.html, embedded in the library so that the server needs no files besides its models.
#pragma once
#include <string_view>

namespace quern::serve {

std::string_view page();

// What a browser is told the page may do: run its own script and style, and talk to this server. Nothing else.
inline constexpr const char* kWebUiPolicy =
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

}  // namespace quern::serve
