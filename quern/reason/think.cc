// Runs rounds of candidates on the engine.
#include "quern/reason/think.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "quern/base/error.h"
#include "quern/base/rng.h"
#include "quern/base/stopwatch.h"
#include "quern/reason/answer.h"
#include "quern/reason/draw.h"
#include "quern/reason/trace.h"
#include "quern/text/chat/aggregation_prompt.h"
#include "quern/text/chat/chat_prompt.h"

namespace quern::reason {
namespace {

constexpr const char* kForcedClose = "\n</think>\n\n";

uint64_t seed_of(uint64_t seed, int64_t round, int64_t index) {
  return mix64(mix64(seed + 0x51ull) + (static_cast<uint64_t>(round) << 32) + static_cast<uint64_t>(index));
}

}  // namespace

struct ThinkRunner::Impl {
  enum class Status { waiting, running, done };
  struct Slot {
    Status status = Status::waiting;
    infer::Engine::Id id = 0;
    infer::ThinkStart start = infer::ThinkStart::may_open;
    std::vector<int32_t> lead, text;  // what it continues (C = 1), what it generated before its thinking was closed
    double logprob = 0;
  };

  infer::Engine& engine;
  const text::Tokenizer& tokenizer;
  const text::ChatTemplate& chat_template;
  Json messages;
  ThinkPlan plan;
  infer::GenerateOptions options;
  std::function<void(const ThinkEvent&)> tell;
  ThinkResult thought;
  std::vector<Slot> slots;
  std::vector<int32_t> question;  // the prompt of round 0
  bool opens = false;             // the template's generation prompt opens the thinking
  bool cancelled = false;
  int64_t done = 0;
  Stopwatch watch;

  Impl(infer::Engine& e, ThinkRequest request)
      : engine(e),
        tokenizer(request.tokenizer),
        chat_template(request.chat_template),
        messages(std::move(request.messages)),
        plan(resolved(request.plan, request.options.max_tokens)),
        options(std::move(request.options)) {
    if (messages.as_array("messages").empty()) fail("messages: expected at least one");
    const text::PromptText rendered = text::chat_prompt(chat_template, tokenizer, messages);
    question = rendered.encode(tokenizer);
    opens = rendered.opens_thinking();
    const int64_t all = plan.n * (plan.t + 1);
    thought.candidates.resize(static_cast<size_t>(all)), slots.resize(static_cast<size_t>(all));
    Rng r(plan.seed, 0xa99);
    for (int64_t k = 0; k < all; ++k) {
      Candidate& x = thought.candidates[static_cast<size_t>(k)];
      x.round = k / plan.n, x.index = k % plan.n;
      if (x.round > 0) x.sources = plan.c == 1 ? std::vector<int64_t>{x.index} : draw(r, plan.n, plan.c);
    }
  }

  Candidate& candidate(int64_t round, int64_t index) {
    return thought.candidates[static_cast<size_t>(round * plan.n + index)];
  }
  bool ready(const Candidate& x) const {
    return std::all_of(x.sources.begin(), x.sources.end(), [&](int64_t s) {
      return slots[static_cast<size_t>((x.round - 1) * plan.n + s)].status == Status::done;
    });
  }

  std::vector<int32_t> aggregation(const Candidate& x) {
    std::vector<std::vector<int32_t>> tails;
    for (const int64_t source : x.sources) tails.push_back(candidate(x.round - 1, source).carried);
    return text::aggregation_prompt(chat_template, tokenizer, messages, tails);
  }

  void submit(int64_t k) {
    Candidate& x = thought.candidates[static_cast<size_t>(k)];
    Slot& slot = slots[static_cast<size_t>(k)];
    x.prompt = question, slot.start = opens ? infer::ThinkStart::opened : infer::ThinkStart::may_open;
    if (x.round > 0 && plan.c == 1) {
      if (!opens) {
        const std::vector<int32_t> open = tokenizer.encode("<think>\n", {.add_special_tokens = false});
        x.prompt.insert(x.prompt.end(), open.begin(), open.end());
      }
      slot.lead = candidate(x.round - 1, x.index).carried, slot.start = infer::ThinkStart::opened;
      x.prompt.insert(x.prompt.end(), slot.lead.begin(), slot.lead.end());
    } else if (x.round > 0) {
      x.prompt = aggregation(x);
    }
    const auto length = static_cast<int64_t>(x.prompt.size());
    thought.prompt_tokens += length, thought.longest_prompt = std::max(thought.longest_prompt, length);
    const bool last = x.round == plan.t;
    // Room for an answer is kept back from the last round's budget.
    const int64_t budget = last ? std::max(plan.beta, plan.final) : plan.beta;
    start(k, last ? budget - answer_room(budget) : budget);
  }

