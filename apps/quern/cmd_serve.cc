// quern serve: models behind an HTTP API that OpenAI's clients speak.
#include <csignal>
#include <cstdlib>
#include <fstream>

#include "apps/quern/args.h"
#include "apps/quern/context.h"
#include "apps/quern/shipped_models.h"
#include "apps/quern/verbs.h"
#include "quern/base/threads.h"
#include "quern/serve/app.h"
#include "quern/serve/wire.h"

namespace quern {
namespace {

HttpServer* running = nullptr;  // what a signal stops
extern "C" void stop_serving(int) {
  if (running) running->stop();
}

std::vector<std::string> read_keys(const std::vector<std::string>& given, const std::string& file) {
  std::vector<std::string> keys = given;
  if (const char* from = std::getenv("QUERN_API_KEY"); from && *from) keys.emplace_back(from);
  if (!file.empty()) {
    std::ifstream f(file);
    if (!f) fail("--api-key-file: cannot open {}", file);
    for (std::string line; std::getline(f, line);)
      if (!line.empty()) keys.push_back(line);
    if (keys.empty()) fail("--api-key-file: {} holds no key", file);
  }
  return keys;
}

std::string model_id(const std::string& dir) {
  std::filesystem::path p = std::filesystem::absolute(dir).lexically_normal();
  if (p.filename().empty()) p = p.parent_path();
  return p.extension() == ".gguf" ? p.stem().string() : p.filename().string();
}

}  // namespace

int cmd_serve(Words args) {
  std::vector<std::string> dirs, keys, names;
  std::string key_file;
  HttpServerOptions http;
  AppOptions app_options;
  int64_t port = 8080, sessions = 16, queue = 256, cache_mib = 1024, state_mib = 0;
  WeightFlags weights{.dtype_default = "auto"};
  bool quiet = false;
  Args a("serve", "models behind an HTTP API");
  a.rest("DIR", dirs)
      .flag("--name", names, "what clients call the model (by itself the folder's name); once a DIR, in order")
      .flag("--host", http.host, "address to listen on")
      .flag("--port", port, "port to listen on; 0 takes any free one")
      .flag("--api-key", keys, "clients must send this key; may be given again (better: QUERN_API_KEY)")
      .flag("--api-key-file", key_file, "a file with a key a line")
      .flag("--cors", app_options.allow_origin, "let pages of this origin call (* for all)")
      .flag("--sessions", sessions, "sequences in work at once, a model")
      .flag("--queue", queue, "requests that may wait; more get 429")
      .flag("--cache-mib", cache_mib, "of the prefix cache, a model")
      .flag("--state-mib", state_mib, "of all sequences in work, a model; 0 is no limit")
      .flag("--quiet", quiet, "no line of log a request")
      .note("Listens on the loopback address unless --host says otherwise. Ctrl-C ends it.");
  weights.add_to(a, "f32, bf16, or auto (bf16)");
  if (!a.parse(args)) return 0;
  if (dirs.empty()) throw UsageError("quern serve: name at least one model folder");
  if (port < 0 || port > 65535) throw UsageError("quern serve: --port takes 0 to 65535");
  if (sessions < 1 || queue < 1 || cache_mib < 0 || state_mib < 0)
    throw UsageError("quern serve: --sessions and --queue take 1 or more, --cache-mib and --state-mib 0 or more");
  if (names.size() > dirs.size()) throw UsageError("quern serve: more --name than DIR");
  app_options.api_keys = read_keys(keys, key_file);
  app_options.log = !quiet;

  std::vector<std::unique_ptr<ServedModel>> models;
  for (size_t i = 0; i < dirs.size(); ++i) {
    const std::string id = i < names.size() ? names[i] : model_id(dirs[i]);
    for (const auto& other : models)
      if (other->id == id) fail("two models are called '{}'; give them names with --name", id);
    dirs[i] = model_folder(dirs[i]);
    auto model = load_for_inference(dirs[i], weights.load_options());
    ChatTemplate chat_template = load_chat_template(dirs[i], model->family());
    models.push_back(std::unique_ptr<ServedModel>(new ServedModel{.id = id,
                                                                  .model = std::move(model),
                                                                  .tokenizer = load_tokenizer(dirs[i]),
                                                                  .chat_template = std::move(chat_template),
                                                                  .defaults = load_generation_config(dirs[i]),
                                                                  .host = nullptr,
                                                                  .created = unix_time()}));
    ServedModel& m = *models.back();
    m.host = std::make_unique<EngineHost>(*m.model,
                                          EngineOptions{.kv = weights.kv(),
                                                        .max_sessions = sessions,
                                                        .state_bytes = state_mib << 20,
                                                        .cache_bytes = cache_mib << 20,
                                                        .tokenizer = &m.tokenizer},
                                          queue);
    fmt::print(stderr, "{}: {}, context {}\n", id, m.model->family(), m.model->max_positions());
  }
  App app(std::move(models), app_options);
  http.port = static_cast<int>(port);
  HttpServer server(http, [&](Exchange& e) { app.handle(e); });
  running = &server;
  std::signal(SIGINT, stop_serving), std::signal(SIGTERM, stop_serving);
  fmt::print("http://{}:{}\n", http.host, server.port());
  std::fflush(stdout);
  server.run();
  running = nullptr;
  fmt::print(stderr, "stopped\n");
  return 0;
}

}  // namespace quern
