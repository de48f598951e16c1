// Inference engine with continuous batching. Each step is one forward pass over a ragged batch: one decode token per
// running sequence and up to `chunk` prompt tokens (chunked prefill); MoE experts see all of them together. Requests
// queue while sequence slots or state memory are exhausted, reuse the prefix cache, and can be cancelled between
// steps. A request that fails does not affect the others.
//
//   Engine engine(*model, {.tokenizer = &tokenizer});
//   Generated g = engine.run({.prompt = ids, .options = {.max_tokens = 100}});
//
// submit, cancel and take may be called from any thread; step and run from one thread at a time.
#pragma once
#include <memory>
#include <optional>

#include "quern/infer/cache/prefix_cache.h"
#include "quern/infer/engine/request.h"
#include "quern/models/model.h"
#include "quern/text/tokenizer/tokenizer.h"

namespace quern {

struct EngineOptions {
  DType kv = DType::f32;                    // of the attention cache: f32, bf16, or i8 (kv_type.h)
  int64_t chunk = 512;                      // prompt rows of one step; prompts are cut at its multiples
  int64_t max_sequences = 16;               // sequences in work at once
  int64_t state_bytes = 0;                  // of all sequences in work; 0 = no limit
  int64_t cache_bytes = int64_t{1} << 30;   // of the prefix cache; 0 = none
  bool deterministic_prefix_cache = false;  // cut at multiples of chunk alone: cached answers are then bit-identical
  SpeculationOptions speculate = {};        // tokens guessed ahead where a request says nothing of it
  Model* draft = nullptr;  // a smaller model that guesses, of the same tokens; it must outlive the engine. Its prefix
                           // cache takes its share of cache_bytes
  const Tokenizer* tokenizer = nullptr;  // for text and stop strings
  // Attention caches over ranks (mixers/cache_shards.h): the same requests in the same order on every rank, and no
  // prefix cache. It must outlive the engine.
  const CacheShards* shards = nullptr;
};

class Engine {
 public:
  using Id = int64_t;
  Engine(Model& model, EngineOptions options);  // model and tokenizer must outlive it
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  Id submit(Request r);  // throws Error when the request can never be served
  void cancel(Id id);
  bool step();                           // false: nothing to do
  std::optional<Generated> take(Id id);  // once it is done
  Generated run(Request r);              // submit, step until it is done (others go on beside it), take

  struct Load {  // after the last step
    int64_t waiting = 0, running = 0, state_bytes = 0, cache_bytes = 0;
  };
  Load load() const;
  PrefixCache& cache();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace quern
