#include "quern/infer/engine/engine.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "quern/base/free_blocks.h"
#include "quern/base/threads.h"
#include "quern/infer/engine/batch_cost_model.h"
#include "quern/infer/engine/sequence.h"
#include "quern/infer/sampling/select_logits.h"
#include "quern/mixers/ranks/cache_shards.h"
#include "quern/mixers/state_totals.h"

namespace quern {
namespace {

using Clock = Sequence::Clock;
double seconds_between(Clock::time_point a, Clock::time_point b) {
  return std::chrono::duration<double>(b - a).count();
}

// A snapshot before the prompt's last token costs memory, or a forward of one row: only where it saves replaying more
// than this.
constexpr int64_t kWorthASnapshot = 32;
constexpr double kWorthPrefilling = 64;  // tokens a draft model may have to read for each that it may guess right
constexpr int64_t kScoredRows = 128;     // whose logits are held at once: 134 MB at a vocabulary of 262K
constexpr int64_t kGrid = 64;            // the finest grid of snapshots; a multiple of every cut alignment

std::string message_of(const std::exception& e) {
  if (dynamic_cast<const std::bad_alloc*>(&e))
    return "out of memory: ask for fewer tokens or fewer sessions at once, or give the prefix cache less";
  return e.what();
}

}  // namespace

struct Engine::Impl {
  Model& model;
  EngineOptions o;
  std::vector<StateSite> sites;
  std::unique_ptr<DraftModel> draft;
  PrefixCache cache;
  int64_t grid = 0;  // distance of the coarse snapshots; 0 = none needed
  bool snapshots_inside =
      true;  // snapshots can be taken inside a forward; else prompts are fed in pieces that end there
  int64_t row_bytes = 0, fixed_bytes = 0, reserved = 0;
  BatchCostModel cost_model;
  DraftLengthPolicy draft_policy;  // as the last answer left it

  mutable std::mutex mutex;  // guards what follows
  std::deque<std::unique_ptr<Sequence>> waiting;
  std::set<Id> cancelled;
  std::map<Id, Generated> done;
  Id next_id = 1;
  Load load;

  std::vector<std::unique_ptr<Sequence>> running;  // the stepping thread's own

  Impl(Model& m, EngineOptions options)
      : model(m), o(options), sites(m.sites(o.kv)), draft(draft_model()), cache(sites, o.cache_bytes) {
    if (o.chunk < 1 || o.max_sequences < 1) fail("engine: chunk and max_sequences must be 1 or more");
    if (o.shards && o.cache_bytes > 0)
      fail("engine: a prefix cache cannot be combined with a sharded KV cache; set cache_bytes to 0");
    check_speculation(o.speculate);
    const StateTotals totals = state_totals(sites);
    row_bytes = totals.row_bytes, fixed_bytes = totals.fixed_bytes;
    snapshots_inside = totals.snapshots_inside && !o.deterministic_prefix_cache;
    if (cache.needs_snapshots() && o.cache_bytes > 0) {
      // One context's grid may take a quarter of the cache, or add a quarter to what the rows between take.
      double fixed = 4.0 * static_cast<double>(fixed_bytes),
             minimum = fixed * static_cast<double>(model.max_positions()) / static_cast<double>(o.cache_bytes);
      if (row_bytes > 0) minimum = std::min(minimum, fixed / static_cast<double>(row_bytes));
      int64_t unit = snapshots_inside ? std::min(o.chunk, kGrid) : o.chunk;
      grid = unit * std::max<int64_t>(
                        1, static_cast<int64_t>(std::ceil(std::min(minimum, 1e12) / static_cast<double>(unit))));
    }
  }

