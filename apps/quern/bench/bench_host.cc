// quern bench host: the peaks, or the whole report; and the machine file of quern plan.
#include "apps/quern/bench/bench_host.h"

#include <algorithm>

#include "apps/quern/bench/machine_file.h"
#include "apps/quern/cli/args.h"
#include "quern/base/mmap.h"
#include "quern/host/bench.h"
#include "quern/host/host.h"
#include "quern/measure/host_report.h"

namespace quern::cli {
namespace {

using measure::HostReport;

std::vector<std::pair<std::string, double>> peaks(int64_t reps) {
  std::vector<std::pair<std::string, double>> all;
  for (host::Bound b : {host::Bound::f32_flops, host::Bound::bf16_flops, host::Bound::int8_ops, host::Bound::read,
                        host::Bound::write, host::Bound::copy}) {
    std::vector<double> v;
    for (int64_t i = 0; i < reps; ++i) v.push_back(host::measure(b));
    all.emplace_back(host::bound_name(b), host::median(v));
  }
  return all;
}

int quick(const HostBenchOptions& o) {
  Json info = host::to_json(host::host_info()), peak = Json::object();
  const auto measured = peaks(o.reps);
  for (const auto& [name, rate] : measured) peak.set(name, rate);
  const double wakeup = host::wakeup_ns();
  const host::ProductRatesReport rates = host::product_rates();
  if (o.json) {
    info.set("peaks", std::move(peak));
    Json one = Json::object();
    for (const auto& [name, rate] : rates.rates) one.set(name, rate);
    info.set("one_thread", std::move(one));
    info.set("handoff_ns", wakeup);
    fmt::print("{}\n", info.dump(2));
    return 0;
  }
  for (const auto& [key, value] : info.as_object())
    fmt::print("{:<16} {}\n", key, value.is_string() ? value.as_string() : value.dump());
  for (const auto& [key, value] : peak.as_object())
    fmt::print("{:<16} {:.1f} {}\n", key, value.as_double(), measure::peak_unit(key));
  for (const auto& [name, rate] : rates.rates) fmt::print("{:<16} {:.1f} GOP/s in one thread\n", name, rate);
  if (!rates.warning.empty()) fmt::print("warning: {}\n", rates.warning);
  if (wakeup > 0) fmt::print("{:<16} {:.0f} ns there and back\n", "thread wake-up", wakeup);
  return 0;
}

HostReport whole(const HostBenchOptions& o) {
  const auto wants = [&](const char* section) {
    if (!o.only.empty() && std::find(o.only.begin(), o.only.end(), section) == o.only.end()) return false;
    fmt::print(stderr, "measuring {} …\n", section);
    return true;
  };
  HostReport r;
  r.info = host::host_info();
  r.peaks = peaks(o.reps), r.wakeup_ns = host::wakeup_ns();
  if (wants("memory")) r.memory = measure::sweep_memory({});
  if (wants("products")) r.products = measure::sweep_products({});
  if (wants("operations")) {
    host::Bench bench({.only = {"attention", "norm", "softmax", "rope", "activation", "embedding"},
                       .reps = static_cast<int>(std::min<int64_t>(o.reps, 3)),
                       .progress = false});
    host::run_all_benches(bench);
    r.operations.assign(bench.rows().begin(), bench.rows().end());
  }
  if (wants("storage")) r.storage = measure::measure_storage({.folder = o.storage});
  return r;
}

void check_sections(const std::vector<std::string>& only) {
  for (const std::string& section : only)
    if (section != "memory" && section != "products" && section != "operations" && section != "storage")
      throw UsageError(
          fmt::format("quern bench host: --only {}: expected memory, products, operations or storage", section));
}

// Products as large as those of a model; memory as it is read; storage as training and checkpoints use it.
void write_plan_file(const HostBenchOptions& o) {
  plan::Machine m = own_machine(o.machine);
  const int64_t devices = m.devices;
  plan::divide_node(m, 1);
  std::vector<double> reads;
  for (int64_t i = 0; i < std::min<int64_t>(o.reps, 5); ++i) reads.push_back(host::measure(host::Bound::read));
  m.memory_gbs = host::median(std::move(reads));
  m.memory_gib = static_cast<double>(host::host_info().memory_bytes) / (1024.0 * 1024 * 1024);
  const auto products = measure::sweep_products({.formats = {"bf16"}, .m = {2048}, .n = {2048}, .k = {2048}});
  m.product_tflops = products[0].times[0].gflops() * 1e-3;
  const measure::StorageRates storage = measure::measure_storage({.folder = o.storage});
  m.storage_gbs = std::min(storage.read_gbs, storage.write_gbs), m.storage_iops = storage.random_iops_all;
  plan::divide_node(m, devices);
  plan::write_machine(o.machine, m);
}

}  // namespace

int bench_host(const HostBenchOptions& o) {
  check_sections(o.only);
  if (!o.machine.empty()) own_machine(o.machine);  // refuses another machine's before anything takes time
  if (!o.full) {
    quick(o);
  } else {
    const HostReport r = whole(o);
    if (!o.html.empty()) write_file(o.html, measure::page(r));
    fmt::print("{}", o.json ? measure::to_json(r).dump(2) + "\n" : measure::tables(r));
  }
  if (!o.machine.empty()) write_plan_file(o);
  return 0;
}

}  // namespace quern::cli
