// What each route is, in the form of openapi.h. The table of routes names them.
#pragma once

namespace quern::serve::about {

// about_openai.cc
extern const char kChat[], kCompletions[], kEmbeddings[], kRerank[], kScore[], kResponses[], kResponse[],
    kDeleteResponse[], kInputTokens[];
// about_anthropic.cc
extern const char kMessages[], kCountTokens[];
// about_server.cc
extern const char kModels[], kModel[], kAdapters[], kLoadAdapter[], kUnloadAdapter[], kTokenize[], kDetokenize[],
    kApplyTemplate[], kWebUi[], kHealth[], kReady[], kUsage[], kVersion[], kOpenApi[], kProps[], kManifest[],
    kServiceWorker[], kIcon[], kRuns[], kRun[], kMetrics[], kSlots[], kSessions[], kSession[], kPostSession[],
    kDeleteSession[], kEndThinking[], kCache[];
// about_llama.cc
extern const char kLlamaCompletion[], kInfill[], kLlamaEmbedding[];
// about_batch.cc
extern const char kPostFile[], kFiles[], kFile[], kDeleteFile[], kPostBatch[], kBatches[], kBatch[], kCancelBatch[];
// about_mcp.cc
extern const char kMcpLists[], kMcpCall[];
// about_memory.cc
extern const char kAddMemory[], kMemoryTurns[], kDeleteMemoryTurn[], kSearchMemory[], kMemoryConversations[],
    kDeleteMemoryConversation[], kMemoryExport[], kSearchRecall[], kIndexRecall[], kDeleteRecall[];
// about_ollama.cc
extern const char kOllamaChat[], kOllamaGenerate[], kOllamaTags[], kOllamaShow[], kOllamaPs[], kOllamaVersion[],
    kOllamaEmbed[], kOllamaEmbeddings[], kOllamaPull[], kOllamaPush[], kOllamaCreate[], kOllamaCopy[],
    kOllamaDelete[];

}  // namespace quern::serve::about