  static int64_t answer_room(int64_t budget) { return std::min<int64_t>(128, budget / 4); }

  void start(int64_t k, int64_t tokens) {
    const Candidate& x = thought.candidates[static_cast<size_t>(k)];
    Slot& slot = slots[static_cast<size_t>(k)];
    infer::Request r{.prompt = x.prompt, .options = options};
    r.prompt.insert(r.prompt.end(), slot.text.begin(), slot.text.end());
    r.options.max_tokens = tokens;
    r.options.sampling.seed = seed_of(plan.seed, x.round, x.index) + (slot.text.empty() ? 0 : 1);
    if (plan.t == 0 && plan.n == 1) r.options.sampling.seed = options.sampling.seed;
    slot.id = engine.submit(std::move(r));
    slot.status = Status::running;
  }

  void finish(int64_t k, infer::Generated g) {
    Candidate& x = thought.candidates[static_cast<size_t>(k)];
    Slot& slot = slots[static_cast<size_t>(k)];
    if (slot.text.empty())
      thought.cached_tokens += g.cached_tokens;  // of the prompt; behind a forced close also of what was drawn
    slot.text.insert(slot.text.end(), g.tokens.begin(), g.tokens.end());
    x.drawn += static_cast<int64_t>(g.tokens.size());
    slot.logprob = std::accumulate(g.logprobs.begin(), g.logprobs.end(), slot.logprob);
    thought.new_tokens += static_cast<int64_t>(g.tokens.size());
    thought.prompt_seconds += g.prompt_seconds, thought.decode_seconds += g.decode_seconds;
    thought.speculated += g.speculated;
    const Trace trace = read_trace(slot.text, tokenizer, slot.start);
    if (x.round == plan.t && g.finish == "length" && !x.closed_by_force && !cancelled) {
      x.closed_by_force = true;
      if (!trace.closed) {
        const std::vector<int32_t> close = tokenizer.encode(kForcedClose, {.add_special_tokens = false});
        slot.text.insert(slot.text.end(), close.begin(), close.end());
      }
      const int64_t budget = std::max(plan.beta, plan.final);
      start(k, std::max<int64_t>(1, answer_room(budget)));
      return;
    }
    slot.status = Status::done, ++done;
    x.tokens = std::move(slot.text), x.finish = g.finish, x.error = g.error;
    x.text = tokenizer.decode(x.tokens, text::SpecialTokens::skip);
    x.mean_logprob = x.tokens.empty() ? 0 : slot.logprob / static_cast<double>(x.tokens.size());
    if (trace.closed && g.finish == "stop") x.answer = extract_answer(x.text);
    x.carried = carried(x, slot, trace);
    if (tell) tell({x, done, static_cast<int64_t>(slots.size()), thought.new_tokens, agreement(x.round).share});
  }

  std::vector<int32_t> carried(const Candidate& x, const Slot& slot, const Trace& trace) const {
    const bool answered = trace.closed && trace.answer < static_cast<int64_t>(x.tokens.size());
    if (plan.carry == ThinkPlan::Carry::answer || (plan.carry == ThinkPlan::Carry::either && answered)) {
      const int64_t from = std::max(trace.answer, static_cast<int64_t>(x.tokens.size()) - plan.tau);
      return {x.tokens.begin() + from, x.tokens.end()};
    }
    std::vector<int32_t> tail = tail_of(x.tokens, trace, plan.tau);
    // A short piece of a chain still carries what it began with.
    if (!slot.lead.empty() && static_cast<int64_t>(tail.size()) < plan.tau) {
      const int64_t more =
          std::min<int64_t>(plan.tau - static_cast<int64_t>(tail.size()), static_cast<int64_t>(slot.lead.size()));
      tail.insert(tail.begin(), slot.lead.end() - more, slot.lead.end());
    }
    return tail;
  }