  // The draft model, with its share of the cache.
  std::unique_ptr<DraftModel> draft_model() {
    if (!o.draft) return nullptr;
    constexpr int64_t kContext = 1024;
    const auto weighs = [&](const std::vector<StateSite>& s) {
      const StateTotals t = state_totals(s);
      return static_cast<double>(t.fixed_bytes + kContext * t.row_bytes);
    };
    const double its = weighs(o.draft->sites(o.kv)), share = its / (its + weighs(sites));
    // With exact cuts it keeps nothing: its guesses are then the same whatever was asked before.
    const auto bytes =
        o.deterministic_prefix_cache ? 0 : static_cast<int64_t>(share * static_cast<double>(o.cache_bytes));
    o.cache_bytes -= bytes;
    return std::make_unique<DraftModel>(*o.draft, o.kv, bytes);
  }

  int64_t longest(const Sequence& s) const {
    return std::min(s.prompt + s.r.options.max_tokens, model.max_positions());
  }
  int64_t rows_here(const Sequence& s) const { return o.shards ? o.shards->count_here(longest(s)) : longest(s); }
  SpeculationOptions speculation(const GenerateOptions& g) const { return g.speculate.value_or(o.speculate); }
  int64_t need(const Sequence& s) const {
    const SpeculationOptions g = speculation(s.r.options);
    const int64_t rollback_points = g.on() ? rollback_point_count(sites, g.max_draft) : 0;
    return fixed_bytes * (1 + rollback_points) + row_bytes * rows_here(s) +
           (g.on() && g.draft ? draft->reader_bytes(longest(s)) : 0);
  }

  void check_request(const Request& r) const {
    if (r.prompt.empty()) fail("the prompt is empty: give at least one token");
    if (r.options.max_tokens < (r.options.score_prompt ? 0 : 1))
      fail("max_tokens {}: expected at least 1", r.options.max_tokens);
    int64_t n = static_cast<int64_t>(r.prompt.size());
    if (n > model.max_positions())
      fail("the prompt has {} tokens; this model's limit is {} (max_position_embeddings)", n, model.max_positions());
    auto check_ids = [&](const std::vector<int32_t>& ids, const char* what) {
      for (size_t i = 0; i < ids.size(); ++i)
        if (ids[i] < 0 || ids[i] >= model.vocab_size())
          fail("{} token {} at position {}: ids run from 0 to {}", what, ids[i], i, model.vocab_size() - 1);
    };
    check_ids(r.prompt, "prompt");
    check_ids(r.options.forced, "forced");
    if (!r.options.stop.empty() && !o.tokenizer) fail("stop strings need a tokenizer");
    check_speculation(speculation(r.options));
  }

  void check_speculation(const SpeculationOptions& g) const {
    if (g.max_draft < 0 || g.max_draft > kMaxDraftTokens)
      fail("speculative decoding: draft length {}: expected 1 to {}, or 0 for none", g.max_draft, kMaxDraftTokens);
    if (g.on() && !g.ngram && !g.draft)
      fail("speculative decoding: draft length {} but no draft source; enable ngram or draft", g.max_draft);
    if (g.on() && o.shards) fail("speculative decoding: a KV cache sharded over ranks cannot be rolled back");
    if (g.draft && !draft) fail("speculative decoding: this model has no draft model");
  }

  // Where the prompt is cut for a snapshot, beyond what was already known.
  void plan_snapshots(Sequence& s, const PrefixMatch& m) const {
    s.snapshot_points.clear();
    if (o.cache_bytes <= 0) return;
    int64_t end = s.prompt - 1;
    for (int64_t p = grid > 0 ? (m.cached / grid + 1) * grid : end + 1; p <= end; p += grid)
      s.snapshot_points[p] = SnapshotKind::periodic;
    if (o.deterministic_prefix_cache) {
      if (int64_t p = end / o.chunk * o.chunk; p > m.cached && grid == 0)
        s.snapshot_points[p] = SnapshotKind::turn_end;
      return;
    }
    int64_t last = m.cached;
    for (int64_t p : s.r.turn_ends)
      if (p > m.cached && p <= end) s.snapshot_points[p] = SnapshotKind::turn_end, last = std::max(last, p);
    if (m.matched - m.cached >= kWorthASnapshot && m.matched <= end)
      s.snapshot_points[m.matched] = SnapshotKind::branch, last = std::max(last, m.matched);
    if (end - last >= kWorthASnapshot) s.snapshot_points[end] = SnapshotKind::turn_end;
    if (!cache.needs_snapshots())  // any position will do later: remember the prompt once, whole
      std::erase_if(s.snapshot_points, [&](const auto& c) { return c.first != end; });
  }

