// The HTML page of a HostReport.
#include <algorithm>
#include <cmath>

#include "quern/html/html_template.h"
#include "quern/html/web_files.h"
#include "quern/measure/host_report.h"
#include "quern/measure/units.h"
#include "quern/train/report/report_chart.h"

namespace quern::measure {
namespace {

using train::report::Chart;

const html::HtmlTemplate& parts() {
  static const html::HtmlTemplate t(html::web_file("host_report.html"));
  return t;
}

std::string tile(const std::string& name, const std::string& value, const std::string& note) {
  return parts().fill("tile", {{"name", name}, {"value", value}, {"note", note}});
}

std::string key(const std::vector<std::string>& names) {
  std::string entries;
  for (size_t i = 0; i < names.size(); ++i) entries += parts().fill("key-entry", {{"color", i}, {"name", names[i]}});
  return parts().fill("key", {{"entries", entries}});
}

std::string figure(const std::string& name, const std::string& what, const Chart& chart) {
  return parts().fill("figure", {{"name", name}, {"what", what}, {"chart", train::report::svg(chart)}});
}

Chart logarithmic(std::string id, std::string x_name, std::string unit) {
  Chart c;
  c.id = std::move(id), c.x_name = std::move(x_name), c.unit = std::move(unit);
  c.log_x = c.log_y = true;
  return c;
}

std::vector<train::report::Point> in_mib(const std::vector<SizePoint>& points) {
  std::vector<train::report::Point> v;
  for (const SizePoint& p : points) v.push_back({p.size / (1024 * 1024), p.value});
  return v;
}

std::string memory_figures(const MemorySweep& m) {
  std::string out;
  std::vector<int> threads;
  for (const MemoryCurve& c : m.curves)
    if (threads.empty() || threads.back() != c.threads) threads.push_back(c.threads);
  for (const int t : threads) {
    Chart chart = logarithmic(fmt::format("memory{}", t), "MiB touched", "");
    for (const MemoryCurve& c : m.curves)
      if (c.threads == t)
        chart.lines.push_back({std::string(pattern_name(c.what)), static_cast<int>(c.what), in_mib(c.points), {}});
    out += figure(t == 1 ? "One thread" : fmt::format("{} threads", t), "GB/s", chart);
  }
  Chart latency = logarithmic("latency", "MiB touched", "");
  latency.lines.push_back({"latency", 5, in_mib(m.latency), {}});
  out += figure("Latency", "ns of a read that waits for the one before", latency);
  Chart strides = logarithmic("strides", "bytes from read to read", "");
  for (const int t : threads) {
    train::report::Line line{t == 1 ? "1 thread" : fmt::format("{} threads", t), t == 1 ? 5 : 6, {}, {}};
    for (const StridePoint& s : m.strides)
      if (s.threads == t) line.raw.push_back({static_cast<double>(s.stride), s.ns});
    strides.lines.push_back(std::move(line));
  }
  return out + figure("Strides",
                      "ns of a read of 8 bytes in each thread, beyond the caches; ochre: one thread, teal: all",
                      strides);
}

std::vector<int64_t> squares(const std::vector<FormatProducts>& products) {  // sizes with N = K on the grid
  std::vector<int64_t> sizes;
  for (const FormatProducts& f : products)
    for (const ProductTime& t : f.times)
      if (t.shape.n == t.shape.k && std::find(sizes.begin(), sizes.end(), t.shape.n) == sizes.end())
        sizes.push_back(t.shape.n);
  return sizes;
}

std::string product_figures(const std::vector<FormatProducts>& products) {
  std::string out;
  for (const FormatProducts& f : products) {
    Chart chart = logarithmic("products-" + f.format, "rows (M)", "");
    int color = 0;
    for (const int64_t size : squares(products)) {
      train::report::Line line{fmt::format("{0} × {0}", size), color++, {}, {}};
      for (const ProductTime& t : f.times)
        if (t.shape.n == size && t.shape.k == size) line.raw.push_back({static_cast<double>(t.shape.m), t.gflops()});
      chart.lines.push_back(std::move(line));
    }
    out += figure(f.format, "GFLOP/s", chart);
  }
  return out;
}

std::string models(const std::vector<FormatProducts>& products) {
  std::string out;
  for (const FormatProducts& f : products) {
    const int64_t knee = f.knee(2048, 2048);
    out += parts().fill("model",
                        {{"format", f.format},
                         {"latency", time_text(f.latency_s)},
                         {"gflops", fmt::format("{:.0f}", 1e-9 * f.flops_per_s)},
                         {"gbs", std::isfinite(f.bytes_per_s) ? fmt::format("{:.0f}", 1e-9 * f.bytes_per_s) : "free"},
                         {"deviation", fmt::format("{:.0f} %", 100 * f.deviation)},
                         {"knee", knee > 0 ? std::to_string(knee) : "none"}});
  }
  return out;
}

std::string avoid(const std::vector<FormatProducts>& products) {
  constexpr size_t kMaxShown = 12;
  std::string rows;
  for (const FormatProducts& f : products) {
    const std::vector<ProductTime> slow = f.to_avoid();
    for (size_t i = 0; i < std::min(kMaxShown, slow.size()); ++i)
      rows += parts().fill("avoid-row", {{"format", f.format},
                                         {"m", slow[i].shape.m},
                                         {"n", slow[i].shape.n},
                                         {"k", slow[i].shape.k},
                                         {"slowdown", fmt::format("{:.1f}", slow[i].slowdown())},
                                         {"reason", f.slow_reason(slow[i])}});
  }
  if (rows.empty()) return parts().fill("note", {{"text", "No shape takes 1.5 times as long as the model says."}});
  return parts().fill(
             "note",
             {{"text", "They take 1.5 times as long as the model says, or more; the slowest of each format."}}) +
         parts().fill("avoid", {{"rows", rows}});
}

std::string operations(const std::vector<host::Bench::Row>& rows) {
  std::string out;
  for (const host::Bench::Row& r : rows)
    out += parts().fill("operation", {{"kernel", r.kernel},
                                      {"shape", r.shape},
                                      {"time", time_text(r.seconds)},
                                      {"rate", fmt::format("{:.1f}", r.achieved)},
                                      {"ratio", fmt::format("{:.2f}", r.ratio)},
                                      {"bound", r.bound}});
  return out;
}

std::string levels(const MemorySweep& m) {
  std::string out;
  for (const MemoryCurve& c : m.curves)
    out += parts().fill(
        "level",
        {{"name", pattern_name(c.what)}, {"threads", c.threads}, {"levels", plateaus_text(c.plateaus, "GB/s")}});
  return out +
         parts().fill("level",
                      {{"name", "latency"}, {"threads", 1}, {"levels", plateaus_text(m.latency_plateaus, "ns")}});
}

std::string storage_tiles(const StorageRates& r) {
  return tile("sequential read", fmt::format("{:.2f} GB/s", r.read_gbs), "blocks of 1 MiB") +
         tile("sequential write", fmt::format("{:.2f} GB/s", r.write_gbs), "until fsync") +
         tile("random reads", fmt::format("{:.0f} / s", r.random_iops), "4 KiB, one thread") +
         tile("random reads", fmt::format("{:.0f} / s", r.random_iops_all), "4 KiB, 16 threads") +
         tile("fsync", fmt::format("{:.2f} ms", r.fsync_ms), "4 KiB at the end of a file") +
         tile("small files", fmt::format("{:.0f} / s", r.create_files), "of 4 KiB, made") +
         tile("small files", fmt::format("{:.0f} / s", r.read_files), "read") +
         tile("small files", fmt::format("{:.0f} / s", r.delete_files), "deleted");
}

std::string tiles(const HostReport& r) {
  std::string out = tile("threads", std::to_string(r.info.threads), r.info.isa_active);
  for (const auto& [name, rate] : r.peaks)
    out += tile(name, fmt::format("{:.{}f}", rate, rate < 100 ? 1 : 0), std::string(peak_unit(name)));
  if (r.wakeup_ns > 0) out += tile("thread wake-up", time_text(1e-9 * r.wakeup_ns), "there and back");
  return out;
}

std::string memory_section(const MemorySweep& m) {
  std::vector<std::string> patterns;
  for (const MemoryPattern p : kMemoryPatterns) patterns.emplace_back(pattern_name(p));
  return parts().fill("memory-section",
                      {{"key", key(patterns)}, {"figures", memory_figures(m)}, {"levels", levels(m)}});
}

std::string product_section(const std::vector<FormatProducts>& products) {
  std::vector<std::string> sizes;
  for (const int64_t size : squares(products)) sizes.push_back(fmt::format("{0} × {0}", size));
  return parts().fill("product-section", {{"key", key(sizes)},
                                          {"figures", product_figures(products)},
                                          {"models", models(products)},
                                          {"avoid", avoid(products)}});
}

std::string storage_section(const StorageRates& r) {
  std::string note;
  if (!r.direct)
    note = parts().fill(
        "note", {{"text", "This file system has no reads around the page cache: reads are those of memory."}});
  return parts().fill("storage-section", {{"note", note}, {"tiles", storage_tiles(r)}});
}

}  // namespace

std::string page(const HostReport& r) {
  std::string sections;
  if (!r.memory.curves.empty()) sections += memory_section(r.memory);
  if (!r.products.empty()) sections += product_section(r.products);
  if (!r.operations.empty()) sections += parts().fill("operation-section", {{"rows", operations(r.operations)}});
  if (r.storage) sections += storage_section(*r.storage);
  return parts().fill("page", {{"cpu", r.info.cpu},
                               {"style", html::web_file("report.css")},
                               {"script", html::web_file("report.js")},
                               {"tiles", tiles(r)},
                               {"sections", sections}});
}

}  // namespace quern::measure
