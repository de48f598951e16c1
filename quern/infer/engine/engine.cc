// A step: admit → plan → draft → forward → deliver. Each part is a file of its own; here is their order, and what happens
// when one of them fails.
#include "quern/infer/engine/engine.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <utility>

#include "quern/base/free_blocks.h"
#include "quern/infer/cache/state_identity.h"
#include "quern/infer/engine/delivery.h"
#include "quern/infer/engine/draft_planner.h"
#include "quern/infer/engine/prefix_reuse.h"
#include "quern/infer/engine/prompt_scores.h"
#include "quern/infer/engine/request_check.h"
#include "quern/infer/engine/request_queue.h"
#include "quern/infer/engine/state_budget.h"
#include "quern/infer/engine/step_plan.h"
#include "quern/infer/engine/step_snapshots.h"
#include "quern/infer/sampling/select_logits.h"
#include "quern/kernels/cpu/products.h"
#include "quern/mixers/ranks/prompt_shards.h"
#include "quern/models/context_length.h"
#include "quern/trace/trace.h"

namespace quern::infer {
namespace {

using Clock = Sequence::Clock;

constexpr int64_t kMaxTokensOverRanks = 32768;  // whose rows a rank holds at once

std::string message_of(const std::exception& e) {
  if (dynamic_cast<const std::bad_alloc*>(&e))
    return "out of memory: request fewer tokens, run fewer sequences at once or reduce the prefix cache";
  return e.what();
}

RequestLimits limits_of(const models::Model& model, const EngineOptions& o) {
  return {.max_positions = model.max_positions(),
          .vocab_size = model.vocab_size(),
          .tokenizer = o.tokenizer != nullptr,
          .draft_model = o.draft != nullptr,
          .sharded_cache = o.shards != nullptr};
}

bool is_recorded(const StepSegment& g) { return g.sequence->out.record.has_value(); }

EngineOptions checked(EngineOptions o, const RequestLimits& limits) {
  if (o.chunk < 1 || o.max_sequences < 1) fail("engine: chunk and max_sequences must be 1 or more");
  if (o.shards && o.cache_bytes > 0)
    fail("engine: a prefix cache cannot be combined with a sharded KV cache; set cache_bytes to 0");
  if (o.disk.on() && o.cache_bytes <= 0)
    fail("engine: a prefix cache on disk needs one in memory; set cache_bytes to more than 0");
  check_speculation(o.speculate, limits);
  if (o.exact) {
    o.deterministic_prefix_cache = true;
    kernels::set_exact_rows(true);
  }
  return o;
}

// Null where nothing is kept on disk.
std::unique_ptr<PrefixDisk> open_disk(const EngineOptions& o, const std::vector<mixers::StateSite>& sites) {
  if (!o.disk.on()) return nullptr;
  const std::string steps = o.exact                        ? fmt::format("exact, {} tokens", o.chunk)
                            : o.deterministic_prefix_cache ? fmt::format("of {} tokens", o.chunk)
                                                           : "of any number of tokens";
  PrefixDiskOptions disk = o.disk;
  for (auto& fact : state_identity(sites, o.kv, steps)) disk.identity.push_back(std::move(fact));
  return PrefixDisk::open(std::move(disk), sites);
}

}  // namespace

struct Engine::Impl {
  models::Model& model;
  const RequestLimits limits;
  const EngineOptions o;
  const std::vector<mixers::StateSite> sites;
  const int64_t draft_cache;  // its share of cache_bytes
  PrefixReuse prefix;
  DraftPlanner drafts;
  StateBudget budget;
  RequestQueue queue;
  std::vector<std::unique_ptr<Sequence>> running;
  mutable std::mutex load_mutex;
  Load load;

  Impl(models::Model& m, const EngineOptions& options)
      : model(m),
        limits(limits_of(m, options)),
        o(checked(options, limits)),
        sites(m.sites(o.kv)),
        draft_cache(o.draft && !o.deterministic_prefix_cache
                        ? draft_cache_bytes(o.cache_bytes, sites, o.draft->sites(o.kv))
                        : 0),
        prefix(sites,
               {.cache_bytes = o.cache_bytes - draft_cache,
                .chunk = o.chunk,
                .max_positions = models::context_length(m),
                .deterministic = o.deterministic_prefix_cache},
               open_disk(o, sites)),
        drafts({.sites = sites,
                .vocab_size = limits.vocab_size,
                .chunk = o.chunk,
                .deterministic = o.deterministic_prefix_cache},
               o.draft ? std::make_unique<DraftModel>(*o.draft, o.kv, draft_cache) : nullptr),
        budget(sites, o.state_bytes) {}

