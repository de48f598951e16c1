// The web UI at `/`: the page joined of web/index.html and web/page, its manifest, service worker and icon, embedded in
// the library so that the server needs no files besides its models.
#pragma once
#include <span>
#include <string_view>

#include "quern/serve/http/http_server.h"

namespace quern::serve {

struct WebFile {
  std::string_view path, type, text;
};
std::span<const WebFile> web_files();  // the page first
void answer_web_file(Exchange& e);     // by the path of the request

// What a browser is told the page may do: run its own script and style, talk to this server, and register its service
// worker. Nothing else; and no text becomes markup, because the browser refuses every sink of it (trusted types).
inline constexpr const char* kWebUiPolicy =
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'; "
    "img-src 'self' data:; manifest-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types worker";

}  // namespace quern::serve