  void start(Sequence& s) {  // from the cache, or from nothing
    s.state = SequenceState(sites);
    s.state.reserve(rows_here(s));
    std::span<const int32_t> known(s.tokens);
    PrefixMatch m;
    m.note = s.r.options.score_prompt ? "a prompt's scores need all of it" : "the prefix cache is off";
    s.out.prompt_logprobs.clear(), s.out.prompt_top.clear();
    if (o.cache_bytes > 0 && !s.r.options.score_prompt)
      m = cache.resume(known, static_cast<int64_t>(known.size()) - 1, s.state,
                       o.deterministic_prefix_cache ? o.chunk : 1);
    s.out.cached_tokens = std::min(m.cached, s.prompt);
    s.out.recomputed_tokens = s.prompt - s.out.cached_tokens;
    s.out.cache_note = m.note;
    plan_snapshots(s, m);
  }

  void admit() {
    for (;;) {
      std::unique_ptr<Sequence> s;
      {
        std::lock_guard lock(mutex);
        if (waiting.empty() || static_cast<int64_t>(running.size()) >= o.max_sequences) return;
        if (o.state_bytes > 0 && reserved + need(*waiting.front()) > o.state_bytes && !running.empty()) return;
        s = std::move(waiting.front());
        waiting.pop_front();
      }
      s->started = Clock::now();
      reserved += need(*s);
      running.push_back(std::move(s));
      Sequence& r = *running.back();
      try {
        if (o.tokenizer) r.text = std::make_unique<TextStream>(*o.tokenizer, r.r.options.stop);
        if (const SpeculationOptions g = speculation(r.r.options); g.on()) r.ahead.emplace(sites, g, draft_policy);
        start(r);
      } catch (const std::exception& e) {
        r.state = SequenceState();
        finish(r, "error", message_of(e));
      }
    }
  }

  // Ends a sequence: what it has seen stays in the cache, its result is there to be taken.
  void finish(Sequence& s, const char* how, std::string error = {}) {
    auto now = Clock::now();
    if (s.ahead && s.ahead->has_draft()) s.settle();
    try {
      if (s.text && error.empty()) emit(s, -1, 0, s.text->finish());
    } catch (const std::exception& e) {
      how = "error", error = message_of(e);
    }
    s.out.finish = how;
    s.out.error = std::move(error);
    const bool failed = !s.out.error.empty();
    bool answered = !s.out.tokens.empty();
    s.out.prompt_seconds = seconds_between(s.started, answered ? s.first_token : now);
    s.out.decode_seconds = answered ? seconds_between(s.first_token, now) : 0;
    // Rows of an answer come from one-token steps: close to a prompt's rows, not bit-identical.
    if (s.out.error.empty() && s.fed() > 0 && o.cache_bytes > 0 && !o.deterministic_prefix_cache) {
      try {
        cache.store(std::span(s.tokens).first(static_cast<size_t>(s.fed())), s.state, SnapshotKind::turn_end);
      } catch (const std::bad_alloc&) {
        cache.clear();  // the answer is whole; only what was remembered goes
      }
    }
    if (s.ahead && draft && !failed) {
      draft->remember(s.ahead->reader(), s.tokens);
      if (!o.deterministic_prefix_cache && s.ahead->model_was_used())
        draft_policy = s.ahead->model_policy().for_another();
    }
    reserved -= need(s);
    s.state = SequenceState();
    if (failed) give_back_free_blocks();  // who found no memory leaves none of it behind
    Id id = s.id;
    Generated out = std::move(s.out);
    std::erase_if(running, [&](const auto& r) { return r.get() == &s; });
    std::lock_guard lock(mutex);
    cancelled.erase(id);
    done.emplace(id, std::move(out));
  }

