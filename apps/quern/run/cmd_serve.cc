// quern serve: models behind an HTTP API that OpenAI's clients speak.
#include <malloc.h>

#include <algorithm>
#include <cctype>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "apps/quern/cli/args.h"
#include "apps/quern/cli/verbs.h"
#include "apps/quern/models/context.h"
#include "apps/quern/models/draft_flags.h"
#include "apps/quern/models/hub_models.h"
#include "apps/quern/models/shipped_models.h"
#include "quern/base/threads.h"
#include "quern/models/fingerprint.h"
#include "quern/serve/app/app.h"
#include "quern/serve/wire/wire.h"

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
    for (std::string line; std::getline(f, line);) {
      const size_t from = line.find_first_not_of(" \t\r"), end = line.find_last_not_of(" \t\r");
      if (from != line.npos && line[from] != '#') keys.push_back(line.substr(from, end + 1 - from));
    }
    if (keys.empty()) fail("--api-key-file: {} holds no key", file);
  }
  return keys;
}

// "llm", "/llm" and "/llm/" are "/llm".
std::string read_prefix(const std::string& text) {
  std::string p = text;
  while (p.ends_with('/')) p.pop_back();
  if (!p.empty() && p[0] != '/') p.insert(0, "/");
  const bool good =
      p.find("//") == p.npos && std::ranges::all_of(p, [](unsigned char c) {
        return std::isalnum(c) != 0 || std::string_view("/-_.~").find(static_cast<char>(c)) != std::string_view::npos;
      });
  if (!good) throw UsageError(fmt::format("quern serve: --prefix '{}': expected a path like /llm", text));
  return p;
}

void check_origins(const std::vector<std::string>& origins) {
  for (const std::string& o : origins)
    if (o != "*" && (o.find("://") == o.npos || o.find('/', o.find("://") + 3) != o.npos))
      throw UsageError(fmt::format("quern serve: --cors '{}': expected * or an origin like https://example.org", o));
}

std::string model_id(const std::string& dir) {
  if (!std::filesystem::exists(dir) && is_hub_name(dir)) return dir.substr(0, dir.find('@'));
  std::filesystem::path p = std::filesystem::absolute(dir).lexically_normal();
  if (p.filename().empty()) p = p.parent_path();
  return p.extension() == ".gguf" ? p.stem().string() : p.filename().string();
}

struct Served {  // as the command line names it
  std::string id, dir, adapter, base = {};
};

// NAME=FOLDER, or NAME=FOLDER@MODEL for another than the first.
Served read_lora(const std::string& text, const std::vector<Served>& models) {
  const size_t equals = text.find('='), at = text.rfind('@');
  if (equals == 0 || equals == text.npos)
    throw UsageError("quern serve: --lora takes NAME=FOLDER or NAME=FOLDER@MODEL");
  const std::string folder = text.substr(equals + 1);
  if (std::filesystem::exists(folder) || at == text.npos || at < equals)
    return {.id = text.substr(0, equals), .dir = models[0].dir, .adapter = folder, .base = models[0].id};
  const std::string base = text.substr(at + 1);
  for (const Served& m : models)
    if (m.id == base)
      return {.id = text.substr(0, equals),
              .dir = m.dir,
              .adapter = text.substr(equals + 1, at - equals - 1),
              .base = m.id};
  fail("--lora {}: no model is called '{}'", text, base);
}

struct HowToServe {
  LoadOptions load;
  DraftFlags ahead;
  std::string drafted;  // the folder whose models the draft model guesses for
  std::string weights;  // how they are kept, for the fingerprint; empty: none is needed
  EngineOptions engine;
  int64_t queue = 0;
  double most_seconds = 0;
};

std::unique_ptr<ServedModel> load_served(const Served& what, const HowToServe& how) {
  LoadOptions options = how.load;
  if (!what.adapter.empty()) options.adapter = what.adapter;
  auto model = load_for_inference(what.dir, options);
  ChatTemplate chat_template = load_chat_template(what.dir, model->family());
  std::unique_ptr<ServedModel> m(new ServedModel{.id = what.id,
                                                 .model = std::move(model),
                                                 .tokenizer = load_tokenizer(what.dir),
                                                 .chat_template = std::move(chat_template),
                                                 .defaults = load_generation_config(what.dir),
                                                 .host = nullptr,
                                                 .created = unix_time()});
  if (!how.weights.empty()) m->fingerprint = model_fingerprint(what.dir, how.weights, options.adapter);
  EngineOptions engine = how.engine;
  engine.tokenizer = &m->tokenizer;
  if (what.dir == how.drafted) m->draft = how.ahead.load(what.dir, m->tokenizer);
  engine.draft = m->draft.get();
  if (!m->draft) engine.speculate.draft = false;
  if (!engine.speculate.ngram && !engine.speculate.draft) engine.speculate = {};
  m->host = std::make_unique<EngineHost>(*m->model, engine, how.queue, how.most_seconds);
  fmt::print(stderr, "{}: {}, context {}\n", m->id, m->model->family(), m->model->max_positions());
  return m;
}

