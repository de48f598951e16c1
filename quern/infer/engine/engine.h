// Inference engine with continuous batching. Each step is one forward pass over a ragged batch: one decode token per
// running sequence and up to `chunk` prompt tokens (chunked prefill); MoE experts see all of them together. Requests
// queue while sequence slots or state memory are exhausted, reuse the prefix cache, and can be cancelled between
// steps. A request that fails does not affect the others.
//
//   Engine engine(*model, {.tokenizer = &tokenizer});
//   Generated g = engine.run({.prompt = ids, .options = {.max_tokens = 100}});
//
// submit, cancel and take may be called from any thread; step, run and force_next from one thread at a time.
#pragma once
#include <memory>
#include <optional>

#include "quern/base/setting_views.h"
#include "quern/infer/cache/prefix_cache.h"
#include "quern/infer/engine/request.h"
#include "quern/models/model.h"
#include "quern/text/tokenizer/tokenizer.h"

namespace quern::infer {

struct EngineOptions {
  DType kv = DType::f32;       // KV cache type: f32, bf16, or i8 (kv_type.h)
  int64_t chunk = 512;         // prompt tokens per step (chunked prefill); prompts are split at its multiples
  int64_t max_sequences = 16;  // maximum concurrent sequences
  int64_t state_bytes = 0;     // memory limit for the state of running sequences; 0 = no limit
  int64_t cache_bytes = int64_t{1} << 30;  // prefix cache size; 0 = none
  PrefixDiskOptions disk = {};  // what of it is kept on disk; the engine adds its own settings to the identity
  bool deterministic_prefix_cache =
      false;  // snapshots at multiples of chunk only: output with cache hits is bit-identical
  // The same bits for a request whatever else is served or cached. Sets exact rows (kernels/cpu/products.h) for the whole
  // process, and implies deterministic_prefix_cache.
  bool exact = false;
  SpeculationOptions speculate = {};  // speculative decoding of requests that do not specify it
  // Draft model with the same tokenizer; must outlive the engine. Its prefix cache takes a share of cache_bytes.
  models::Model* draft = nullptr;
  const text::Tokenizer* tokenizer = nullptr;  // for text output and stop strings
  // KV cache sharded over ranks (mixers/ranks/cache_shards.h): requires the same requests in the same order on every
  // rank, and no prefix cache. Must outlive the engine.
  const mixers::CacheShards* shards = nullptr;
  // With shards: the ranks share the work of prompts of at least this many tokens (mixers/ranks/prompt_shards.h), for up
  // to 32,768 tokens; shorter ones, and those of models with a mixer that cannot do it, go through every rank.
  int64_t shard_prompts_from = 256;

  // What flags and requests for an engine set; kv, draft and speculate have settings of their own.
  template <class V>
  void visit(V& v) {
    Mebibytes state(state_bytes);
    visit_max_sequences(v, max_sequences);
    visit_cache(v, cache_bytes);
    v("state_mib", state,
      "memory limit for KV cache and recurrent state of running sequences, per model, in MiB; 0 is unlimited",
      {.value = "MIB", .range = Bounds::at_least(0)});
    v("exact", exact,
      "give a request the same tokens and logprobs, to the bit, whatever else is served or cached; slower with "
      "quantized "
      "weights");
  }
  template <class V>
  static void visit_cache(V& v, int64_t& bytes) {
    Mebibytes cache(bytes);
    v("cache_mib", cache, "prefix cache size per model, in MiB", {.value = "MIB", .range = Bounds::at_least(0)});
  }
  // For options that have another default.
  template <class V>
  static void visit_max_sequences(V& v, int64_t& n) {
    v("max_seqs", n, "maximum concurrent sequences per model",
      {.old_flags = "--sessions", .range = Bounds::at_least(1)});
  }
};

class Engine {
 public:
  using Id = int64_t;
  Engine(models::Model& model, EngineOptions options);  // model and tokenizer must outlive it
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  Id submit(Request r);  // throws Error when the request can never be served
  void cancel(Id id);
  // The next tokens of a running request, given instead of sampled; its constraint sees them. Between steps, on the
  // thread that steps. False: the request does not run, or its forced prefix is not over.
  bool force_next(Id id, std::span<const int32_t> tokens);
  bool step();                           // false: nothing to do
  std::optional<Generated> take(Id id);  // once it is done
  Generated run(Request r);              // submit, step until it is done (other requests run meanwhile), take

  struct Load {  // after the last step
    int64_t waiting = 0, running = 0, state_bytes = 0, cache_bytes = 0, disk_bytes = 0, disk_read_tokens = 0;
  };
  Load load() const;
  PrefixCache& cache();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace quern::infer