  bool emit(Sequence& s, int32_t token, double logprob, const std::string& text) {
    s.out.text += text;
    if (token < 0 && text.empty()) return true;
    std::span<const TokenLogprob> top;
    if (token >= 0 && !s.out.top.empty()) top = s.out.top.back();
    return !s.r.on_token || s.r.on_token({token, logprob, text, top});
  }

  void drop_cancelled() {
    std::set<Id> now;
    {
      std::lock_guard lock(mutex);
      now.swap(cancelled);
      for (auto it = waiting.begin(); it != waiting.end();)
        if (now.contains((*it)->id)) {
          (*it)->out.finish = "cancelled";
          done.emplace((*it)->id, std::move((*it)->out));
          it = waiting.erase(it);
        } else {
          ++it;
        }
    }
    for (size_t i = running.size(); i-- > 0;)
      if (now.contains(running[i]->id)) finish(*running[i], "cancelled");
  }

  struct Piece {
    Sequence* s;
    int64_t rows;  // of its tokens; its draft follows
    int64_t drafted() const { return static_cast<int64_t>(s->draft().size()); }
    bool ends() const { return rows == s->pending(); }  // before the step: what comes behind is asked for
  };

  // Every answering sequence's next token; then prompts in order of arrival, each up to its next cut, while they fit.
  std::vector<Piece> plan() const {
    for (const auto& s : running)
      if (s->alone) return {{s.get(), piece(*s)}};
    std::vector<Piece> pieces;
    int64_t room = o.chunk;
    for (const auto& s : running)
      if (s->answering()) pieces.push_back({s.get(), s->pending()});
    for (const auto& s : running)
      if (int64_t n = piece(*s); !s->answering() && n <= room) pieces.push_back({s.get(), n}), room -= n;
    return pieces;
  }
  int64_t piece(const Sequence& s) const {
    int64_t at = s.fed(), end = std::min(at + s.pending(), (at / o.chunk + 1) * o.chunk);
    if (snapshots_inside) return end - at;
    auto cut = s.snapshot_points.upper_bound(at);
    return (cut == s.snapshot_points.end() ? end : std::min(end, cut->first)) - at;
  }

  // Guesses of the sequences whose answers go on by sampling.
  void draft_tokens(const std::vector<Piece>& pieces) {
    int64_t rows = 0;  // of answers: a step of them is what a right guess saves
    for (const Piece& p : pieces)
      if (p.s->answering()) rows += p.rows;
    std::vector<DraftRequest> asks;
    std::vector<Sequence*> askers;
    for (const Piece& p : pieces) {
      Sequence& s = *p.s;
      if (!s.ahead || s.alone || !p.ends() || s.out.tokens.empty()) continue;
      if (s.out.tokens.size() < s.r.options.forced.size()) continue;
      // A step gives one token more than was right.
      const auto size = static_cast<int64_t>(s.tokens.size()), room = longest(s) - size - 1;
      const double marginal_cost =
          o.deterministic_prefix_cache ? BatchCostModel::kDefault : cost_model.one_more_than(rows);
      s.ahead->make_draft(s.tokens, p.rows, room, marginal_cost);
      rows += p.drafted();
      if (!s.ahead->may_use_model() || !worth_prefilling(s, room)) continue;
      const double each = marginal_cost + draft_cost(rows);
      const int64_t maximum = s.ahead->draft_length(p.rows, std::min(room, draft->max_positions() - size), each);
      if (maximum < 1) continue;
      askers.push_back(&s), rows += maximum;
      asks.push_back({.reader = s.ahead->reader(),
                      .tokens = s.tokens,
                      .sampler = s.sampler,
                      .stop_ids = s.r.options.stop_ids,
                      .max_draft = maximum,
                      .max_length = longest(s),
                      .token_cost = each});
    }
    if (asks.empty()) return;
    draft->make_drafts(asks, o.chunk, model.vocab_size());
    for (size_t i = 0; i < asks.size(); ++i) askers[i]->ahead->propose(asks[i]);
  }