// `how` outlives the entry.
ShelfEntry entry_of(const Served& what, const HowToServe& how) {
  return {.id = what.id,
          .load = [what, &how] { return load_served(what, how); },
          .bytes = weight_bytes(what.dir) + how.engine.cache_bytes +
                   (what.dir == how.drafted ? how.ahead.weights(what.dir) : 0),
          .base = what.base,
          .adapter = what.adapter};
}

// An --adapter-dir that is there, and how a folder below it becomes a model.
void allow_adapters(AdapterOptions& o, const std::vector<Served>& served, const HowToServe& how) {
  if (o.folder.empty()) return;
  if (!std::filesystem::is_directory(o.folder)) fail("--adapter-dir {}: expected a folder", o.folder.string());
  o.entry = [&](const std::string& name, const std::string& folder, const std::string& base) {
    const auto on = std::ranges::find(served, base, &Served::id);
    QUERN_CHECK(on != served.end(), "no model {}", base);
    return entry_of({.id = name, .dir = on->dir, .adapter = folder, .base = base}, how);
  };
}

}  // namespace

int cmd_serve(Words args) {
  std::vector<std::string> dirs, keys, names, loras;
  std::string key_file, adapter_dir;
  HttpServerOptions http;
  AppOptions app_options;
  ShelfOptions shelf_options;
  int64_t port = 8080, sessions = 16, queue = 256, cache_mib = 1024, state_mib = 0, memory_mib = 0, idle_minutes = 0;
  WeightFlags weights{.dtype_default = "auto"};
  double most_seconds = 0;
  bool quiet = false;
  DraftFlags ahead;
  Args a("serve", "models behind an HTTP API");
  a.rest("DIR", dirs)
      .flag("--name", names, "what clients call the model (by itself the folder's name); once a DIR, in order")
      .flag("--lora", loras, "NAME=FOLDER: a PEFT adapter on the first model (…@MODEL: on that), as a model NAME")
      .flag("--adapter-dir", adapter_dir,
            "adapters in folders below may be loaded and unloaded while the server runs (/v1/load_lora_adapter)")
      .flag("--host", http.host, "address to listen on")
      .flag("--port", port, "port to listen on; 0 takes any free one")
      .flag("--api-key", keys, "clients must send this key; may be given again (better: QUERN_API_KEY)")
      .flag("--api-key-file", key_file, "a file with a key a line; lines that begin with # are passed over")
      .flag("--unix", http.unix_path, "listen at a socket of this name, for its owner alone, and at no port")
      .flag("--prefix", app_options.prefix, "all paths begin with this, as /llm does")
      .flag("--cors", app_options.allow_origins, "let pages of this origin call (* for all); may be given again")
      .flag("--cors-methods", app_options.allow_methods, "what these pages may do")
      .flag("--cors-headers", app_options.allow_headers, "headers they may send; by itself those they ask for")
      .flag("--sessions", sessions, "sequences in work at once, a model")
      .flag("--queue", queue, "requests that may wait; more get 429")
      .flag("--request-seconds", most_seconds,
            "most a request may take, waiting included; it may ask for less by `timeout`; 0 is no limit")
      .flag("--cache-mib", cache_mib, "of the prefix cache, a model")
      .flag("--state-mib", state_mib, "of all sequences in work, a model; 0 is no limit")
      .flag("--memory-mib", memory_mib, "of weights and caches of all loaded models; 0 is no limit")
      .flag("--idle-minutes", idle_minutes, "put a model away when nobody asked for it in so long; 0 is never")
      .flag("--db", app_options.grounding.memory, "a file in which chats that ask for it are remembered")
      .flag("--zone", app_options.grounding.zone, "time zone of conversations that begin there [UTC]")
      .flag("--documents", app_options.grounding.documents,
            "a folder of quern recall index, for chats that ask for it")
      .flag("--session-dir", app_options.sessions,
            "a folder for saved sessions and for stored responses, which then outlive the server")
      .flag("--slots-text", app_options.slots_text, "GET /slots?text=true shows what is said to whoever may ask")
      .flag("--quiet", quiet, "no line of log a request")
      .note(
          "DIR is a model folder, a .gguf file, or a name in the Hugging Face cache like org/name. "
          "Without DIR: the model that comes with Quern. The first model is loaded at once, others when they are "
          "first asked for. Listens on the loopback address "
          "unless --host says otherwise. Ctrl-C ends it.");
  ahead.add_to(a, ", unless a request says otherwise by `speculative`; answers are the same up to rounding",
               " for the first DIR and its adapters");
  weights.add_to(a, "f32, bf16, or auto (bf16)");
  weights.add_cache_to(a);
  if (!a.parse(args)) return 0;
  // Of malloc as many arenas as can be at work, not eight for each: every one of them grows to what its threads ever
  // needed at once.
  if (!std::getenv("MALLOC_ARENA_MAX")) ::mallopt(M_ARENA_MAX, std::max(2, thread_count()));
  if (dirs.empty()) dirs = {"zaya-nano"};
  if (port < 0 || port > 65535) throw UsageError("quern serve: --port takes 0 to 65535");
  if (sessions < 1 || queue < 1 || cache_mib < 0 || state_mib < 0 || memory_mib < 0 || idle_minutes < 0)
    throw UsageError("quern serve: --sessions and --queue take 1 or more, MiB and minutes 0 or more");
  if (!(most_seconds >= 0)) throw UsageError("quern serve: --request-seconds takes 0 or more");
  if (names.size() > dirs.size()) throw UsageError("quern serve: more --name than DIR");
  app_options.prefix = read_prefix(app_options.prefix);
  check_origins(app_options.allow_origins);
  app_options.api_keys = read_keys(keys, key_file);
  app_options.log = !quiet;
  shelf_options = {.idle_seconds = 60.0 * static_cast<double>(idle_minutes), .memory_bytes = memory_mib << 20};

  std::vector<Served> served;
  for (size_t i = 0; i < dirs.size(); ++i) {
    served.push_back({.id = i < names.size() ? names[i] : model_id(dirs[i]),
                      .dir = model_folder(dirs[i]),
                      .adapter = {},
                      .base = {}});
    if (!std::filesystem::exists(served.back().dir)) fail("{}: no such model", dirs[i]);
  }
  for (const std::string& text : loras) served.push_back(read_lora(text, served));
  const HowToServe how{.load = weights.load_options(),
                       .ahead = ahead,
                       .drafted = ahead.dir.empty() ? "" : served[0].dir,
                       .weights = app_options.sessions.empty() ? "" : weights.name(),
                       .engine = {.kv = weights.kv(),
                                  .max_sessions = sessions,
                                  .state_bytes = state_mib << 20,
                                  .cache_bytes = cache_mib << 20,
                                  .speculate = ahead.options()},
                       .queue = queue,
                       .most_seconds = most_seconds};
  std::vector<ShelfEntry> entries;
  for (const Served& what : served) {
    for (const ShelfEntry& other : entries)
      if (other.id == what.id) fail("two models are called '{}'; give them names with --name", what.id);
    entries.push_back(entry_of(what, how));
  }
  app_options.adapters.folder = adapter_dir;
  allow_adapters(app_options.adapters, served, how);
  auto shelf = std::make_unique<ModelShelf>(std::move(entries), shelf_options);
  shelf->get(served[0].id);
  App app(std::move(shelf), app_options);
  http.port = static_cast<int>(port);
  HttpServer server(http, [&](Exchange& e) { app.handle(e); });
  running = &server;
  std::signal(SIGINT, stop_serving), std::signal(SIGTERM, stop_serving);
  if (http.unix_path.empty())
    fmt::print("http://{}:{}{}\n", http.host, server.port(), app_options.prefix);
  else
    fmt::print("unix:{}{}{}\n", http.unix_path, app_options.prefix.empty() ? "" : ":", app_options.prefix);
  std::fflush(stdout);
  server.run();
  running = nullptr;
  fmt::print(stderr, "stopped\n");
  return 0;
}

}  // namespace quern
