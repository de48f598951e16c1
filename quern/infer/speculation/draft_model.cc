// One forward pass reads what is new in every text; then one pass per drafted token.
#include "quern/infer/speculation/draft_model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "quern/base/threads.h"
#include "quern/infer/sampling/select_logits.h"
#include "quern/infer/speculation/speculation_options.h"
#include "quern/mixers/state_totals.h"

namespace quern::infer {
namespace {

constexpr double kSureEnough = 0.5;  // to be proposed, whatever it costs: who is heard again after a wait is judged

std::span<const float> row_of(const Tensor& logits, size_t i) {
  return {logits.view<const float, 2>().row(static_cast<int64_t>(i)), static_cast<size_t>(logits.dim(1))};
}

struct Drafting {  // a request whose text is read
  DraftRequest* request;
  double chance = 1;  // that all of its draft is accepted
  std::optional<TokenLogprob> sampled = {};
};

// Samples the next token of each from its row of logits; none where no token is left, or no number.
void sample_next(std::vector<Drafting>& going, const Tensor& rows) {
  parallel_dynamic(static_cast<int64_t>(going.size()), [&](int64_t i) {
    Drafting& g = going[static_cast<size_t>(i)];
    g.sampled.reset();
    try {
      g.sampled = g.request->sampler.next(row_of(rows, static_cast<size_t>(i)),
                                          g.request->tokens.size() + g.request->draft.size());
    } catch (const std::exception&) {
    }
  });
}

// Puts the sampled token into the draft, if it is worth it; whether there is to be another.
bool extend_draft(Drafting& g) {
  DraftRequest& a = *g.request;
  if (!g.sampled) return false;
  if (std::ranges::find(a.stop_ids, g.sampled->token) != a.stop_ids.end()) {
    a.ends = true;
    return false;
  }
  // The likeliest token is as certain as the model is of it; of one that chance chose, the same chance chooses among
  // the target model's.
  if (a.sampler.greedy()) g.chance *= std::exp(g.sampled->logprob);
  if (g.chance < std::min(a.token_cost, kSureEnough)) return false;
  a.draft.push_back(g.sampled->token);
  return static_cast<int64_t>(a.draft.size()) < a.max_draft;
}

}  // namespace

DraftModel::DraftModel(models::Model& model, DType kv, int64_t cache_bytes, std::function<double()> seconds)
    : model_(model),
      sites_(model.sites(kv)),
      fixed_(mixers::state_totals(sites_).fixed),
      cache_(sites_, cache_bytes),
      seconds_(std::move(seconds)) {}

int64_t DraftModel::reader_bytes(int64_t tokens) const {
  const mixers::StateTotals t = mixers::state_totals(sites_);
  return (t.fixed ? 2 : 1) * t.fixed_bytes + t.row_bytes * std::min(tokens + kMaxDraftTokens, max_positions());
}

void DraftModel::Feed::add(mixers::SequenceState& state, std::span<const int32_t> tokens) {
  ids.insert(ids.end(), tokens.begin(), tokens.end());
  states.push_back(&state);
  lengths.push_back(static_cast<int64_t>(tokens.size()));
}

// Heads may be padded to different numbers of rows: what the greater model has no row for is left out, what only it
// has is impossible.
Tensor DraftModel::logits(const Feed& feed, int64_t columns) {
  grad::Tape tape(grad::Tape::inference);
  const Tensor hidden = model_.hidden(tape, feed.ids, mixers::Batch::resume(feed.states, feed.lengths)).value;
  if (feed.wanted.empty()) return {};
  const Tensor its = select_logits(model_, tape, hidden, feed.wanted);
  if (its.dim(1) == columns) return its;
  Tensor out = Tensor::full({its.dim(0), columns}, DType::f32, -std::numeric_limits<double>::infinity());
  const int64_t common = std::min(columns, its.dim(1));
  out.narrow(1, 0, common).copy_from(its.narrow(1, 0, common));
  return out;
}

int64_t DraftModel::unread(const DraftReader& r, std::span<const int32_t> tokens) const {
  if (r.state_.sites().empty()) return std::ssize(tokens) - cache_.known(tokens);
  return std::ssize(tokens) - r.state_.length() + std::ssize(r.drafted_);
}

// One forward that stood still does not decide: the very first, which touches its weights, does not count, and what
// is new counts a quarter, and twice as much as was known at most.
void DraftModel::record_seconds(double seconds, size_t askers) {
  if (!std::exchange(warm_, true)) return;
  const double each = seconds / static_cast<double>(askers);
  seconds_each_ = seconds_each_ == 0 ? each : 0.75 * seconds_each_ + 0.25 * std::min(each, 2 * seconds_each_);
}

void DraftModel::begin(const DraftRequest& request) {
  DraftReader& r = request.reader;
  r = DraftReader();
  r.state_ = mixers::SequenceState(sites_);
  if (fixed_) r.rollback_ = mixers::SequenceState(sites_);
  r.state_.reserve(std::min(request.max_length + kMaxDraftTokens, max_positions()));
  if (cache_.budget() > 0) cache_.resume(request.tokens, static_cast<int64_t>(request.tokens.size()) - 1, r.state_);
}

// Of the guesses it was fed, those that the text now has stay; the fixed parts know no other way back than to before
// the first.
void DraftModel::settle(DraftReader& r, std::span<const int32_t> tokens) const {
  const auto certain = static_cast<size_t>(r.state_.length()) - r.drafted_.size();
  const auto said = tokens.subspan(std::min(certain, tokens.size()));
  const auto right = static_cast<size_t>(
      std::mismatch(r.drafted_.begin(), r.drafted_.end(), said.begin(), said.end()).first - r.drafted_.begin());
  if (right < r.drafted_.size()) {
    if (fixed_)
      r.state_.rewind(r.rollback_);
    else
      r.state_.truncate(static_cast<int64_t>(certain + right));
  }
  r.drafted_.clear();
}

void DraftModel::make_drafts(std::span<DraftRequest> requests, int64_t max_rows, int64_t columns) {
  try {
    prefill_and_draft(requests, max_rows, columns);
  } catch (const std::exception&) {  // states are in pieces
    for (DraftRequest& a : requests) {
      a.reader = DraftReader();
      a.reader.failed_ = true;
      a.draft.clear(), a.read = false;
    }
  }
}

// Adds what is new in the text to the pass, at most max_rows tokens of it; returns their number.
int64_t DraftModel::add_text(DraftRequest& a, int64_t max_rows, Prefill& pass) {
  DraftReader& r = a.reader;
  const auto size = static_cast<int64_t>(a.tokens.size());
  if (!r.state_.sites().empty()) settle(r, a.tokens);
  if (r.state_.sites().empty() || r.state_.length() >= size) begin(a);
  const int64_t n = std::min(size - r.state_.length(), max_rows), from = r.state_.length();
  if (n < 1) return 0;
  const auto text = a.tokens.subspan(static_cast<size_t>(from), static_cast<size_t>(n));
  if (std::ranges::any_of(text, [&](int32_t t) { return t >= model_.vocab_size(); })) {
    r = DraftReader();
    r.failed_ = true;  // there is a token that it has no row for
    return 0;
  }
  a.read = from + n == size;
  pass.timed = pass.timed && n <= kMaxDraftTokens + 1;
  pass.feed.add(r.state_, text);
  if (a.read) pass.feed.want_last(), pass.read.push_back(&a);
  return n;
}

DraftModel::Prefill DraftModel::plan_prefill(std::span<DraftRequest> requests, int64_t max_rows) {
  std::vector<DraftRequest*> order;  // who has least to read is first: a long text does not keep the others waiting
  for (DraftRequest& a : requests)
    if (!a.reader.failed_) order.push_back(&a);
  std::ranges::stable_sort(order, {}, [&](const DraftRequest* a) { return unread(a->reader, a->tokens); });
  Prefill pass;
  for (DraftRequest* a : order) max_rows -= add_text(*a, max_rows, pass);
  return pass;
}

void DraftModel::prefill_and_draft(std::span<DraftRequest> requests, int64_t max_rows, int64_t columns) {
  const Prefill prefill = plan_prefill(requests, max_rows);
  if (prefill.feed.ids.empty()) return;
  double begun = seconds_();
  size_t fed = prefill.feed.states.size();
  bool timed = prefill.timed;
  Tensor rows = logits(prefill.feed, columns);
  std::vector<Drafting> going;
  for (DraftRequest* a : prefill.read) {
    going.push_back({a});
    if (fixed_) a->reader.state_.mark(a->reader.rollback_);
  }
  while (!going.empty()) {
    sample_next(going, rows);
    if (timed) record_seconds(seconds_() - begun, fed);
    std::erase_if(going, [](Drafting& g) { return !extend_draft(g); });
    if (going.empty()) break;
    Feed feed;
    for (const Drafting& g : going) {
      DraftReader& r = g.request->reader;
      r.drafted_.push_back(g.sampled->token);
      feed.add(r.state_, std::span(r.drafted_).last(1));
      feed.want_last();
    }
    begun = seconds_(), fed = feed.states.size(), timed = true;
    rows = logits(feed, columns);
  }
}

void DraftModel::remember(DraftReader& r, std::span<const int32_t> tokens) {
  if (r.state_.sites().empty()) return;
  settle(r, tokens);
  try {
    if (cache_.budget() > 0 && r.state_.length() > 0)
      cache_.store(tokens.first(static_cast<size_t>(r.state_.length())), r.state_, SnapshotKind::turn_end);
  } catch (const std::bad_alloc&) {
    cache_.clear();
  }
  r = DraftReader();
}

}  // namespace quern::infer
