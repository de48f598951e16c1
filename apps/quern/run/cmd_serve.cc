// quern serve: an OpenAI-compatible HTTP server.
#include <malloc.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "apps/quern/cli/args.h"
#include "apps/quern/cli/verbs.h"
#include "apps/quern/cli/wrong_usage.h"
#include "apps/quern/encoders/encoder_flags.h"
#include "apps/quern/models/context.h"
#include "apps/quern/models/draft_flags.h"
#include "apps/quern/models/hub_models.h"
#include "apps/quern/models/shipped_models.h"
#include "apps/quern/run/mcp_servers.h"
#include "apps/quern/run/serve_options.h"
#include "apps/quern/run/served_folder.h"
#include "quern/base/threads.h"
#include "quern/base/version.h"
#include "quern/encoders/text_encoder.h"
#include "quern/models/fingerprint.h"
#include "quern/serve/app/app.h"
#include "quern/serve/run/server_run.h"
#include "quern/serve/wire/wire.h"

namespace quern::cli {

std::vector<std::string> read_keys(const std::vector<std::string>& given, const std::string& file) {
  std::vector<std::string> keys = given;
  if (std::find(keys.begin(), keys.end(), "") != keys.end())
    throw UsageError("--api-key: the key is empty; leave the flag out to serve without one, on this machine alone");
  if (const char* from = std::getenv("QUERN_API_KEY"); from && *from) keys.emplace_back(from);
  if (!file.empty()) {
    std::ifstream f(file);
    if (!f) fail("--api-key-file: cannot open {}", file);
    for (std::string line; std::getline(f, line);) {
      const size_t from = line.find_first_not_of(" \t\r"), end = line.find_last_not_of(" \t\r");
      if (from != line.npos && line[from] != '#') keys.push_back(line.substr(from, end + 1 - from));
    }
    if (keys.empty()) fail("--api-key-file: {} has no key: expected one key per line", file);
  }
  return keys;
}

namespace {

// "llm", "/llm" and "/llm/" are "/llm".
std::string read_prefix(const std::string& text) {
  std::string p = text;
  while (p.ends_with('/')) p.pop_back();
  if (!p.empty() && p[0] != '/') p.insert(0, "/");
  const bool good =
      p.find("//") == p.npos && std::ranges::all_of(p, [](unsigned char c) {
        return std::isalnum(c) != 0 || std::string_view("/-_.~").find(static_cast<char>(c)) != std::string_view::npos;
      });
  if (!good) throw UsageError(fmt::format("quern serve: --prefix '{}': expected a path such as /llm", text));
  return p;
}

struct Served {  // as the command line names it
  std::string id, dir, adapter, base = {};
  double scale = 1;  // of the adapter
};

// NAME=FOLDER or NAME=FOLDER:SCALE, with @MODEL behind it for another than the first.
Served read_lora(const std::string& text, const std::vector<Served>& models) {
  const size_t equals = text.find('=');
  if (equals == 0 || equals == text.npos)
    throw UsageError(fmt::format("quern serve: --lora '{}': expected NAME=FOLDER or NAME=FOLDER@MODEL", text));
  std::string path = text.substr(equals + 1);
  const size_t at = path.rfind('@');
  const Served* on = models.data();
  if (at != path.npos && !std::filesystem::exists(path)) {
    const auto named = std::ranges::find(models, path.substr(at + 1), &Served::id);
    if (named == models.end()) fail("--lora {}: no served model has the name '{}'", text, path.substr(at + 1));
    on = &*named, path.resize(at);
  }
  const AdapterPath adapter(path);
  return {.id = text.substr(0, equals),
          .dir = on->dir,
          .adapter = adapter.folder,
          .base = on->id,
          .scale = adapter.scale};
}

// NAME or NAME=MODEL.
std::pair<std::string, std::string> read_alias(const std::string& text, const std::vector<Served>& served) {
  const size_t equals = text.find('=');
  const std::string name = text.substr(0, equals),
                    model = equals == text.npos ? served[0].id : text.substr(equals + 1);
  const auto is_served = [&](const std::string& id) {
    return std::ranges::find(served, id, &Served::id) != served.end();
  };
  if (name.empty()) throw UsageError(fmt::format("quern serve: --alias '{}': expected NAME or NAME=MODEL", text));
  if (name.find('*') < name.size() - 1)
    throw UsageError(fmt::format("quern serve: --alias '{}': * may only be the end of a name", text));
  if (!is_served(model)) fail("--alias {}: no served model has the name '{}'", text, model);
  if (is_served(name)) fail("--alias {}: a served model has the name '{}'", text, name);
  return {name, model};
}

struct ServeSettings {
  models::LoadOptions load;
  models::ContextSettings context;  // of the first model and its adapters
  std::string first;                // its name
  DraftFlags ahead;
  std::string drafted;  // the folder whose models the draft model guesses for
  std::string weights;  // how they are kept, for the fingerprint; empty: none is needed
  kernels::QuantFormat encoder_format;
  infer::EngineOptions engine;
  int64_t queue = 0;
  double max_seconds = 0;
};

std::unique_ptr<serve::ServedModel> load_served_encoder(const Served& what, const ServeSettings& how) {
  if (!what.adapter.empty()) fail("{}: an encoder takes no adapter", what.dir);
  auto text = encoders::TextEncoder::load(what.dir, how.encoder_format);
  text::Tokenizer tokenizer = text.tokenizer();
  std::unique_ptr<serve::ServedModel> m(new serve::ServedModel{.id = what.id,
                                                               .model = nullptr,
                                                               .tokenizer = std::move(tokenizer),
                                                               .chat_template = {},
                                                               .defaults = {},
                                                               .host = nullptr,
                                                               .created = serve::unix_time()});
  m->encoder.reset(new serve::ServedEncoder{.text = std::move(text)});
  fmt::print(stderr, "{}: encoder, {} tokens per text\n", m->id, m->max_tokens());
  return m;
}

// Beside weights that are rounded themselves, adapters are kept in bf16: they are read for every row.
DType factors_beside(const Served& what, const models::LoadOptions& options) {
  const bool packed = packed_formats(what.dir, models::open_checkpoint(what.dir)).has_value();
  const bool whole =
      options.scheme ? options.scheme->format == kernels::WeightFormat::f32 : options.dtype == DType::f32;
  return whole && !packed ? DType::f32 : DType::bf16;
}

// "DIR" or "DIR:GIB".
infer::PrefixDiskOptions read_cache_disk(const std::string& text) {
  infer::PrefixDiskOptions o{.folder = text,
                             .say = [](const std::string& line) { fmt::print(stderr, "{}\n", line); }};
  const size_t colon = text.rfind(':');
  if (colon == text.npos) return o;
  double gib = 0;
  const char* end = text.data() + text.size();
  const auto [stop, bad] = std::from_chars(text.data() + colon + 1, end, gib);
  if (bad != std::errc() || stop != end || !(gib > 0 && gib <= 1e6) || colon == 0)
    throw UsageError(fmt::format(
        "quern serve: --cache-disk '{}': expected DIR or DIR:GIB, for example /var/cache/quern:20", text));
  o.folder = text.substr(0, colon), o.bytes = static_cast<int64_t>(gib * (int64_t{1} << 30));
  return o;
}

models::ContextSettings context_of(const Served& what, const ServeSettings& how) {
  return what.id == how.first || what.base == how.first ? how.context : models::ContextSettings{};
}

std::string fingerprint_of(const Served& what, const ServeSettings& how) {
  if (how.weights.empty()) return {};
  const std::string weights = how.weights + context_of(what, how).rope_name();
  if (what.adapter.empty()) return models::model_fingerprint(what.dir, weights);
  const std::string scale = what.scale == 1 ? "" : fmt::format(":{}", what.scale);
  return models::model_fingerprint(what.dir, weights + scale, what.adapter);
}

std::unique_ptr<serve::ServedModel> load_served(const Served& what, const ServeSettings& how) {
  if (encoders::is_encoder(what.dir)) return load_served_encoder(what, how);
  const models::ContextSettings context = context_of(what, how);
  models::LoadOptions options = models::with_context(nn::builtin_registry(), how.load, context);
  auto sites = what.adapter.empty() ? std::make_shared<models::AdapterSites>(factors_beside(what, options)) : nullptr;
  options.paths = sites.get();
  if (!what.adapter.empty()) options.adapter = what.adapter, options.adapter_scale = what.scale;
  auto m = load_served_folder(what.id, what.dir, options);
  m->sites = std::move(sites);
  m->fingerprint = fingerprint_of(what, how);
  infer::EngineOptions engine = how.engine;
  engine.tokenizer = &m->tokenizer;
  if (what.dir == how.drafted) m->draft = how.ahead.load(what.dir, m->tokenizer, context);
  engine.draft = m->draft.get();
  engine.disk.identity = {{"model", m->fingerprint},
                          {"weights", how.weights},
                          {"version", fmt::format("{} {}", version(), version_commit())}};
  if (!m->draft) engine.speculate.draft = false;
  if (!engine.speculate.ngram && !engine.speculate.draft) engine.speculate = {};
  m->host = std::make_unique<serve::EngineHost>(*m->model, engine, how.queue, how.max_seconds);
  fmt::print(stderr, "{}: {}, context {}\n", m->id, m->model->family(), m->max_tokens());
  return m;
}

// Rows of the base choose the adapter, whose weights and engine it shares.
std::shared_ptr<serve::ServedModel> load_beside(const Served& what, const ServeSettings& how,
                                                const std::shared_ptr<serve::ServedModel>& base) {
  auto m = serve::with_adapters(
      base, {{.paths = base->sites->read(what.adapter, *base->model), .scale = static_cast<float>(what.scale)}});
  m->id = what.id, m->created = serve::unix_time(), m->fingerprint = fingerprint_of(what, how);
  fmt::print(stderr, "{}: adapter on {}, {:.1f} MB\n", m->id, base->id,
             static_cast<double>(m->adapters[0].paths->bytes) / 1e6);
  return m;
}

// Whether the adapter needs a copy of the weights for itself. What cannot be read is told when it is loaded.
bool needs_a_copy(const std::string& adapter) {
  try {
    return !models::AdapterSites::only_beside(adapter);
  } catch (const Error&) {
    return false;
  }
}

// `how` outlives the entry.
serve::ModelEntry entry_of(const Served& what, const ServeSettings& how) {
  serve::ModelEntry e{.id = what.id, .load = {}, .base = what.base, .adapter = what.adapter};
  if (!what.adapter.empty() && !needs_a_copy(what.adapter)) {
    e.bytes = std::filesystem::exists(what.adapter) ? weight_bytes(what.adapter) : 0;
    e.load_beside = [what, &how](const auto& base) { return load_beside(what, how, base); };
    return e;
  }
  e.bytes =
      weight_bytes(what.dir) + how.engine.cache_bytes + (what.dir == how.drafted ? how.ahead.weights(what.dir) : 0);
  e.load = [what, &how] { return load_served(what, how); };
  return e;
}

// An --adapter-dir that is there, and how a folder below it becomes a model.
void allow_adapters(serve::AdapterOptions& o, const std::vector<Served>& served, const ServeSettings& how) {
  if (o.folder.empty()) return;
  if (!std::filesystem::is_directory(o.folder)) fail("--adapter-dir {}: not a folder", o.folder.string());
  o.entry = [&](const std::string& name, const std::string& folder, const std::string& base) {
    const auto on = std::ranges::find(served, base, &Served::id);
    QUERN_CHECK(on != served.end(), "no model {}", base);
    return entry_of({.id = name, .dir = on->dir, .adapter = folder, .base = base}, how);
  };
}

struct ServeFlags {
  std::vector<std::string> dirs;
  ServeOptions o;
  WeightFlags weights{.dtype_default = "auto"};
  DraftFlags ahead;
  EncoderFlags encoder;
  ContextFlags context;
  bool parse(Words args);  // false: it was a call for help
};

bool ServeFlags::parse(Words args) {
  Args a("serve", "OpenAI-compatible HTTP server with continuous batching and a web UI");
  a.rest("DIR", dirs)
      .settings(o)
      .note(
          "DIR is a model folder, a .gguf file, or a name in the Hugging Face cache such as org/name; without DIR, "
          "the\n"
          "server uses the shipped model. It loads the first model at startup and every other one on its first "
          "request,\n"
          "and listens on the loopback address unless --host is given. Requests run with continuous batching, share "
          "a\n"
          "prefix cache, and can ask for constrained decoding (response_format, grammars). --draft, "
          "--context,\n"
          "--rope-scaling and --rope-theta are for the first DIR and its adapters; a request can override "
          "--speculate\n"
          "with `speculative`. Ctrl-C stops the server.");
  a.settings(ahead).settings(encoder).settings(context);
  weights.add_to(a);
  weights.add_cache_to(a);
  if (!a.parse(args)) return false;
  if (dirs.empty()) dirs = {kShippedModel};
  a.check(o), a.check(context), context.check();
  if (o.names.size() > dirs.size())
    throw UsageError(
        fmt::format("quern serve: {} --name for {} DIR: give at most one per DIR", o.names.size(), dirs.size()));
  o.app.prefix = read_prefix(o.app.prefix);
  checked_usage("serve", [&] { serve::check_origins(o.app.live.cors, "--cors"); });
  o.app.api_keys = read_keys(o.api_keys, o.api_key_file);
  o.app.log = !o.quiet;
  o.app.adapters.folder = o.adapter_dir;
  if (o.tls_cert.empty() != o.tls_key.empty())
    throw UsageError("quern serve: --tls-cert and --tls-key belong together: give both");
  if (!o.mcp.file.empty()) o.app.mcp = read_mcp_servers(o.mcp.file);
  return true;
}

// The models of the command line and then the adapters.
std::vector<Served> served_models(const ServeFlags& f) {
  std::vector<Served> served;
  for (size_t i = 0; i < f.dirs.size(); ++i) {
    served.push_back({.id = i < f.o.names.size() ? f.o.names[i] : model_id(f.dirs[i]),
                      .dir = model_folder(f.dirs[i]),
                      .adapter = {},
                      .base = {}});
    if (!std::filesystem::exists(served.back().dir)) fail("{}: no such model folder or file", f.dirs[i]);
  }
  if (f.context.settings.any() && encoders::is_encoder(served[0].dir))
    fail(
        "{}: an encoder's context cannot be changed: --context, --rope-scaling and --rope-theta are for language "
        "models",
        f.dirs[0]);
  for (const std::string& text : f.o.loras) {
    served.push_back(read_lora(text, served));
    const Served& s = served.back();
    if (encoders::is_encoder(s.dir)) fail("--lora {}: {} is an encoder, which takes no adapter", text, s.dir);
    models::AdapterSites::only_beside(s.adapter);  // a folder that is no adapter is told now, not at a first request
  }
  return served;
}

ServeSettings serve_settings(const ServeFlags& f, const std::vector<Served>& served) {
  infer::EngineOptions engine = f.o.engine;
  engine.kv = f.weights.kv(), engine.speculate = f.ahead.options();
  if (!f.o.cache_disk.empty()) engine.disk = read_cache_disk(f.o.cache_disk);
  if (engine.disk.on() && engine.cache_bytes == 0)
    throw UsageError("quern serve: --cache-disk needs a prefix cache in memory: raise --cache-mib 0");
  return {.load = f.weights.load_options(),
          .context = f.context.settings,
          .first = served[0].id,
          .ahead = f.ahead,
          .drafted = f.ahead.dir.empty() ? "" : served[0].dir,
          .weights = f.o.app.sessions.empty() && !engine.disk.on() ? "" : f.weights.name(),
          .encoder_format = checked_usage("serve", [&] { return f.encoder.parsed(); }),
          .engine = engine,
          .queue = f.o.queue,
          .max_seconds = f.o.request_seconds};
}

// The first model is loaded. `how` outlives the manager.
std::unique_ptr<serve::ModelManager> load_first(const std::vector<Served>& served, const ServeSettings& how,
                                                const ServeOptions& o) {
  std::vector<serve::ModelEntry> entries;
  for (const Served& what : served) {
    for (const serve::ModelEntry& other : entries)
      if (other.id == what.id) fail("two models have the name '{}': give them different names with --name", what.id);
    entries.push_back(entry_of(what, how));
  }
  auto manager = std::make_unique<serve::ModelManager>(
      std::move(entries), serve::ModelManagerOptions{.idle_seconds = 60.0 * static_cast<double>(o.idle_minutes),
                                                     .memory_bytes = o.memory_mib << 20});
  try {
    manager->get(served[0].id);
  } catch (const serve::ApiError& e) {
    if (e.code != "model_memory") throw;
    fail("{}; raise --memory-mib {}", e.what(), o.memory_mib);
  }
  return manager;
}

// What changes while the server runs: the file of settings with its models, the file of keys, and the certificate.
class Reloads {
 public:
  Reloads(const ServeFlags& f, const ServeSettings& how, serve::ModelManager& manager)
      : f_(f), how_(how), manager_(manager), names_(manager.ids()) {}

