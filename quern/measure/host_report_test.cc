#include "quern/measure/host_report.h"

#include <gtest/gtest.h>

namespace quern::measure {
namespace {

HostReport example() {
  HostReport r;
  r.info = host::host_info();
  r.info.cpu = "A <small> CPU";
  r.peaks = {{"f32 peak", 100}, {"read", 30}};
  MemoryCurve c{.what = MemoryPattern::triad, .threads = 2, .points = {}, .plateaus = {}};
  for (double size = 16384; size <= 1 << 26; size *= 2) c.points.push_back({size, size < 40000 ? 200.0 : 30.0});
  c.plateaus = find_plateaus(c.points);
  r.memory.curves = {c};
  r.memory.latency = {{16384, 1.5}, {32768, 1.5}, {1 << 26, 100}, {1 << 27, 100}};
  r.memory.latency_plateaus = find_plateaus(r.memory.latency);
  r.memory.strides = {{8, 1, 0.5}, {64, 1, 4}};
  FormatProducts f;
  f.format = "bf16";
  for (const int64_t m : {1, 16, 256})
    for (const int64_t n : {1000, 1024, 2048})
      for (const int64_t k : {1024, 2048}) {
        const ProductShape s{m, n, k};
        const auto bytes = static_cast<double>(2 * n * k + 4 * m * (n + k));
        f.times.push_back({s, bytes, (1e-6 + s.flops() / 1e11 + bytes / 1e11) * (n == 1000 && k == 1024 ? 3 : 1), 0});
      }
  fit_products(f);
  r.products = {f};
  r.operations = {{"rms_norm", "4096x2048", "copy", 1e-3, 30, 35, 0.86}};
  r.storage = StorageRates{.write_gbs = 1.25, .read_gbs = 2.5, .direct = true};
  return r;
}

TEST(HostReport, TablesSayWhatWasMeasured) {
  const std::string s = tables(example());
  for (const char* part :
       {"200 GB/s to 32 KiB, 30 beyond", "1.5 ns to 32 KiB, 100 beyond", "to avoid in bf16 (3 of 18 shapes",
        "N = 1000: 1024 is 3.", "0.86 of copy", "write 1.25 GB/s, read 2.50 GB/s", "100.0 GFLOP/s"})
    EXPECT_NE(s.find(part), std::string::npos) << part << "\nin\n" << s;
}

TEST(HostReport, SectionsThatWereNotWantedAreLeftOut) {
  HostReport r = example();
  r.memory = {}, r.operations.clear(), r.storage.reset();
  const std::string text = tables(r), html = page(r);
  for (const char* part : {"memory, by size", "attention", "storage"})
    EXPECT_EQ(text.find(part), std::string::npos) << part;
  EXPECT_EQ(html.find("<h2>Storage"), std::string::npos);
  EXPECT_NE(html.find("<h2>Matrix products"), std::string::npos);
  EXPECT_EQ(to_json(r).find("storage"), nullptr);
}

TEST(HostReport, ThePageNeedsNothingElse) {
  const std::string s = page(example());
  EXPECT_EQ(s.find("http"), std::string::npos);
  EXPECT_EQ(s.find("<link"), std::string::npos);
  EXPECT_NE(s.find("A &lt;small&gt; CPU"), std::string::npos);
  size_t charts = 0;
  for (size_t at = s.find("<svg class=\"chart\""); at != s.npos; at = s.find("<svg class=\"chart\"", at + 1))
    ++charts;
  EXPECT_EQ(charts, 4u);  // one number of threads, latency, strides, one format
  EXPECT_NE(s.find("data-name=\"triad\""), std::string::npos);
}

TEST(HostReport, JsonHasEveryPoint) {
  const Json j = to_json(example());
  EXPECT_EQ(j.at("memory").at("curves").as_array()[0].at("points").as_array().size(), 13u);
  EXPECT_EQ(j.at("products").as_array()[0].at("products").as_array().size(), 18u);
  EXPECT_DOUBLE_EQ(j.at("storage").at("read_gbs").as_double(), 2.5);
}

}  // namespace
}  // namespace quern::measure
