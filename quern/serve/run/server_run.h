// A server from READY to its end: it reads its configuration again on SIGHUP and when a file changes, drains on SIGINT or
// SIGTERM, and keeps a service manager informed.
#pragma once
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "quern/serve/app/app.h"
#include "quern/serve/http/http_server.h"

namespace quern::serve {

struct ServerRunOptions {
  double drain_seconds = 30;                         // running requests may take so long once it is told to stop
  std::vector<std::filesystem::path> watched = {};   // a change is as SIGHUP
  std::function<std::string()> reload = {};          // says what is new; throws Error, and all stays as it was
  std::function<void(const std::string&)> say = {};  // a line for people
};

// Until a signal ends it: the first refuses new requests, waits for those that run, ends the rest with what they have and
// returns; a second one returns at once.
void run_until_stopped(HttpServer& server, App& app, const ServerRunOptions& options);

}  // namespace quern::serve
