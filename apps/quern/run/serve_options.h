// Settings of `quern serve`: visit() gives its flags, their help and ranges, and the table in docs/serve/operations.md.
// Those of the engine are declared in engine.h; weight formats and speculative decoding in context.h and draft_flags.h.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "apps/quern/cli/shared_flags.h"
#include "apps/quern/recall/memory_flags.h"
#include "quern/base/setting.h"
#include "quern/infer/engine/engine.h"
#include "quern/serve/app/app.h"
#include "quern/serve/run/server_run.h"

namespace quern::cli {

struct ServeOptions {
  std::vector<std::string> names, aliases, loras, api_keys;
  std::string cache_disk, adapter_dir, host = serve::HttpServerOptions().host, api_key_file, unix_path, tls_cert,
                                       tls_key, config;
  McpFlag mcp = {};
  serve::AppOptions app = {};
  infer::EngineOptions engine = {};
  int64_t port = serve::HttpServerOptions().port, queue = 256, memory_mib = 0, idle_minutes = 0;
  double request_seconds = 0, drain = serve::ServerRunOptions().drain_seconds;
  bool quiet = false;
  template <class V>
  void visit(V& v) {
    v("name", names, "model name that clients use; repeatable, one per DIR in order",
      {.value = "NAME", .shown_default = "name of the folder"});
    v("alias", aliases,
      "another name of a model (the first one without =MODEL), for clients that ask for a name of their own; a NAME "
      "that ends in * is every name that begins so; repeatable",
      {.value = "NAME[=MODEL]"});
    v("lora", loras,
      "serve a LoRA adapter (PEFT folder) on the first model, or on another (NAME=DIR@MODEL), as model NAME; SCALE "
      "multiplies its effect; repeatable",
      {.value = "NAME=DIR[:SCALE]"});
    v("adapter_dir", adapter_dir,
      "let clients load and unload adapters below DIR at run time (/v1/load_lora_adapter)", {.value = "DIR"});
    v("host", host, "address to listen on", {.value = "ADDRESS"});
    v("port", port, "port to listen on; 0 picks a free one", {.range = Bounds::between(0, 65535)});
    v("api_key", api_keys, "require this key from clients; repeatable; the variable QUERN_API_KEY is safer",
      {.value = "KEY"});
    v("api_key_file", api_key_file, "require one of the keys in FILE, one per line; lines with # are skipped",
      {.value = "FILE"});
    v("keys", app.keys_file,
      "API keys with names, rate limits and budgets, in TOML or JSON (docs/serve/limits.md); read again when it "
      "changes",
      {.value = "FILE"});
    v("live_config", config,
      "CORS, model aliases and further models, in TOML or JSON (docs/serve/service.md); read again when it "
      "changes",
      {.value = "FILE"});
    v("tls_cert", tls_cert, "serve HTTPS with this certificate (PEM, its chain after it)", {.value = "FILE"});
    v("tls_key", tls_key, "private key of the certificate (PEM, without a passphrase)", {.value = "FILE"});
    v("unix", unix_path, "listen on a Unix socket, readable by its owner only, instead of a port", {.value = "FILE"});
    v("prefix", app.prefix, "path prefix of all URLs, for example /llm", {.value = "PATH"});
    app.live.visit_cors(v);
    engine.visit(v);
    v("cache_disk", cache_disk,
      "keep the prefix cache in DIR too, up to GIB per model, so that it survives restarts and holds more than "
      "memory",
      {.value = "DIR[:GIB]", .shown_default = "8 GiB"});
    v("queue", queue, "maximum queued requests; further requests get HTTP 429", {.range = Bounds::at_least(1)});
    v("request_seconds", request_seconds,
      "request timeout in seconds, including queue time; a request can lower it with `timeout`; 0 disables it",
      {.value = "SECONDS", .range = Bounds::at_least(0)});
    v("drain", drain,
      "seconds that running requests get to finish after SIGTERM or Ctrl-C; a second signal ends them at once",
      {.value = "SECONDS", .range = Bounds::at_least(0)});
    v("memory_mib", memory_mib,
      "memory limit for weights and prefix caches of all loaded models, in MiB; 0 is unlimited",
      {.value = "MIB", .range = Bounds::at_least(0)});
    v("idle_minutes", idle_minutes, "unload a model after this many minutes without a request; 0 never unloads",
      {.value = "MIN", .range = Bounds::at_least(0)});
    v("db", app.grounding.memory, "conversation memory (SQLite) for chats that set `x_memory`; created if missing",
      {.value = "FILE"});
    NewConversation::visit_zone(v, app.grounding.zone);
    v("documents", app.grounding.documents,
      "search index for RAG, made by `quern recall index`; used by chats that set `x_documents`", {.value = "DIR"});
    mcp.visit(v);
    v("session_dir", app.sessions,
      "folder for saved sessions and stored responses; they survive a restart of the server", {.value = "DIR"});
    v("runs", app.runs, "folder of training runs that clients can follow (GET /v1/runs) and the web UI draws",
      {.value = "DIR"});
    v("slots_text", app.slots_text, "let GET /slots?text=true return the text of running requests to any client");
    v("otlp", app.otlp,
      "export a trace of every generation to this OTLP/HTTP collector, for example http://127.0.0.1:4318",
      {.value = "URL"});
    v("otlp_content", app.otlp_content, "with --otlp: also export prompts and answers");
    v("quiet", quiet, "do not log requests");
  }
};

// The keys of --api-key, of the file and of the variable QUERN_API_KEY.
std::vector<std::string> read_keys(const std::vector<std::string>& given, const std::string& file);

}  // namespace quern::cli
