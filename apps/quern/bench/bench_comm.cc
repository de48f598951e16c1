// quern bench comm: measures on every rank, reports on the first. What the ranks of a node and the nodes give to a
// training run goes into a machine file.
#include "apps/quern/bench/bench_comm.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "apps/quern/bench/machine_file.h"
#include "apps/quern/cli/args.h"
#include "quern/comm/in_process.h"
#include "quern/comm/mpi.h"
#include "quern/comm/two_level.h"
#include "quern/host/host.h"
#include "quern/measure/collectives.h"
#include "quern/measure/units.h"

namespace quern::cli {
namespace {

using measure::Collective;
using measure::CollectiveCurve;
using measure::CollectiveOptions;
using measure::Overlap;

struct Measured {
  int ranks = 0;
  std::vector<CollectiveCurve> curves;
  std::vector<Overlap> overlaps;

  const CollectiveCurve* of(Collective c) const {
    for (const CollectiveCurve& curve : curves)
      if (curve.what == c) return &curve;
    return nullptr;
  }
  // Bandwidth of a rank while all send at once, as a share of a lone message's; 0: not measured.
  double contention() const {
    const CollectiveCurve *alone = of(Collective::message), *together = of(Collective::shift);
    return alone && together ? together->bus_gbs() / alone->bus_gbs() : 0;
  }
  // Bytes from which on a collective in two levels takes no longer than in one; none: not both were measured.
  std::optional<double> two_levels_from(Collective one, Collective two) const {
    const CollectiveCurve *a = of(one), *b = of(two);
    if (!a || !b) return {};
    return measure::two_levels_from(*a, *b);
  }
  // Elements of a bucket of gradients that saturates its reduction; 0: not measured.
  int64_t bucket() const {
    const CollectiveCurve* c = of(Collective::reduce_scatter);
    if (!c) c = of(Collective::all_reduce);
    return c ? static_cast<int64_t>(c->fit.saturation_bytes() / 4) : 0;
  }
};

// The same collective in one level and in two.
constexpr std::pair<Collective, Collective> kLevels[] = {
    {Collective::all_reduce, Collective::all_reduce_two_level},
    {Collective::reduce_scatter, Collective::reduce_scatter_two_level},
    {Collective::all_gather, Collective::all_gather_two_level}};

std::vector<Collective> named(const CommBenchOptions& o) {
  std::vector<Collective> all;
  for (const std::string& name : o.operations) all.push_back(measure::parse_collective(name));
  return all;
}

bool two_levels(std::span<const int> host_of) {  // several hosts with as many ranks on each, and more than one
  std::map<int, int> ranks;
  for (const int host : host_of) ++ranks[host];
  const int each = ranks.begin()->second;
  return ranks.size() > 1 && each > 1 &&
         std::ranges::all_of(ranks, [each](const auto& host) { return host.second == each; });
}

// Those that are named, or all that these hosts allow.
std::vector<Collective> wanted(const CommBenchOptions& o, std::span<const int> host_of) {
  std::vector<Collective> all = named(o);
  const auto in_two = [](Collective c) {
    return std::ranges::find(measure::kTwoLevelCollectives, c) != std::end(measure::kTwoLevelCollectives);
  };
  if (!two_levels(host_of) && std::ranges::any_of(all, in_two))
    fail(
        "collectives in two levels need several hosts, with as many ranks on each and more than one; start some with "
        "mpirun --host");
  if (!all.empty()) return all;
  all.assign(std::begin(measure::kCollectives), std::end(measure::kCollectives));
  if (two_levels(host_of))
    all.insert(all.end(), std::begin(measure::kTwoLevelCollectives), std::end(measure::kTwoLevelCollectives));
  return all;
}

CollectiveOptions sweep(const CommBenchOptions& o, const comm::Communicator& c, std::vector<int> host_of) {
  CollectiveOptions s{.max_bytes = o.max_mib << 20, .reps = o.reps, .node_of = std::move(host_of)};
  if (c.rank() == 0)
    s.done = [](const CollectiveCurve& curve) {
      fmt::print(stderr, "{} ranks, {}: {:.1f} us, {:.3g} GB/s\n", curve.ranks, measure::collective_name(curve.what),
                 curve.fit.link.latency_s * 1e6, curve.bus_gbs());
    };
  return s;
}

Measured measured(comm::Communicator& c, const CommBenchOptions& o) {
  Measured m{.ranks = c.size(), .curves = {}, .overlaps = {}};
  constexpr int64_t kOverlapBytes = int64_t{16} << 20;  // a bucket of gradients
  const std::vector<int> host_of = comm::host_numbers(c);
  const std::vector<Collective> all = wanted(o, host_of);
  for (const Collective what : all) m.curves.push_back(time_collective(c, what, sweep(o, c, host_of)));
  for (const Collective what : all)
    if (what == Collective::reduce_scatter || what == Collective::all_gather || what == Collective::all_to_all)
      m.overlaps.push_back(measure_overlap(c, what, std::min(o.max_mib << 20, kOverlapBytes), o.reps));
  return m;
}

// What a plan reads, from all-reduce: that of all ranks where they are all on one host or on a host each; else among the
// ranks of every host at once, then among those of equal place in every host at once, so that each has the share of the
// network that is left to it.
void measure_machine(comm::Communicator& c, const CommBenchOptions& o, const CollectiveCurve& of_all) {
  comm::TwoLevels levels(c, comm::host_numbers(c));
  CollectiveCurve link, network;
  if (!of_all.times.empty() && !levels.two()) {
    (levels.nodes() == 1 ? link : network) = of_all;
  } else {
    const CollectiveOptions s{.max_bytes = o.max_mib << 20, .reps = o.reps};
    link = time_collective(levels.of_node(), Collective::all_reduce, s);
    network = time_collective(levels.of_place(), Collective::all_reduce, s);
  }
  if (c.rank() != 0) return;
  plan::Machine m = read_own_machine(o.machine);
  m.nodes = levels.nodes();
  plan::divide_node(m, levels.ranks_of_node());
  m.link_gbs = m.link_us = m.network_gbs = m.network_us = 0;
  if (!link.times.empty()) m.link_gbs = link.bus_gbs(), m.link_us = 1e6 * link.fit.link.latency_s;
  if (!network.times.empty()) m.network_gbs = network.bus_gbs(), m.network_us = 1e6 * network.fit.link.latency_s;
  plan::write_machine(o.machine, m);
}

Json to_json(const CollectiveCurve& c) {
  Json j = Json::object(), points = Json::array();
  j.set("latency_us", 1e6 * c.fit.link.latency_s), j.set("algbw_gbs", 1e-9 * c.fit.link.bytes_per_s);
  j.set("busbw_gbs", c.bus_gbs()), j.set("bandwidth_is_lower_bound", !c.bandwidth_seen);
  j.set("deviation", c.fit.deviation);
  j.set("saturation_bytes", c.fit.saturation_bytes()), j.set("saturated_from_bytes", c.saturated_from());
  for (const measure::TransferTime& t : c.times) {
    Json p = Json::object();
    p.set("bytes", static_cast<int64_t>(t.bytes)), p.set("seconds", t.seconds);
    p.set("algbw_gbs", t.bytes / t.seconds * 1e-9), p.set("busbw_gbs", c.bus_gbs(t));
    points.push(std::move(p));
  }
  j.set("points", std::move(points));
  return j;
}

Json to_json(const Measured& m) {
  Json j = Json::object(), operations = Json::object(), overlaps = Json::object();
  j.set("ranks", m.ranks);
  for (const CollectiveCurve& c : m.curves) operations.set(measure::collective_name(c.what), to_json(c));
  for (const Overlap& o : m.overlaps) {
    Json one = Json::object();
    one.set("bytes", o.bytes), one.set("transfer_s", o.transfer_s), one.set("compute_s", o.compute_s);
    one.set("both_s", o.both_s), one.set("both_over_longer", o.ratio()), one.set("hidden", o.hidden());
    overlaps.set(measure::collective_name(o.what), std::move(one));
  }
  j.set("operations", std::move(operations)), j.set("overlap", std::move(overlaps));
  if (m.contention() > 0) j.set("all_sending_over_one", m.contention());
  if (m.bucket() > 0) j.set("bucket_elements", m.bucket());
  Json from = Json::object();
  for (const auto& [one, two] : kLevels)
    if (const auto bytes = m.two_levels_from(one, two))
      from.set(measure::collective_name(one), static_cast<int64_t>(*bytes));
  if (!from.as_object().empty()) j.set("two_levels_from_bytes", std::move(from));
  return j;
}

// Every second size and the last; --json has all.
void print_sizes(const Measured& m, const std::string& title,
                 const std::function<std::string(const CollectiveCurve&, const measure::TransferTime&)>& cell) {
  fmt::print("{}\n{:>10}", title, "size");
  for (const CollectiveCurve& c : m.curves) fmt::print("{:>18}", measure::collective_name(c.what));
  fmt::print("\n");
  const size_t sizes = m.curves[0].times.size();
  for (size_t i = 0; i < sizes; i += i + 2 == sizes ? 1 : 2) {
    fmt::print("{:>10}", measure::size_text(m.curves[0].times[i].bytes));
    for (const CollectiveCurve& c : m.curves) fmt::print("{:>18}", cell(c, c.times[i]));
    fmt::print("\n");
  }
  fmt::print("\n");
}

void print(const Measured& m) {
  if (m.ranks == 1) return fmt::print("1 rank: nothing to send\n");
  print_sizes(m, fmt::format("{} ranks: time of a call", m.ranks),
              [](const CollectiveCurve&, const measure::TransferTime& t) { return measure::time_text(t.seconds); });
  print_sizes(m, "bus bandwidth, GB/s: what a rank must send at least, a second",
              [](const CollectiveCurve& c, const measure::TransferTime& t) {
                return fmt::format("{:.{}f}", c.bus_gbs(t), c.bus_gbs(t) < 10 ? 3 : 1);
              });
  fmt::print("fitted: time = latency + size / bandwidth\n{:<18}{:>12}{:>14}{:>14}{:>14}{:>12}\n", "", "latency",
             "algbw, GB/s", "busbw, GB/s", "95 % from", "deviation");
  for (const CollectiveCurve& c : m.curves)
    fmt::print("{:<18}{:>12}{:>14.4g}{:>14.4g}{:>14}{:>10.0f} %{}\n", measure::collective_name(c.what),
               measure::time_text(c.fit.link.latency_s), c.fit.link.bytes_per_s * 1e-9, c.bus_gbs(),
               measure::size_text(c.fit.saturation_bytes()), 100 * c.fit.deviation,
               c.bandwidth_seen ? "" : "  no time grew with its size: at least this bandwidth");
  if (!m.overlaps.empty())
    fmt::print("\noverlap with compute {:<8}{:>12}{:>12}{:>12}{:>20}{:>9}\n", "", "transfer", "compute", "both",
               "both / the longer", "hidden");
  for (const Overlap& o : m.overlaps)
    fmt::print("{:<28}{:>12}{:>12}{:>12}{:>20.2f}{:>7.0f} %\n",
               fmt::format("{} {}", measure::collective_name(o.what), measure::size_text(o.bytes)),
               measure::time_text(o.transfer_s), measure::time_text(o.compute_s), measure::time_text(o.both_s),
               o.ratio(), 100 * o.hidden());
  fmt::print("\n");
  if (m.contention() > 0)
    fmt::print("all ranks sending at once: {:.2f} of a lone message's bandwidth each\n", m.contention());
  if (m.bucket() > 0)
    fmt::print("buckets of gradients that reach 95 % of the bandwidth: parallel.bucket = {}\n", m.bucket());
  for (const auto& [one, two] : kLevels) {
    const auto bytes = m.two_levels_from(one, two);
    if (!bytes) continue;
    const auto name = measure::collective_name(one);
    if (*bytes == 0)
      fmt::print("{}: one level is faster than two at the largest size\n", name);
    else if (one == Collective::all_reduce)
      fmt::print("{}: two levels are faster from {} on: parallel.two_level_from = {:.0f}\n", name,
                 measure::size_text(*bytes), *bytes);
    else
      fmt::print("{}: two levels are faster from {} on\n", name, measure::size_text(*bytes));
  }
}

void run(comm::Communicator& world, const CommBenchOptions& o) {
  if (world.rank() == 0 && !o.machine.empty()) read_own_machine(o.machine);  // before anything takes time
  std::vector<int64_t> counts = o.ranks;
  if (counts.empty()) counts = {world.size()};
  Json list = Json::array();
  CollectiveCurve of_all;
  const int hosts = 1 + std::ranges::max(comm::host_numbers(world));
  if (world.rank() == 0 && !o.json)
    fmt::print("{}, {}\n\n", host::host_info().cpu,
               comm::under_mpi() ? fmt::format("MPI processes on {} host{}", hosts, hosts > 1 ? "s" : "")
                                 : "threads of one process");
  for (const int64_t n : counts) {
    if (n > world.size()) fail("--ranks {}: mpirun started {}", n, world.size());
    const std::unique_ptr<comm::Communicator> some = world.split(world.rank() < n ? 0 : -1, world.rank());
    if (some) {
      const Measured m = measured(*some, o);
      if (const CollectiveCurve* reduce = m.of(Collective::all_reduce); reduce && n == world.size()) of_all = *reduce;
      if (world.rank() == 0) o.json ? list.push(to_json(m)) : print(m);
    }
    world.barrier();
  }
  if (!o.machine.empty()) measure_machine(world, o, of_all);
  if (world.rank() != 0 || !o.json) return;
  Json all = Json::object();
  all.set("cpu", host::host_info().cpu), all.set("hosts", int64_t{hosts});
  all.set("kind", comm::under_mpi() ? "MPI processes" : "threads of one process");
  all.set("ranks", std::move(list));
  fmt::print("{}\n", all.dump(2));
}

}  // namespace

int bench_comm(const CommBenchOptions& o) {
  if (o.max_mib < 1 || o.max_mib > 1024)
    throw UsageError(fmt::format("quern bench comm: --max-mib {}: expected 1 to 1024", o.max_mib));
  named(o);  // refuses names it does not know before anything starts
  const auto work = [&](comm::Communicator& c) { run(c, o); };
  if (comm::under_mpi()) {
    comm::run_mpi(work);
    return 0;
  }
  CommBenchOptions all = o;
  if (all.ranks.empty()) all.ranks = {2};
  comm::run_ranks(static_cast<int>(*std::max_element(all.ranks.begin(), all.ranks.end())),
                  [&](comm::Communicator& c) { run(c, all); });
  return 0;
}

}  // namespace quern::cli