  // Throws Error before anything is changed.
  serve::LiveSettings read() {
    serve::LiveSettings live = f_.o.app.live;
    if (!f_.o.config.empty()) live = serve::read_live_settings(f_.o.config, std::move(live));
    std::vector<serve::ModelEntry> fresh;
    for (const serve::LiveModel& m : live.models) {
      if (std::ranges::find(names_, m.name) != names_.end())
        fail("{}: model '{}' has the name of one of the command line", f_.o.config, m.name);
      const std::string dir = model_folder(m.dir);
      if (!std::filesystem::exists(dir))
        fail("{}: model '{}': {}: no such model folder or file", f_.o.config, m.name, m.dir);
      fresh.push_back(entry_of({.id = m.name, .dir = dir, .adapter = {}}, how_));
    }
    for (const auto& [alias, name] : live.aliases) {
      const std::string model = name.substr(0, name.find(':'));
      if (std::ranges::find(names_, model) == names_.end() &&
          std::ranges::find(live.models, model, &serve::LiveModel::name) == live.models.end())
        fail("{}: alias '{}' stands for '{}', which is not served here", f_.o.config, alias, name);
    }
    take_up(live.models, std::move(fresh));
    return live;
  }

 private:
  // Those that are as before stay loaded; requests keep a model that goes.
  void take_up(const std::vector<serve::LiveModel>& models, std::vector<serve::ModelEntry> fresh) {
    for (const serve::LiveModel& m : models_)
      if (std::ranges::find(models, m) == models.end()) manager_.remove(m.name);
    for (size_t i = 0; i < models.size(); ++i)
      if (std::ranges::find(models_, models[i]) == models_.end() && !manager_.add(std::move(fresh[i])))
        fmt::print(stderr, "model '{}' is not served: an adapter has its name\n", models[i].name);
    models_ = models;
  }

