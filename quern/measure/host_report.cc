#include "quern/measure/host_report.h"

#include <algorithm>
#include <cmath>

#include "quern/measure/units.h"

namespace quern::measure {
namespace {

Json points_json(const std::vector<SizePoint>& points, const char* value) {
  Json j = Json::array();
  for (const SizePoint& p : points) {
    Json one = Json::object();
    one.set("bytes", p.size), one.set(value, p.value), j.push(std::move(one));
  }
  return j;
}

Json plateaus_json(const std::vector<Plateau>& plateaus, const char* value) {
  Json j = Json::array();
  for (const Plateau& p : plateaus) {
    Json one = Json::object();
    one.set("from_bytes", p.from), one.set("to_bytes", p.to), one.set(value, p.value), j.push(std::move(one));
  }
  return j;
}

Json memory_json(const MemorySweep& m) {
  Json j = Json::object(), curves = Json::array(), latency = Json::object(), strides = Json::array();
  for (const MemoryCurve& c : m.curves) {
    Json one = Json::object();
    one.set("pattern", pattern_name(c.what)), one.set("threads", c.threads);
    one.set("plateaus", plateaus_json(c.plateaus, "gbs")), one.set("points", points_json(c.points, "gbs"));
    curves.push(std::move(one));
  }
  latency.set("plateaus", plateaus_json(m.latency_plateaus, "ns")),
      latency.set("points", points_json(m.latency, "ns"));
  for (const StridePoint& s : m.strides) {
    Json one = Json::object();
    one.set("stride_bytes", s.stride), one.set("threads", s.threads), one.set("ns", s.ns),
        strides.push(std::move(one));
  }
  j.set("curves", std::move(curves)), j.set("latency", std::move(latency)), j.set("strides", std::move(strides));
  return j;
}

Json finite(double v) { return std::isfinite(v) ? Json(v) : Json(); }

Json product_json(const FormatProducts& f) {
  Json j = Json::object(), model = Json::object(), times = Json::array();
  j.set("format", f.format);
  model.set("latency_us", 1e6 * f.latency_s), model.set("gflops", finite(1e-9 * f.flops_per_s));
  model.set("gbs", finite(1e-9 * f.bytes_per_s)), model.set("deviation", f.deviation);
  j.set("model", std::move(model));
  for (const ProductTime& t : f.times) {
    Json one = Json::object();
    one.set("m", t.shape.m), one.set("n", t.shape.n), one.set("k", t.shape.k), one.set("seconds", t.seconds);
    one.set("gflops", t.gflops()), one.set("time_over_model", t.slowdown()), times.push(std::move(one));
  }
  j.set("products", std::move(times));
  return j;
}

}  // namespace

std::string_view peak_unit(std::string_view name) {
  if (name == host::bound_name(host::Bound::int8_ops)) return "GOP/s";
  return name.ends_with("peak") ? "GFLOP/s" : "GB/s";
}

std::string plateaus_text(const std::vector<Plateau>& plateaus, std::string_view unit) {
  std::string s;
  for (size_t i = 0; i < plateaus.size(); ++i) {
    const Plateau& p = plateaus[i];
    s +=
        fmt::format("{}{:.{}f}{}", i ? ", " : "", p.value, p.value < 9.95 ? 1 : 0, i ? "" : fmt::format(" {}", unit));
    if (plateaus.size() > 1) s += i + 1 < plateaus.size() ? " to " + size_text(p.to) : " beyond";
  }
  return s;
}

Json to_json(const HostReport& r) {
  Json j = host::to_json(r.info), peaks = Json::object(), products = Json::array(), operations = Json::array();
  for (const auto& [name, rate] : r.peaks) peaks.set(name, rate);
  j.set("peaks", std::move(peaks)), j.set("handoff_ns", r.wakeup_ns), j.set("memory", memory_json(r.memory));
  for (const FormatProducts& f : r.products) products.push(product_json(f));
  for (const host::Bench::Row& row : r.operations) {
    Json one = Json::object();
    one.set("kernel", row.kernel), one.set("shape", row.shape), one.set("seconds", row.seconds);
    one.set("achieved", row.achieved), one.set("bound", row.bound), one.set("ratio", row.ratio);
    operations.push(std::move(one));
  }
  j.set("products", std::move(products)), j.set("operations", std::move(operations));
  if (r.storage) j.set("storage", write_value(*r.storage));
  return j;
}

namespace {

std::string memory_tables(const MemorySweep& m) {
  std::string s = "memory, by size of what is touched (GB/s, what is read plus what is written)\n";
  for (const MemoryCurve& c : m.curves)
    s += fmt::format("  {:<8}{:>3} thread{:<3}{}\n", pattern_name(c.what), c.threads, c.threads > 1 ? "s" : "",
                     plateaus_text(c.plateaus, "GB/s"));
  s += fmt::format("  a read that waits for the one before: {}\n  reads of 8 bytes, ns by stride:",
                   plateaus_text(m.latency_plateaus, "ns"));
  for (const StridePoint& p : m.strides)
    if (p.threads == 1) s += fmt::format("  {} {:.1f}", size_text(static_cast<double>(p.stride)), p.ns);
  return s + "\n";
}

std::string product_tables(const std::vector<FormatProducts>& products) {
  std::string s = fmt::format(
      "matrix products y[M,N] = x[M,K]·Wᵀ: time = latency + flops / rate + bytes / bandwidth\n"
      "  {:<8}{:>10}{:>12}{:>14}{:>12}{:>34}\n",
      "format", "latency", "GFLOP/s", "GB/s", "deviation", "rows to reach 90 % at 2048 x 2048");
  for (const FormatProducts& f : products) {
    const int64_t knee = f.knee(2048, 2048);
    s += fmt::format("  {:<8}{:>10}{:>12.0f}{:>14}{:>10.0f} %{:>34}\n", f.format, time_text(f.latency_s),
                     1e-9 * f.flops_per_s,
                     std::isfinite(f.bytes_per_s) ? fmt::format("{:.0f}", 1e-9 * f.bytes_per_s) : "free",
                     100 * f.deviation, knee > 0 ? std::to_string(knee) : "none");
  }
  constexpr size_t kMaxShown = 6;
  for (const FormatProducts& f : products) {
    const std::vector<ProductTime> slow = f.to_avoid();
    if (slow.empty()) continue;
    s += fmt::format("  to avoid in {} ({} of {} shapes take 1.5 times the model's time or more):\n", f.format,
                     slow.size(), f.times.size());
    for (size_t i = 0; i < std::min(kMaxShown, slow.size()); ++i)
      s += fmt::format("    {:>5} x {:<5} K {:<6}{:>6.1f}x  {}\n", slow[i].shape.m, slow[i].shape.n, slow[i].shape.k,
                       slow[i].slowdown(), f.slow_reason(slow[i]));
  }
  return s;
}

std::string storage_table(const StorageRates& r) {
  return fmt::format(
      "storage{}\n"
      "  sequential      write {:.2f} GB/s, read {:.2f} GB/s\n"
      "  random, 4 KiB   {:.0f} reads a second, {:.0f} by 16 threads\n"
      "  fsync, 4 KiB    {:.2f} ms\n"
      "  files of 4 KiB  {:.0f} made, {:.0f} read, {:.0f} deleted a second\n",
      r.direct ? "" : " (this file system has no reads around the page cache: reads are those of memory)",
      r.write_gbs, r.read_gbs, r.random_iops, r.random_iops_all, r.fsync_ms, r.create_files, r.read_files,
      r.delete_files);
}

}  // namespace

std::string tables(const HostReport& r) {
  std::string s = fmt::format("{}, {} thread{}, {}\n", r.info.cpu, r.info.threads, r.info.threads > 1 ? "s" : "",
                              r.info.isa_active);
  for (const auto& [name, rate] : r.peaks) s += fmt::format("  {:<16}{:.1f} {}\n", name, rate, peak_unit(name));
  if (!r.memory.curves.empty()) s += "\n" + memory_tables(r.memory);
  if (!r.products.empty()) s += "\n" + product_tables(r.products);
  if (!r.operations.empty())
    s += fmt::format("\n{:<64}{:>10}{:>10}{:>6} {}\n", "attention and small operations", "time", "G/s", "ratio",
                     "to the limit (GFLOP/s or GB/s)");
  for (const host::Bench::Row& row : r.operations)
    s += fmt::format("  {:<26}{:<36}{:>10}{:>10.1f}{:>6.2f} of {}\n", row.kernel, row.shape, time_text(row.seconds),
                     row.achieved, row.ratio, row.bound);
  return r.storage ? s + "\n" + storage_table(*r.storage) : s;
}

}  // namespace quern::measure
