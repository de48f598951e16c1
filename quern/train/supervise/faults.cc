#include "quern/train/supervise/faults.h"

#include <fmt/ranges.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace quern::train {
namespace {

// A watcher that was itself stopped knows nothing of the time between.
constexpr double kBlind = 1.0;

int64_t furthest(const std::vector<RankState>& ranks) {
  int64_t step = 0;
  for (const RankState& r : ranks) step = std::max(step, r.step);
  return step;
}

bool says_disk_full(const std::string& text) {
  for (int e : {ENOSPC, EDQUOT, EFBIG})
    if (text.find(std::strerror(e)) != text.npos) return true;
  return false;
}

std::string how_it_ended(int status) {
  if (WIFSIGNALED(status)) return fmt::format("by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
  return fmt::format("with code {}", WEXITSTATUS(status));
}

std::string name_of(const std::vector<int>& ranks) {
  return fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks", fmt::join(ranks, ", "));
}

double median_of_others(const std::vector<RankState>& ranks, size_t but) {
  std::vector<double> v;
  for (size_t i = 0; i < ranks.size(); ++i)
    if (i != but) v.push_back(ranks[i].busy_s);
  const auto middle = v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2);
  std::nth_element(v.begin(), middle, v.end());
  return *middle;
}

}  // namespace

const char* fault_name(Fault f) {
  constexpr std::array kNames = {"killed", "hung", "slow", "damaged", "disk_full", "bad_numbers", "failed"};
  return kNames[static_cast<size_t>(f)];
}

double RankWatch::limit(Section s) const {
  switch (s) {
    case Section::setup:
      return policy_.setup_s;
    case Section::checkpoint:
      return policy_.checkpoint_s;
    case Section::evaluate:
      return policy_.evaluate_s;
    default:
      return policy_.step_s;
  }
}

std::optional<Finding> RankWatch::look(const std::vector<RankState>& ranks, double now) {
  const bool blind = last_look_ >= 0 && now - last_look_ > kBlind;
  last_look_ = now;
  for (const RankState& r : ranks) {
    Seen& s = seen_[r.rank];
    if (s.pulse != r.pulse || blind) s.pulse = r.pulse, s.pulse_at = now;
    if (s.sequence != r.sequence || blind) s.sequence = r.sequence, s.sequence_at = now;
  }
  if (std::optional<Finding> f = hung(ranks, now)) return f;
  return slow(ranks);
}

std::optional<Finding> RankWatch::hung(const std::vector<RankState>& ranks, double now) const {
  Finding f{Fault::hung, {}, furthest(ranks), {}};
  double longest = 0;
  for (const RankState& r : ranks)
    if (const double quiet = now - seen_.at(r.rank).pulse_at;
        r.end == RankEnd::running && quiet > policy_.heartbeat_s)
      f.ranks.push_back(r.rank), longest = std::max(longest, quiet);
  if (!f.ranks.empty()) {
    f.text = fmt::format("{} gave no sign of life for {:.1f} s", name_of(f.ranks), longest);
    return f;
  }
  const auto behind = std::min_element(
      ranks.begin(), ranks.end(), [](const RankState& a, const RankState& b) { return a.sequence < b.sequence; });
  if (behind == ranks.end() || behind->end != RankEnd::running) return std::nullopt;
  const double there = now - seen_.at(behind->rank).sequence_at;
  if (there <= limit(behind->section)) return std::nullopt;
  for (const RankState& r : ranks)
    if (r.sequence == behind->sequence) f.ranks.push_back(r.rank);
  f.text = fmt::format("{} {} been in section {} for {:.1f} s (limit {:.1f} s){}", name_of(f.ranks),
                       f.ranks.size() == 1 ? "has" : "have", section_name(behind->section), there,
                       limit(behind->section), f.ranks.size() < ranks.size() ? "; the others wait" : "");
  return f;
}

std::optional<Finding> RankWatch::slow(const std::vector<RankState>& ranks) {
  if (ranks.size() < 2) return std::nullopt;
  int64_t step = ranks[0].step;
  for (const RankState& r : ranks) step = std::min(step, r.step);
  if (step <= compared_) return std::nullopt;
  compared_ = step;
  for (size_t i = 0; i < ranks.size(); ++i) {
    Seen& s = seen_[ranks[i].rank];
    const double others = median_of_others(ranks, i);
    s.slow_steps = others < policy_.slow_share * ranks[i].busy_s ? s.slow_steps + 1 : 0;
    if (s.slow_steps < policy_.slow_steps || s.told) continue;
    s.told = true;
    return Finding{Fault::slow,
                   {ranks[i].rank},
                   step,
                   fmt::format("rank {} worked {:.3f} s at this step, the others {:.3f} s; so {} times in a row",
                               ranks[i].rank, ranks[i].busy_s, others, s.slow_steps)};
  }
  return std::nullopt;
}

void RankWatch::look_for_processes(const std::vector<int>& there) {
  if (!gone_first_.empty()) return;
  for (const int rank : there_)
    if (std::find(there.begin(), there.end(), rank) == there.end()) gone_first_.push_back(rank);
  there_ = there;
}

double RankWatch::quiet_s(double now) const {
  double last = -1;
  for (const auto& [rank, s] : seen_) last = std::max(last, std::max(s.pulse_at, s.sequence_at));
  return last < 0 ? 0 : now - last;
}

Finding classify_exit(const std::vector<RankState>& ranks, int status, const std::vector<int>& gone_first) {
  Finding f{Fault::failed, {}, furthest(ranks), {}};
  if (ranks.empty()) {
    f.text = fmt::format("it ended {} before any rank had begun", how_it_ended(status));
    return f;
  }
  const RankState* said = nullptr;
  std::vector<int> silent, silent_first;
  bool first_said = false;
  for (const RankState& r : ranks) {
    const bool first = std::find(gone_first.begin(), gone_first.end(), r.rank) != gone_first.end();
    if (r.end == RankEnd::running) (first ? silent_first : silent).push_back(r.rank);
    first_said |= first && r.end == RankEnd::failed;
    if (r.end == RankEnd::failed && (!said || (r.bad_numbers && !said->bad_numbers))) said = &r;
  }
  if (!silent_first.empty() || first_said) silent = silent_first;
  if (said && (said->bad_numbers || says_disk_full(said->text))) {
    f.fault = said->bad_numbers ? Fault::bad_numbers : Fault::disk_full;
    f.ranks = {said->rank}, f.text = said->text;
    return f;
  }
  if (!silent.empty()) {
    f.fault = Fault::killed, f.ranks = silent;
    const auto first =
        std::find_if(ranks.begin(), ranks.end(), [&](const RankState& r) { return r.rank == silent[0]; });
    f.text = fmt::format("{} ended without a word in section {}; the process ended {}", name_of(silent),
                         section_name(first->section), how_it_ended(status));
    return f;
  }
  if (said)
    f.ranks = {said->rank}, f.text = said->text;
  else
    f.text = fmt::format("all ranks were asked to end; the process ended {}", how_it_ended(status));
  return f;
}

}  // namespace quern::train
