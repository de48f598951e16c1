// quern mcp: a Model Context Protocol server for search, memory and models.
#include <unistd.h>

#include <charconv>
#include <csignal>

#include "apps/quern/cli/args.h"
#include "apps/quern/cli/verbs.h"
#include "apps/quern/models/context.h"
#include "apps/quern/models/shipped_models.h"
#include "apps/quern/run/serve_options.h"
#include "apps/quern/run/served_folder.h"
#include "quern/base/version.h"
#include "quern/mcp/offers/memory_offers.h"
#include "quern/mcp/offers/model_offers.h"
#include "quern/mcp/offers/recall_offers.h"
#include "quern/mcp/server/http_endpoint.h"
#include "quern/mcp/server/stdio_server.h"
#include "quern/serve/http/origin.h"

namespace quern::cli {
namespace {

struct McpOptions {
  std::string recall, memory, http;
  std::vector<std::string> models;
  template <class V>
  void visit(V& v) {
    v("recall", recall, "offer the search index in DIR, made by `quern recall index`", {.value = "DIR"});
    v("memory", memory, "offer the conversation memory in FILE (SQLite); created if missing", {.value = "FILE"});
    v("model", models, "offer a model: a folder, a .gguf file or a name; loaded at its first use; repeatable",
      {.value = "NAME"});
    v("http", http, "serve streamable HTTP at this address, path /mcp, instead of standard input and output",
      {.value = "HOST:PORT"});
  }
};

serve::HttpServer* listening = nullptr;  // what a signal stops
extern "C" void stop_listening(int) {
  if (listening) listening->stop();
}

// "HOST:PORT", "[::1]:PORT" or "PORT".
std::pair<std::string, int> read_address(const std::string& text) {
  const size_t colon = text.rfind(':');
  std::string host = colon == text.npos ? serve::HttpServerOptions().host : text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  const std::string digits = colon == text.npos ? text : text.substr(colon + 1);
  int port = -1;
  const auto [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (fault != std::errc() || end != digits.data() + digits.size() || port < 0 || port > 65535 || host.empty())
    throw UsageError(fmt::format("quern mcp: --http '{}': expected HOST:PORT, such as 127.0.0.1:8765", text));
  return {host, port};
}

void serve_http(const mcp::Server& server, const McpOptions& o, const ServeOptions& access) {
  const auto [host, port] = read_address(o.http);
  const std::vector<std::string> keys = read_keys(access.api_keys, access.api_key_file);
  if (keys.empty() && host != "::1" && !serve::is_loopback_host(host))
    fail("--http {}: an address that other machines reach needs a key: give --api-key-file, or set QUERN_API_KEY",
         o.http);
  mcp::HttpEndpoint endpoint(server, {.origins = access.app.live.cors, .api_keys = keys});
  serve::HttpServer http({.host = host, .port = port}, [&](serve::Exchange& e) { endpoint.handle(e); });
  listening = &http;
  std::signal(SIGINT, stop_listening), std::signal(SIGTERM, stop_listening);
  fmt::print("http://{}:{}/mcp\n", host, http.port());
  std::fflush(stdout);
  http.run();
  listening = nullptr;
}

std::unique_ptr<serve::ServedModel> load_hosted(const std::string& id, const std::string& dir,
                                                const WeightFlags& weights) {
  auto m = load_served_folder(id, dir, weights.load_options());
  infer::EngineOptions engine;
  engine.kv = weights.kv(), engine.tokenizer = &m->tokenizer;
  m->host = std::make_unique<serve::EngineHost>(*m->model, engine, 256);
  return m;
}

std::unique_ptr<serve::ModelManager> offered_models(const std::vector<std::string>& names,
                                                    const WeightFlags& weights) {
  std::vector<serve::ModelEntry> entries;
  for (const std::string& name : names) {
    const std::string dir = model_folder(name), id = model_id(name);
    if (!std::filesystem::exists(dir)) fail("--model {}: no such model folder or file", name);
    for (const serve::ModelEntry& e : entries)
      if (e.id == id) fail("--model {}: two models have the name '{}'", name, id);
    entries.push_back({.id = id, .load = [id, dir, &weights] { return load_hosted(id, dir, weights); }});
  }
  return std::make_unique<serve::ModelManager>(std::move(entries), serve::ModelManagerOptions{});
}

}  // namespace

int cmd_mcp(Words args) {
  McpOptions o;
  ServeOptions access;
  WeightFlags weights{.dtype_default = "auto"};
  Args a("mcp", "Model Context Protocol server: search, memory and models for MCP clients");
  a.settings(o)
      .settings(access, {{"api_key"}, {"api_key_file"}, {"cors"}, {"zone"}})
      .note(
          "Without --http, the server speaks over standard input and output, for a client that starts it: messages "
          "on\n"
          "stdout, everything else on stderr. The API key and --cors are for --http.");
  weights.add_to(a);
  weights.add_cache_to(a);
  if (!a.parse(args)) return 0;
  if (o.recall.empty() && o.memory.empty() && o.models.empty())
    throw UsageError("quern mcp: nothing to offer: give --recall DIR, --memory FILE or --model NAME");
  const std::string& zone = access.app.grounding.zone;
  mcp::Server server(version(),
                     "Search in documents, a long-term memory of conversations, and local language models.");
  if (!o.recall.empty()) mcp::offer_documents(server, o.recall);
  if (!o.memory.empty()) mcp::offer_memory(server, o.memory, zone.empty() ? "UTC" : zone);
  std::unique_ptr<serve::ModelManager> models;
  if (!o.models.empty()) models = offered_models(o.models, weights), mcp::offer_models(server, *models);
  if (o.http.empty())
    mcp::serve_stdio(server, STDIN_FILENO, STDOUT_FILENO);
  else
    serve_http(server, o, access);
  return 0;
}

}  // namespace quern::cli