  // On the thread that asks.
  Id submit(Request r) {
    if (!r.options.speculate && !r.options.record) r.options.speculate = o.speculate;
    check_request(r, limits);
    auto s = std::make_unique<Sequence>(std::move(r), limits.max_positions);
    if (o.shards) s->max_rows = o.shards->count_here(s->max_length);
    const SpeculationOptions g = s->speculation();
    s->state_bytes =
        budget.need(s->max_rows, g.max_draft) + (g.on() && g.draft ? drafts.reader_bytes(s->max_length) : 0);
    if (!budget.fits_alone(s->state_bytes))
      fail("{} prompt tokens and up to {} more need {} MiB of state, the limit is {} MiB: ask for fewer tokens",
           s->prompt, s->r.options.max_tokens, (s->state_bytes >> 20) + 1, budget.limit() >> 20);
    return queue.push(std::move(s));
  }

  void drop_cancelled() {
    const std::set<Id> cancelled = queue.take_cancelled();
    for (size_t i = running.size(); i-- > 0;)
      if (cancelled.contains(running[i]->id)) finish(*running[i], "cancelled");
  }

  void admit() {
    const auto may_start = [&](const Sequence& s) { return running.empty() || budget.fits_now(s.state_bytes); };
    while (static_cast<int64_t>(running.size()) < o.max_sequences) {
      auto next = queue.pop(may_start);
      if (!next) return;
      Sequence& s = *running.emplace_back(std::move(next));
      s.started = Clock::now();
      budget.reserve(s.state_bytes);
      attempt(s, [&] {
        if (o.tokenizer) s.text = std::make_unique<TextStream>(*o.tokenizer, s.r.options.stop);
        drafts.start(s);
        prefix.start(s);
        queue.charge(s.r.options.user, s.prompt - s.fed());
      });
    }
  }

  void charge_generated(Sequence& s) {
    const auto tokens = static_cast<int64_t>(s.out.tokens.size());
    queue.charge(s.r.options.user, FairShare::kGeneratedWeight * (tokens - std::exchange(s.charged, tokens)));
  }

  // Runs `begin`; if it throws, the sequence ends with that error, and nothing of its state is kept.
  template <class F>
  void attempt(Sequence& s, F&& begin) {
    try {
      begin();
    } catch (const std::exception& e) {
      s.state = mixers::SequenceState();
      finish(s, "error", message_of(e));
    }
  }

  // Of a new sequence's prompt: the tokens that ranks compute together, all but the last, whose logits are wanted; 0: none.
  int64_t tokens_over_ranks(const Sequence& s) const {
    if (!o.shards || o.shards->comm().size() == 1 || s.fed() > 0 || !s.variant.empty()) return 0;
    if (s.r.options.record || s.r.options.score_prompt || !mixers::PromptShards::serve(sites)) return 0;
    const int64_t n = std::min(s.prompt - 1, kMaxTokensOverRanks);
    return n + 1 < o.shard_prompts_from || n < mixers::PromptShards::min_tokens(*o.shards) ? 0 : n;
  }

  void compute_over_ranks(Sequence& s, int64_t n) {
    const mixers::PromptShards prompt(*o.shards, s.state, n);
    std::vector<int32_t> ids;
    for (const int64_t row : prompt.rows().rows()) ids.push_back(s.tokens[static_cast<size_t>(row)]);
    const trace::Span part(trace::Kind::part, "prompt");
    grad::Tape tape(grad::Tape::inference);
    model.hidden(tape, ids, prompt.batch());
    s.state.advance(n);
  }

  // One forward pass over all segments; the logits of the sequences whose tokens end here.
  std::vector<SequenceLogits> forward(const std::vector<StepSegment>& segments) {
    const StepSnapshots snapshots(segments, sites);
    const StepInput in = step_input(segments);
    grad::Tape tape(grad::Tape::inference);
    if (!in.adapters.parts.empty()) tape.adapters = &in.adapters;
    mixers::Batch batch = mixers::Batch::resume(in.states, in.lengths);
    batch.snapshot_points = snapshots.points();
    if (o.shards) batch.placement = *o.shards;
    nn::ExpertRoutes routes;
    const bool recorded = std::any_of(segments.begin(), segments.end(), is_recorded);
    if (recorded) batch.record_routes = &routes;
    const Tensor hidden = model.hidden(tape, in.ids, batch).value;
    tape.adapters = nullptr;  // the head has other rows, and no paths
    snapshots.store(prefix.cache());
    int64_t row = 0;
    for (const StepSegment& g : segments) {
      if (is_recorded(g))
        g.sequence->out.record->add_routes(routes, row, g.rows, batch.positions[static_cast<size_t>(row)]);
      score_prompt(model, g, hidden, std::exchange(row, row + g.all_rows()));
    }
    for (const StepSegment& g : segments) g.sequence->alone = false;
    if (in.ready.empty()) return {};
    return split_logits(in.ready, select_logits(model, tape, hidden, in.wanted));
  }