  bool worth_prefilling(Sequence& s, int64_t room) const {
    const double right = static_cast<double>(room) * s.ahead->model_policy().chance();
    return static_cast<double>(draft->unread(s.ahead->reader(), s.tokens)) <= kWorthPrefilling * right;
  }

  // Of a token of the draft model's, as a share of a step.
  double draft_cost(int64_t rows) const {
    constexpr double kDraftGuess = 0.25;
    const double step = cost_model.seconds(rows), each = draft->seconds_each();
    return o.deterministic_prefix_cache || step <= 0 || each <= 0 ? kDraftGuess : each / step;
  }

  void forward(const std::vector<Piece>& pieces) {
    std::vector<int32_t> ids;
    std::vector<SequenceState*> states;
    std::vector<Sequence*> ready;          // their logits are asked for,
    std::vector<int64_t> lengths, wanted;  // in these rows: one, and one for each token of the draft
    std::vector<SnapshotPoint> snapshot_points;
    std::vector<SequenceState> snapshots = inner_snapshots(pieces, snapshot_points);
    for (const Piece& p : pieces) {
      auto from = p.s->tokens.begin() + p.s->fed();
      ids.insert(ids.end(), from, from + p.rows);
      states.push_back(&p.s->state);
      lengths.push_back(p.rows + p.drafted());
      if (!p.ends()) continue;
      ready.push_back(p.s);
      wanted.push_back(static_cast<int64_t>(ids.size()) - 1);
      for (const int32_t token : p.s->draft())
        wanted.push_back(static_cast<int64_t>(ids.size())), ids.push_back(token);
    }
    Tape tape(Tape::inference);
    Batch batch = Batch::resume(states, lengths);
    batch.snapshot_points = snapshot_points;
    batch.shards = o.shards;
    Tensor hidden = model.hidden(tape, ids, batch).value;
    store_snapshots(pieces, snapshot_points);
    int64_t row = 0;
    for (const Piece& p : pieces) score(p, hidden, std::exchange(row, row + p.rows + p.drafted()));
    for (const Piece& p : pieces) p.s->alone = false;
    if (wanted.empty()) return;
    after(ready, select_logits(model, tape, hidden, wanted));
  }

  // Logprobs of the prompt's tokens that the piece's rows, from `row` on, foretell.
  void score(const Piece& p, const Tensor& hidden, int64_t row) {
    Sequence& s = *p.s;
    if (!s.r.options.score_prompt) return;
    const int64_t fed = s.fed() - p.drafted();  // of its own tokens
    const int64_t at = fed - p.rows, end = std::min(fed, s.prompt - 1), maximum = s.r.options.top_logprobs;
    for (int64_t from = at; from < end; from += kScoredRows) {
      const int64_t n = std::min(kScoredRows, end - from), first = from + 1;
      Tape tape(Tape::inference);
      const Tensor x = model.logits(tape, Var(hidden.narrow(0, row + from - at, n))).value.to(DType::f32);
      s.out.prompt_logprobs.resize(static_cast<size_t>(from + n));
      if (maximum > 0) s.out.prompt_top.resize(static_cast<size_t>(from + n));
      parallel_dynamic(n, [&](int64_t i) {
        const auto k = static_cast<size_t>(from + i);
        const std::span<const float> logits(x.view<const float, 2>().row(i), static_cast<size_t>(x.dim(1)));
        s.out.prompt_logprobs[k] = logprob_of(logits, s.tokens[static_cast<size_t>(first + i)]);
        if (maximum > 0) s.out.prompt_top[k] = top_logprobs(logits, maximum);
      });
    }
  }

