// The server of `quern serve` on a model that follows a script (scripted_model.h), for tests with foreign clients:
//   scripted_server SCRIPT [PORT]
// SCRIPT: {"model": NAME, "aliases": [NAME, …], "context": TOKENS, "lines": [{"cue": TEXT, "say": TEXT}, …]}
#include <fmt/format.h>

#include <csignal>
#include <cstdio>

#include "quern/serve/app/app.h"
#include "tests/serve/scripted_model.h"

namespace {

quern::serve::HttpServer* running = nullptr;
extern "C" void stop_server(int) {
  if (running) running->stop();
}

int serve_script(const std::string& file, int port) {
  using namespace quern;
  const Json script = Json::read(file);
  std::vector<ScriptLine> lines;
  for (const Json& l : script.at("lines").as_array())
    lines.push_back({.cue = l.at("cue").as_string(), .say = l.at("say").as_string()});
  const std::string name = script.at("model").as_string();
  const Json* context = script.find("context");
  std::vector<std::unique_ptr<serve::ServedModel>> models;
  models.push_back(scripted_model(name, std::move(lines), context ? context->as_int() : 200'000));
  serve::AppOptions options;
  if (const Json* aliases = script.find("aliases"))
    for (const Json& a : aliases->as_array()) options.live.aliases[a.as_string()] = name;
  serve::App app(std::move(models), std::move(options));
  serve::HttpServerOptions http;
  http.port = port;
  serve::HttpServer server(http, [&](serve::Exchange& e) { app.handle(e); });
  running = &server;
  std::signal(SIGINT, stop_server), std::signal(SIGTERM, stop_server);
  fmt::print("http://127.0.0.1:{}\n", server.port());
  std::fflush(stdout);
  server.run();
  running = nullptr;
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    fmt::print(stderr, "usage: scripted_server SCRIPT [PORT]\n");
    return 2;
  }
  try {
    return serve_script(argv[1], argc > 2 ? std::stoi(argv[2]) : 0);
  } catch (const std::exception& e) {
    fmt::print(stderr, "{}\n", e.what());
    return 1;
  }
}
