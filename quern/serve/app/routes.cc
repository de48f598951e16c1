// Which function serves which path, and what the OpenAPI document says of it (quern/serve/describe).
#include "quern/base/version.h"
#include "quern/serve/app/app.h"
#include "quern/serve/describe/about.h"
#include "quern/serve/describe/openapi.h"

namespace quern::serve {

const std::vector<App::Route> App::kRoutes = {
    {"POST", "/v1/chat/completions", &App::chat, about::kChat},
    {"POST", "/chat/completions", &App::chat, about::kChat},
    {"POST", "/v1/completions", &App::complete, about::kCompletions},
    {"POST", "/v1/embeddings", &App::embed, about::kEmbeddings},
    {"POST", "/v1/rerank", &App::rank, about::kRerank},
    {"POST", "/rerank", &App::rank, about::kRerank},
    {"POST", "/v2/rerank", &App::rank, about::kRerank},
    {"POST", "/reranking", &App::rank, about::kRerank},
    {"POST", "/v1/reranking", &App::rank, about::kRerank},
    {"POST", "/v1/score", &App::score, about::kScore},
    {"POST", "/score", &App::score, about::kScore},
    {"GET", "/v1/mcp/", &App::list_mcp, about::kMcpLists},
    {"POST", "/v1/mcp/call", &App::call_mcp, about::kMcpCall},
    {"GET", "/v1/models", &App::models, about::kModels},
    {"GET", "/models", &App::models, about::kModels},
    {"GET", "/v1/models/", &App::models, about::kModel},
    {"GET", "/lora-adapters", &App::adapters, about::kAdapters},
    {"POST", "/v1/load_lora_adapter", &App::add_adapter, about::kLoadAdapter},
    {"POST", "/v1/unload_lora_adapter", &App::remove_adapter, about::kUnloadAdapter},
    {"POST", "/tokenize", &App::tokenize, about::kTokenize},
    {"POST", "/detokenize", &App::detokenize, about::kDetokenize},
    {"POST", "/apply-template", &App::apply_template, about::kApplyTemplate},
    {"GET", "/", &App::show_web_ui, about::kWebUi, true},
    {"GET", "/manifest.webmanifest", &App::show_web_ui, about::kManifest, true},
    {"GET", "/service-worker.js", &App::show_web_ui, about::kServiceWorker, true},
    {"GET", "/icon.svg", &App::show_web_ui, about::kIcon, true},
    {"GET", "/v1/runs", &App::runs, about::kRuns},
    {"GET", "/v1/runs/", &App::runs, about::kRun},
    {"GET", "/openapi.json", &App::openapi, about::kOpenApi, true},
    {"GET", "/health", &App::health, about::kHealth, true},
    {"GET", "/v1/health", &App::health, about::kHealth, true},
    {"GET", "/ready", &App::ready, about::kReady, true},
    {"GET", "/health/ready", &App::ready, about::kReady, true},
    {"GET", "/v1/usage", &App::usage, about::kUsage},
    {"GET", "/version", &App::version, about::kVersion, true},
    {"GET", "/props", &App::props, about::kProps},
    {"GET", "/metrics", &App::metrics, about::kMetrics},
    {"GET", "/slots", &App::slots, about::kSlots},
    {"GET", "/v1/slots", &App::slots, about::kSlots},
    {"GET", "/v1/cache", &App::cache, about::kCache},
    {"POST", "/v1/messages", &App::messages, about::kMessages},
    {"POST", "/v1/messages/count_tokens", &App::count_tokens, about::kCountTokens},
    {"POST", "/v1/responses", &App::responses, about::kResponses},
    {"POST", "/v1/responses/input_tokens", &App::input_tokens, about::kInputTokens},
    {"POST", "/v1/requests/", &App::end_thinking, about::kEndThinking, false, true},
    {"GET", "/v1/responses/", &App::response, about::kResponse},
    {"DELETE", "/v1/responses/", &App::delete_response, about::kDeleteResponse},
    {"GET", "/v1/sessions", &App::sessions, about::kSessions},
    {"GET", "/v1/sessions/", &App::session, about::kSession},
    {"POST", "/v1/sessions/", &App::post_session, about::kPostSession},
    {"DELETE", "/v1/sessions/", &App::delete_session, about::kDeleteSession},
    {"POST", "/completion", &App::llama_complete, about::kLlamaCompletion},
    {"POST", "/completions", &App::llama_complete, about::kLlamaCompletion},
    {"POST", "/infill", &App::infill, about::kInfill},
    {"POST", "/embedding", &App::llama_embed, about::kLlamaEmbedding},
    {"POST", "/embeddings", &App::llama_embed, about::kLlamaEmbedding},
    {"POST", "/v1/files", &App::post_file, about::kPostFile},
    {"GET", "/v1/files", &App::files, about::kFiles},
    {"GET", "/v1/files/", &App::file, about::kFile},
    {"DELETE", "/v1/files/", &App::delete_file, about::kDeleteFile},
    {"POST", "/v1/batches", &App::post_batch, about::kPostBatch},
    {"GET", "/v1/batches", &App::batches, about::kBatches},
    {"GET", "/v1/batches/", &App::batch, about::kBatch},
    {"POST", "/v1/batches/", &App::post_batch_step, about::kCancelBatch},
    {"POST", "/v1/memory/turns", &App::add_memory, about::kAddMemory},
    {"GET", "/v1/memory/turns", &App::memory_turns, about::kMemoryTurns},
    {"DELETE", "/v1/memory/turns/", &App::delete_memory_turn, about::kDeleteMemoryTurn},
    {"POST", "/v1/memory/search", &App::search_memory, about::kSearchMemory},
    {"GET", "/v1/memory/conversations", &App::memory_conversations, about::kMemoryConversations},
    {"DELETE", "/v1/memory/conversations/", &App::delete_memory_conversation, about::kDeleteMemoryConversation},
    {"GET", "/v1/memory/export", &App::memory_export, about::kMemoryExport},
    {"POST", "/v1/recall/search", &App::search_recall, about::kSearchRecall},
    {"POST", "/v1/recall/index", &App::index_recall, about::kIndexRecall},
    {"DELETE", "/v1/recall/documents/", &App::delete_recall, about::kDeleteRecall},
    {"POST", "/api/chat", &App::ollama_chat, about::kOllamaChat},
    {"POST", "/api/generate", &App::ollama_generate, about::kOllamaGenerate},
    {"GET", "/api/tags", &App::ollama_tags, about::kOllamaTags},
    {"POST", "/api/show", &App::ollama_show, about::kOllamaShow},
    {"GET", "/api/ps", &App::ollama_ps, about::kOllamaPs},
    {"GET", "/api/version", &App::version, about::kOllamaVersion, true},
    {"POST", "/api/embed", &App::ollama_embed, about::kOllamaEmbed},
    {"POST", "/api/embeddings", &App::ollama_embeddings, about::kOllamaEmbeddings},
    {"POST", "/api/pull", &App::ollama_refuse, about::kOllamaPull},
    {"POST", "/api/push", &App::ollama_refuse, about::kOllamaPush},
    {"POST", "/api/create", &App::ollama_refuse, about::kOllamaCreate},
    {"POST", "/api/copy", &App::ollama_refuse, about::kOllamaCopy},
    {"DELETE", "/api/delete", &App::ollama_refuse, about::kOllamaDelete},
};

const char* App::method_below(const std::string& path) {
  struct Below {
    std::string_view prefix, ending;
    const char* method;
  };
  static constexpr Below kBelow[] = {{"/v1/responses/", "/input_items", "GET"},
                                     {"/v1/sessions/", "/restore", "POST"},
                                     {"/v1/files/", "/content", "GET"},
                                     {"/v1/batches/", "/cancel", "POST"}};
  for (const Below& b : kBelow)
    if (path.starts_with(b.prefix) && path.ends_with(b.ending) && path.size() > b.prefix.size() + b.ending.size())
      return b.method;
  return nullptr;
}

Json App::openapi_json(const AppOptions& options) {
  std::vector<DescribedRoute> described;
  for (const Route& r : kRoutes) described.push_back({r.method, r.path, r.about ? r.about : "", r.open});
  return openapi_document(described, {.version = std::string(quern::version()),
                                      .prefix = options.prefix,
                                      .needs_key = !options.api_keys.empty() || !options.keys_file.empty()});
}

void App::openapi(Exchange& e) { e.answer(200, "application/json", openapi_json(o_).dump()); }

}  // namespace quern::serve