  // The snapshots this step takes on the way, in order, and where the forward is to put them.
  std::vector<SequenceState> inner_snapshots(const std::vector<Piece>& pieces,
                                             std::vector<SnapshotPoint>& snapshot_points) const {
    std::vector<SequenceState> snapshots;
    for (size_t i = 0; i < pieces.size(); ++i) {
      Sequence& s = *pieces[i].s;
      int64_t at = s.fed(), end = at + pieces[i].rows;
      for (auto c = s.snapshot_points.upper_bound(at); c != s.snapshot_points.end() && c->first < end; ++c) {
        snapshot_points.push_back({static_cast<int64_t>(i), c->first - at, nullptr});
        snapshots.emplace_back(sites);
        snapshots.back().advance(c->first);
      }
      if (s.ahead) s.ahead->add_rollback_points(s.state, static_cast<int64_t>(i), pieces[i].rows, snapshot_points);
    }
    auto snapshot = snapshots.begin();
    for (SnapshotPoint& c : snapshot_points)
      if (!c.into) c.into = &*snapshot++;
    return snapshots;
  }

  // Deepest first: the others are then positions inside an edge, not edges of their own.
  void store_snapshots(const std::vector<Piece>& pieces, const std::vector<SnapshotPoint>& snapshot_points) {
    auto store = [&](const Sequence& s, const SequenceState& fixed) {
      if (auto cut = s.snapshot_points.find(fixed.length()); cut != s.snapshot_points.end())
        cache.store(std::span(s.tokens).first(static_cast<size_t>(cut->first)), s.state, fixed, cut->second);
    };
    for (const Piece& p : pieces) store(*p.s, p.s->state);
    for (size_t i = snapshot_points.size(); i-- > 0;)
      store(*pieces[static_cast<size_t>(snapshot_points[i].segment)].s, *snapshot_points[i].into);
  }

  // logits: of every sequence a row, and one for each token of its draft.
  void after(const std::vector<Sequence*>& ready, const Tensor& logits) {
    std::vector<size_t> first;  // rows
    size_t rows = 0;
    for (const Sequence* s : ready) first.push_back(std::exchange(rows, rows + 1 + s->draft().size()));
    const auto row = [&](size_t i) {
      return std::span(logits.view<const float, 2>().row(static_cast<int64_t>(i)),
                       static_cast<size_t>(logits.dim(1)));
    };
    // Draws side by side; what fails fails again below, where it is its sequence's own.
    std::vector<std::optional<TokenLogprob>> sampled(ready.size());
    if (ready.size() > 1)
      parallel_dynamic(static_cast<int64_t>(ready.size()), [&](int64_t at) {
        const auto i = static_cast<size_t>(at);
        if (ready[i]->samples_freely()) try {
            sampled[i] = ready[i]->sampler.next(row(first[i]), ready[i]->tokens.size());
          } catch (const std::exception&) {
          }
      });
    for (size_t i = 0; i < ready.size(); ++i) {
      Sequence& s = *ready[i];
      try {
        // Every row foretells its token as a step of its own would, for as long as the draft was right before it.
        const size_t drafted = s.draft().size();
        size_t k = 0;
        bool goes_on = answer(s, row(first[i]), sampled[i]);
        while (goes_on && k < drafted && s.draft()[k] == s.tokens.back())
          goes_on = answer(s, row(first[i] + ++k), std::nullopt);
        if (goes_on && drafted > 0) s.settle();
      } catch (const std::exception& e) {
        finish(s, "error", message_of(e));
      }
    }
  }

  // One more token of s from its logits, perhaps drawn already. False: the answer is whole, and s gone.
  bool answer(Sequence& s, std::span<const float> logits, const std::optional<TokenLogprob>& sampled) {
    const GenerateOptions& g = s.r.options;
    const auto ends = [&](const char* how) { return finish(s, how), false; };
    if (g.max_tokens == 0) return ends("length");
    size_t i = s.out.tokens.size();
    bool forced = i < g.forced.size();
    TokenLogprob t = forced    ? TokenLogprob{g.forced[i], logprob_of(logits, g.forced[i])}
                     : sampled ? *sampled
                               : s.sample(logits);
    if (i == 0) s.first_token = Clock::now();
    if (!forced && std::find(g.stop_ids.begin(), g.stop_ids.end(), t.token) != g.stop_ids.end()) return ends("stop");
    s.sampler.accept_token(t.token);
    if (s.constrained && !forced) s.constrained->accept_token(t.token);
    s.tokens.push_back(t.token);
    s.out.tokens.push_back(t.token);
    s.out.logprobs.push_back(t.logprob);
    if (g.top_logprobs > 0) s.out.top.push_back(top_logprobs(logits, g.top_logprobs));
    if (!emit(s, t.token, t.logprob, s.text ? s.text->push(t.token) : std::string())) return ends("cancelled");
    if ((s.text && s.text->stopped()) || (s.constrained && s.constrained->finished())) return ends("stop");
    if (static_cast<int64_t>(s.tokens.size()) >= longest(s)) return ends("length");
    return true;
  }

