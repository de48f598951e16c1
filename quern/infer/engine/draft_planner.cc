// Prompt lookup first, since it costs nothing; then one batch of the draft model for the sequences it found nothing for.
#include "quern/infer/engine/draft_planner.h"

#include <algorithm>
#include <utility>

#include "quern/mixers/state_totals.h"

namespace quern::infer {
namespace {

constexpr double kWorthPrefilling = 64;  // tokens a draft model may have to read for each that it may guess right
constexpr double kDraftCost = 0.25;      // of a token of the draft model, until both models' times are known

bool may_draft(const StepSegment& g) {
  const Sequence& s = *g.sequence;
  return s.ahead && !s.alone && g.ends() && !s.out.tokens.empty() && s.out.tokens.size() >= s.r.options.forced.size();
}

}  // namespace

int64_t draft_cache_bytes(int64_t cache_bytes, const std::vector<mixers::StateSite>& model,
                          const std::vector<mixers::StateSite>& draft) {
  constexpr int64_t kContext = 1024;
  const auto weight = [&](const std::vector<mixers::StateSite>& sites) {
    const mixers::StateTotals t = mixers::state_totals(sites);
    return static_cast<double>(t.fixed_bytes + kContext * t.row_bytes);
  };
  const double its = weight(draft), share = its / (its + weight(model));
  return static_cast<int64_t>(share * static_cast<double>(cache_bytes));
}

DraftPlanner::DraftPlanner(DraftPlannerOptions options, std::unique_ptr<DraftModel> draft)
    : o_(std::move(options)), draft_(std::move(draft)) {}

void DraftPlanner::start(Sequence& s) const {
  const SpeculationOptions g = s.speculation();
  if (g.on()) s.ahead.emplace(o_.sites, g, draft_policy_);
}

void DraftPlanner::make_drafts(std::span<const StepSegment> segments) {
  int64_t rows = 0;  // of sequences that decode: a step of them is what an accepted token saves
  for (const StepSegment& g : segments)
    if (g.sequence->answering()) rows += g.rows;
  std::vector<DraftRequest> requests;
  std::vector<Sequence*> askers;
  for (const StepSegment& g : segments) {
    if (!may_draft(g)) continue;
    Sequence& s = *g.sequence;
    // A step gives one token more than was right.
    const auto size = static_cast<int64_t>(s.tokens.size()), room = s.max_length - size - 1;
    const double row_cost = cost_after(rows);
    s.ahead->make_draft(s.tokens, g.rows, room, row_cost);
    rows += g.drafted();
    if (!s.ahead->may_use_model() || !worth_prefilling(s, room)) continue;
    const double each = row_cost + draft_model_cost(rows);
    const int64_t maximum = s.ahead->draft_length(g.rows, std::min(room, draft_->max_positions() - size), each);
    if (maximum < 1) continue;
    askers.push_back(&s), rows += maximum;
    requests.push_back({.reader = s.ahead->reader(),
                        .tokens = s.tokens,
                        .sampler = s.sampler,
                        .stop_ids = s.r.options.stop_ids,
                        .max_draft = maximum,
                        .max_length = s.max_length,
                        .token_cost = each});
  }
  if (requests.empty()) return;
  draft_->make_drafts(requests, o_.chunk, o_.vocab_size);
  for (size_t i = 0; i < requests.size(); ++i) askers[i]->ahead->propose(requests[i]);
}

void DraftPlanner::finish(Sequence& s) {
  if (!s.ahead || !draft_) return;
  draft_->remember(s.ahead->reader(), s.tokens);
  if (!o_.deterministic && s.ahead->model_was_used()) draft_policy_ = s.ahead->model_policy().for_another();
}

double DraftPlanner::cost_after(int64_t rows) const {
  return o_.deterministic ? BatchCostModel::kDefault : cost_model_.one_more_than(rows);
}

double DraftPlanner::draft_model_cost(int64_t rows) const {
  const double step = cost_model_.seconds(rows), each = draft_->seconds_each();
  return o_.deterministic || step <= 0 || each <= 0 ? kDraftCost : each / step;
}

bool DraftPlanner::worth_prefilling(Sequence& s, int64_t room) const {
  const double right = static_cast<double>(room) * s.ahead->model_policy().chance();
  return static_cast<double>(draft_->unread(s.ahead->reader(), s.tokens)) <= kWorthPrefilling * right;
}

}  // namespace quern::infer