  const ServeFlags& f_;
  const ServeSettings& how_;
  serve::ModelManager& manager_;
  const std::vector<std::string> names_;  // of the command line
  std::vector<serve::LiveModel> models_;  // of the file
};

void print_address(const ServeOptions& o, int port) {
  if (o.unix_path.empty())
    fmt::print("{}://{}:{}{}\n", o.tls_cert.empty() ? "http" : "https", o.host, port, o.app.prefix);
  else
    fmt::print("unix:{}{}{}\n", o.unix_path, o.app.prefix.empty() ? "" : ":", o.app.prefix);
  std::fflush(stdout);
}

// Until a signal ends it.
void run_server(serve::App& app, const ServeOptions& o, Reloads& reloads) {
  serve::HttpServerOptions http;
  http.host = o.host, http.port = static_cast<int>(o.port), http.unix_path = o.unix_path;
  if (!o.tls_cert.empty()) http.tls = std::make_shared<serve::TlsServer>(serve::TlsFiles{o.tls_cert, o.tls_key});
  serve::HttpServer server(http, [&](serve::Exchange& e) { app.handle(e); });
  serve::ServerRunOptions run{.drain_seconds = o.drain};
  run.say = [](const std::string& line) { fmt::print(stderr, "{}\n", line); };
  for (const std::string& file : {o.config, o.app.keys_file, o.tls_cert, o.tls_key})
    if (!file.empty()) run.watched.emplace_back(file);
  run.reload = [&] {  // every file by itself: one that is bad keeps what it said before
    std::vector<std::string> done;
    const auto part = [&](const std::string& file, auto&& read) {
      if (file.empty()) return;
      try {
        done.push_back(fmt::format("{}: {}", file, read()));
      } catch (const std::exception& e) {
        done.push_back(fmt::format("not read again, what it said before stays: {}", e.what()));
      }
    };
    part(o.app.keys_file, [&] { return fmt::format("{} keys", app.reload_keys()); });
    part(o.config, [&] {
      serve::LiveSettings live = reloads.read();
      app.configure(live);
      return fmt::format("{} models, {} aliases", live.models.size(), live.aliases.size());
    });
    part(o.tls_cert, [&] {
      http.tls->reload();
      return std::string("for new connections");
    });
    return done.empty() ? std::string("there is no file to read again") : fmt::format("{}", fmt::join(done, "; "));
  };
  print_address(o, server.port());
  serve::run_until_stopped(server, app, run);
  fmt::print(stderr, "stopped\n");
}

}  // namespace

int cmd_serve(Words args) {
  ServeFlags flags;
  if (!flags.parse(args)) return 0;
  // Of malloc as many arenas as can be at work, not eight for each: every one of them grows to what its threads ever
  // needed at once.
  if (!std::getenv("MALLOC_ARENA_MAX")) ::mallopt(M_ARENA_MAX, std::max(2, thread_count()));
  const std::vector<Served> served = served_models(flags);
  const ServeSettings how = serve_settings(flags, served);
  allow_adapters(flags.o.app.adapters, served, how);
  for (const std::string& text : flags.o.aliases) flags.o.app.live.aliases.insert(read_alias(text, served));
  auto manager = load_first(served, how, flags.o);
  Reloads reloads(flags, how, *manager);
  serve::AppOptions options = flags.o.app;
  options.live = reloads.read();
  serve::App app(std::move(manager), options);
  run_server(app, flags.o, reloads);
  return 0;
}

}  // namespace quern::cli