  // A forward that failed half-way leaves its states in pieces. One sequence: it was the cause. Several: all begin
  // again from their tokens, one by one, and whoever fails alone is the cause.
  void recover(const std::vector<Piece>& pieces, const std::string& why) {
    for (const Piece& p : pieces) {
      p.s->state = SequenceState();
      if (p.s->ahead) p.s->ahead->drop();
    }
    if (pieces.size() == 1) return finish(*pieces[0].s, "error", why);
    for (const Piece& p : pieces) {
      p.s->alone = true;
      try {
        start(*p.s);
      } catch (const std::exception& e) {
        p.s->state = SequenceState();
        finish(*p.s, "error", message_of(e));
      }
    }
  }

  bool step() {
    drop_cancelled();
    admit();
    std::vector<Piece> pieces = plan();
    const bool answers = std::all_of(pieces.begin(), pieces.end(), [](const Piece& p) { return p.s->answering(); });
    try {
      draft_tokens(pieces);
      int64_t rows = 0;
      for (const Piece& p : pieces) rows += p.rows + p.drafted();
      const auto begun = Clock::now();
      if (!pieces.empty()) forward(pieces);
      if (answers && !pieces.empty()) cost_model.record(rows, seconds_between(begun, Clock::now()));
    } catch (const std::exception& e) {
      recover(pieces, message_of(e));
    }
    std::lock_guard lock(mutex);
    load = {static_cast<int64_t>(waiting.size()), static_cast<int64_t>(running.size()), reserved,
            cache.bytes() + (draft ? draft->cache_bytes() : 0)};
    return !pieces.empty();
  }
};

Engine::Engine(Model& model, EngineOptions options) : impl_(std::make_unique<Impl>(model, options)) {}
Engine::~Engine() = default;

Engine::Id Engine::submit(Request r) {
  impl_->check_request(r);
  auto s = std::make_unique<Sequence>(0, std::move(r));
  if (int64_t limit = impl_->o.state_bytes; limit > 0 && impl_->need(*s) > limit)
    fail("{} prompt tokens and up to {} more need {} MiB of state, the limit is {} MiB: ask for fewer tokens",
         s->prompt, s->r.options.max_tokens, (impl_->need(*s) >> 20) + 1, limit >> 20);
  std::lock_guard lock(impl_->mutex);
  s->id = impl_->next_id++;
  impl_->waiting.push_back(std::move(s));
  return impl_->next_id - 1;
}

void Engine::cancel(Id id) {
  std::lock_guard lock(impl_->mutex);
  if (!impl_->done.contains(id)) impl_->cancelled.insert(id);
}

bool Engine::step() { return impl_->step(); }

std::optional<Generated> Engine::take(Id id) {
  std::lock_guard lock(impl_->mutex);
  auto it = impl_->done.find(id);
  if (it == impl_->done.end()) return std::nullopt;
  Generated g = std::move(it->second);
  impl_->done.erase(it);
  return g;
}

Generated Engine::run(Request r) {
  Id id = submit(std::move(r));
  for (;;) {
    if (auto g = take(id)) {
      if (g->finish == "error") fail("{}", g->error);
      return std::move(*g);
    }
    step();
  }
}

Engine::Load Engine::load() const {
  std::lock_guard lock(impl_->mutex);
  return impl_->load;
}

PrefixCache& Engine::cache() { return impl_->cache; }

}  // namespace quern
