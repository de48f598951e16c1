#include "quern/measure/collectives.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "quern/base/stopwatch.h"
#include "quern/host/bench.h"
#include "quern/measure/collective_call.h"

namespace quern::measure {
namespace {

constexpr const char* kNames[] = {"all-reduce",   "butterfly",        "reduce-scatter", "all-gather",
                                  "broadcast",    "all-to-all",       "message",        "shift",
                                  "all-reduce-2", "reduce-scatter-2", "all-gather-2"};

double slowest(comm::Communicator& c, double seconds) { return c.all_reduce(seconds, comm::ReduceOp::max); }

double time_calls(comm::Communicator& c, CollectiveCall& call, int64_t calls) {
  c.barrier();
  const Stopwatch watch;
  for (int64_t i = 0; i < calls; ++i) call.run();
  return slowest(c, watch.seconds() / static_cast<double>(calls * CollectiveCall::ways(call.what())));
}

}  // namespace

std::string_view collective_name(Collective c) { return kNames[static_cast<size_t>(c)]; }

Collective parse_collective(std::string_view name) {
  for (size_t i = 0; i < std::size(kNames); ++i)
    if (name == kNames[i]) return static_cast<Collective>(i);
  fail("operation '{}': expected one of {}", name, fmt::join(kNames, ", "));
}

double bus_share(Collective c, int ranks) {
  const double n = ranks, part = (n - 1) / n;
  switch (c) {
    case Collective::all_reduce:
    case Collective::all_reduce_butterfly:
    case Collective::all_reduce_two_level:
      return 2 * part;
    case Collective::reduce_scatter:
    case Collective::all_gather:
    case Collective::all_to_all:
    case Collective::reduce_scatter_two_level:
    case Collective::all_gather_two_level:
      return part;
    default:
      return 1;
  }
}

// A busy machine or few sizes: times that do not grow say nothing of a bandwidth but that it is not less than this.
void CollectiveCurve::fit_to_times() {
  fit = fit_link(times);
  bandwidth_seen = std::isfinite(fit.link.bytes_per_s);
  if (bandwidth_seen) return;
  fit.link.bytes_per_s = 0;
  for (const TransferTime& t : times) fit.link.bytes_per_s = std::max(fit.link.bytes_per_s, t.bytes / t.seconds);
}

double CollectiveCurve::saturated_from() const {
  double best = 0;
  for (const TransferTime& t : times) best = std::max(best, bus_gbs(t));
  for (const TransferTime& t : times)
    if (bus_gbs(t) >= 0.95 * best) return t.bytes;
  return 0;
}

CollectiveCurve time_collective(comm::Communicator& c, Collective what, const CollectiveOptions& o) {
  CollectiveCurve curve{.what = what, .ranks = c.size()};
  if (c.size() == 1) return curve;
  std::optional<comm::TwoLevels> levels;
  if (std::ranges::find(kTwoLevelCollectives, what) != std::end(kTwoLevelCollectives)) levels.emplace(c, o.node_of);
  for (int64_t bytes = o.min_bytes; bytes <= o.max_bytes; bytes *= 2) {
    CollectiveCall call(c, what, bytes, levels ? &*levels : nullptr);
    call.run();
    const double once = time_calls(c, call, 1);  // the same on every rank, and so is the number of calls
    const auto calls = static_cast<int64_t>(std::clamp(std::ceil(o.seconds / once), 2.0, 1000.0));
    std::vector<double> seconds;
    for (int64_t r = 0; r < o.reps; ++r) seconds.push_back(time_calls(c, call, calls));
    curve.times.push_back({static_cast<double>(bytes), host::median(std::move(seconds))});
  }
  curve.fit_to_times();
  if (o.done) o.done(curve);
  return curve;
}

double two_levels_from(const CollectiveCurve& one, const CollectiveCurve& two) {
  QUERN_CHECK(one.times.size() == two.times.size());
  double from = 0;
  for (size_t i = one.times.size(); i-- > 0 && two.times[i].seconds <= one.times[i].seconds;)
    from = two.times[i].bytes;
  return from;
}

double Overlap::ratio() const { return both_s / std::max(transfer_s, compute_s); }
double Overlap::hidden() const {
  return std::clamp((transfer_s + compute_s - both_s) / std::min(transfer_s, compute_s), 0.0, 1.0);
}

namespace {

// Multiplies and adds in registers; a slice takes some microseconds.
struct Computation {
  static constexpr int64_t kTurns = 2000;
  float x[64] = {};
  void slice() {
    for (int64_t turn = 0; turn < kTurns; ++turn)
      for (float& v : x) v = v * 0.999f + 0.5f;
    asm volatile("" : : "r"(x) : "memory");  // or nothing would be left of it
  }
};

double compute(Computation& work, int64_t slices, comm::Transfer* beside) {
  const Stopwatch watch;
  for (int64_t i = 0; i < slices; ++i) {
    work.slice();
    if (beside) beside->test();
  }
  return watch.seconds();
}

}  // namespace

Overlap measure_overlap(comm::Communicator& c, Collective what, int64_t bytes, int64_t reps) {
  Overlap o{.what = what, .bytes = static_cast<double>(bytes)};
  if (c.size() == 1) return o;
  CollectiveCall call(c, what, bytes);
  Computation work;
  call.run();
  compute(work, 10, nullptr);
  std::vector<double> transfers, slice_times, computations, both;
  for (int64_t r = 0; r < reps; ++r) {
    transfers.push_back(time_calls(c, call, 1));
    slice_times.push_back(slowest(c, compute(work, 100, nullptr) / 100));
  }
  const double slice = host::median(std::move(slice_times));
  const int64_t slices = std::max<int64_t>(1, std::llround(host::median(transfers) / slice));
  for (int64_t r = 0; r < reps; ++r) {
    c.barrier();
    computations.push_back(slowest(c, compute(work, slices, nullptr)));
    c.barrier();
    const Stopwatch watch;
    comm::Transfer t = call.start();
    compute(work, slices, &t);
    t.wait();
    both.push_back(slowest(c, watch.seconds()));
  }
  o.transfer_s = host::median(std::move(transfers)), o.compute_s = host::median(std::move(computations));
  o.both_s = host::median(std::move(both));
  return o;
}

}  // namespace quern::measure