  void deliver_all(const std::vector<SequenceLogits>& logits) {
    for (const SequenceLogits& rows : logits) {
      Sequence& s = *rows.sequence;
      try {
        if (const char* end = deliver(rows)) finish(s, end);
      } catch (const std::exception& e) {
        finish(s, "error", message_of(e));
      }
    }
  }

  // Ends a sequence: what it has seen stays in the prefix cache, and its result can be taken.
  void finish(Sequence& s, const char* how, std::string error = {}) {
    s.ended = Clock::now();
    charge_generated(s);
    if (s.ahead && s.ahead->has_draft()) s.settle();
    try {
      if (error.empty()) deliver_rest(s);
    } catch (const std::exception& e) {
      how = "error", error = message_of(e);
    }
    const bool failed = !error.empty();
    complete_result(s, how, std::move(error));
    if (!failed) prefix.store_end(s), drafts.finish(s);
    budget.release(s.state_bytes);
    s.state = mixers::SequenceState();
    if (failed) give_back_free_blocks();  // who found no memory leaves none of it behind
    const Id id = s.id;
    Generated out = std::move(s.out);
    std::erase_if(running, [&](const auto& r) { return r.get() == &s; });
    queue.finish(id, std::move(out));
  }

  // A forward that failed half-way leaves its states in pieces. One sequence: it was the cause. Several: all begin
  // again from their tokens, one by one, and whoever fails alone is the cause.
  void recover(const std::vector<StepSegment>& segments, const std::string& why) {
    for (const StepSegment& g : segments) {
      g.sequence->state = mixers::SequenceState();
      if (g.sequence->ahead) g.sequence->ahead->drop();
    }
    if (segments.size() == 1) return finish(*segments[0].sequence, "error", why);
    for (const StepSegment& g : segments) {
      g.sequence->alone = true;
      attempt(*g.sequence, [&] { prefix.start(*g.sequence); });
    }
  }

  void run(const std::vector<StepSegment>& segments) {
    try {
      const bool decoding = all_decoding(segments);
      {
        const trace::Span part(trace::Kind::part, "drafts");
        drafts.make_drafts(segments);
      }
      const int64_t rows = total_rows(segments);
      const auto begun = Clock::now();
      std::optional<trace::Span> part(std::in_place, trace::Kind::part, decoding ? "decoding" : "prompt");
      const std::vector<SequenceLogits> logits = forward(segments);
      part.emplace(trace::Kind::part, "sampling");
      deliver_all(logits);
      part.reset();
      if (decoding) drafts.record_step(rows, std::chrono::duration<double>(Clock::now() - begun).count());
    } catch (const std::exception& e) {
      recover(segments, message_of(e));
    }
  }

  void update_load() {
    const PrefixDisk* disk = prefix.cache().disk();
    const PrefixDisk::Counts kept = disk ? disk->counts() : PrefixDisk::Counts();
    std::lock_guard lock(load_mutex);
    load = {queue.size(),      static_cast<int64_t>(running.size()),
            budget.reserved(), prefix.cache().bytes() + drafts.cache_bytes(),
            kept.bytes,        kept.read_tokens};
  }

  bool step() {
    const trace::Span step(trace::Kind::step, "engine step");
    std::optional<trace::Span> part(std::in_place, trace::Kind::part, "admission");
    drop_cancelled();
    admit();
    for (size_t i = running.size(); i-- > 0;)
      if (const int64_t n = tokens_over_ranks(*running[i]))
        attempt(*running[i], [&, s = running[i].get()] { compute_over_ranks(*s, n); });
    const std::vector<StepSegment> segments = plan_step(running, prefix.rules());
    part.reset();
    if (!segments.empty()) run(segments);
    for (const auto& s : running) charge_generated(*s);
    update_load();
    return !segments.empty();
  }
};

Engine::Engine(models::Model& model, EngineOptions options) : impl_(std::make_unique<Impl>(model, options)) {}
Engine::~Engine() = default;

Engine::Id Engine::submit(Request r) { return impl_->submit(std::move(r)); }
void Engine::cancel(Id id) { impl_->queue.cancel(id); }
bool Engine::force_next(Id id, std::span<const int32_t> tokens) {
  const auto s = std::ranges::find(impl_->running, id, [](const auto& r) { return r->id; });
  return s != impl_->running.end() && (*s)->force_next(tokens);
}
bool Engine::step() { return impl_->step(); }
std::optional<Generated> Engine::take(Id id) { return impl_->queue.take(id); }
PrefixCache& Engine::cache() { return impl_->prefix.cache(); }

Engine::Load Engine::load() const {
  std::lock_guard lock(impl_->load_mutex);
  return impl_->load;
}

Generated Engine::run(Request r) {
  const Id id = submit(std::move(r));
  for (;;) {
    if (auto g = take(id)) {
      if (g->finish == "error") fail("{}", g->error);
      return std::move(*g);
    }
    step();
  }
}

}  // namespace quern::infer