  struct Vote {
    int64_t winner = -1;
    double share = 0;
  };
  Vote agreement(int64_t round) {  // of those of the round that are done and have an answer; ties to the shortest
    std::map<std::string, std::pair<int64_t, int64_t>> votes;  // answer → count, best candidate
    int64_t finished = 0;
    for (int64_t i = 0; i < plan.n; ++i) {
      const int64_t k = round * plan.n + i;
      const Candidate& x = thought.candidates[static_cast<size_t>(k)];
      finished += slots[static_cast<size_t>(k)].status == Status::done;
      if (x.answer.empty()) continue;
      auto [it, fresh] = votes.try_emplace(normal_answer(x.answer), 0, k);
      ++it->second.first;
      if (x.tokens.size() < thought.candidates[static_cast<size_t>(it->second.second)].tokens.size())
        it->second.second = k;
    }
    Vote best;
    int64_t count = 0;
    for (const auto& [answer, v] : votes) {
      const bool shorter = best.winner >= 0 && thought.candidates[static_cast<size_t>(v.second)].tokens.size() <
                                                   thought.candidates[static_cast<size_t>(best.winner)].tokens.size();
      if (v.first > count || (v.first == count && shorter)) best.winner = v.second, count = v.first;
    }
    if (finished > 0) best.share = static_cast<double>(count) / static_cast<double>(finished);
    return best;
  }

  void conclude() {
    thought.seconds = watch.seconds();
    const Vote vote = agreement(plan.t);
    thought.chosen = vote.winner, thought.agreement = vote.share;
    for (int64_t i = 0; i < plan.n; ++i) {
      const int64_t k = plan.t * plan.n + i;
      const Candidate& x = thought.candidates[static_cast<size_t>(k)];
      const bool better = plan.choose == ThinkPlan::Choose::likeliest && !x.answer.empty() &&
                          x.mean_logprob > thought.candidates[static_cast<size_t>(thought.chosen)].mean_logprob;
      if (better || (thought.chosen < 0 && !x.tokens.empty())) thought.chosen = k;
    }
  }

  bool advance() {
    const int64_t all = static_cast<int64_t>(slots.size());
    if (done == all) return false;
    for (int64_t k = 0; k < all; ++k) {
      Slot& slot = slots[static_cast<size_t>(k)];
      if (slot.status != Status::running) continue;
      if (auto g = engine.take(slot.id)) finish(k, std::move(*g));
    }
    for (int64_t k = 0; k < all; ++k) {
      Slot& slot = slots[static_cast<size_t>(k)];
      if (slot.status != Status::waiting) continue;
      if (cancelled)
        slot.status = Status::done, ++done, thought.candidates[static_cast<size_t>(k)].finish = "cancelled";
      else if (ready(thought.candidates[static_cast<size_t>(k)]))
        submit(k);
    }
    if (done == all) conclude();
    return done < all;
  }

  void cancel() {
    cancelled = true;
    for (const Slot& slot : slots)
      if (slot.status == Status::running) engine.cancel(slot.id);
  }
};

ThinkRunner::ThinkRunner(infer::Engine& engine, ThinkRequest request)
    : impl_(std::make_unique<Impl>(engine, std::move(request))) {}
ThinkRunner::~ThinkRunner() = default;
void ThinkRunner::on_event(std::function<void(const ThinkEvent&)> f) { impl_->tell = std::move(f); }
bool ThinkRunner::advance() { return impl_->advance(); }
void ThinkRunner::cancel() { impl_->cancel(); }
const ThinkResult& ThinkRunner::thought() const { return impl_->thought; }

ThinkResult think(infer::Engine& engine, ThinkRequest request,
                  const std::function<void(const ThinkEvent&)>& on_event) {
  ThinkRunner t(engine, std::move(request));
  t.on_event(on_event);
  while (t.advance()) engine.step();
  return t.thought();
}

}  // namespace quern::reason
