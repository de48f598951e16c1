// Timing, medians and the table of quern bench.
#include "quern/host/bench.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "quern/base/error.h"

namespace quern::host {
namespace {

using Clock = std::chrono::steady_clock;

double call_for(const std::function<void()>& body, double at_least) {
  Clock::time_point t0 = Clock::now();
  int64_t calls = 0;
  double s = 0;
  do {
    body();
    ++calls;
    s = std::chrono::duration<double>(Clock::now() - t0).count();
  } while (s < at_least);
  return s / static_cast<double>(calls);
}

bool is_flops(Bound b) { return b == Bound::f32_flops || b == Bound::bf16_flops; }

bool takes(const std::vector<std::string>& only, const std::string& room, const std::string& row) {
  for (const std::string& o : only) {
    size_t slash = o.find('/');
    if (room.find(o.substr(0, slash)) == std::string::npos) continue;
    if (slash == std::string::npos || row.find(o.substr(slash + 1)) != std::string::npos) return true;
  }
  return only.empty();
}

std::string duration(double s) {
  if (s < 1e-3) return fmt::format("{:.1f} us", s * 1e6);
  if (s < 1) return fmt::format("{:.2f} ms", s * 1e3);
  return fmt::format("{:.2f} s", s);
}

}  // namespace

double median(std::vector<double> v) {
  if (v.empty()) return 0;
  std::sort(v.begin(), v.end());
  size_t n = v.size();
  return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

double time_once(const std::function<void()>& body, double at_least_seconds) {
  body();
  return call_for(body, at_least_seconds);
}

bool Bench::wants(std::string_view room) {
  room_ = room;
  for (const std::string& o : options_.only)
    if (room_.find(o.substr(0, o.find('/'))) != std::string::npos) return true;
  return options_.only.empty();
}

void Bench::row(std::string kernel, std::string shape, Workload workload, const std::function<void()>& body) {
  if (!takes(options_.only, room_, kernel + " " + shape)) return;
  body();  // first touch, packing caches, thread start
  std::vector<double> time, peak, ratio;
  for (int i = 0; i < options_.reps; ++i) {
    double p = measure(workload.bound), t = call_for(body, 0.01);
    time.push_back(t), peak.push_back(p), ratio.push_back(workload.amount * 1e-9 / t / p);
  }
  double t = median(time);
  Row r{std::move(kernel), std::move(shape), std::string(bound_name(workload.bound)), t, workload.amount * 1e-9 / t,
        median(peak),      median(ratio)};
  if (options_.progress)
    fmt::print(stderr, "{} {}: {} {:.1f} {} {:.2f} of {}\n", r.kernel, r.shape, duration(r.seconds), r.achieved,
               is_flops(workload.bound) ? "GFLOP/s" : "GB/s", r.ratio, r.bound);
  rows_.push_back(std::move(r));
}

std::string Bench::table() const {
  std::string s = fmt::format("{:<26} {:<34} {:>10} {:>10} {:>10} {:>6}  {}\n", "kernel", "shape", "time", "G/s",
                              "peak", "ratio", "of");
  for (const Row& r : rows_)
    s += fmt::format("{:<26} {:<34} {:>10} {:>10.1f} {:>10.1f} {:>6.2f}{} {}\n", r.kernel, r.shape,
                     duration(r.seconds), r.achieved, r.peak, r.ratio, r.ratio > 1.05 ? '!' : ' ', r.bound);
  return s;
}

Json Bench::json() const {
  Json out = Json::array();
  for (const Row& r : rows_) {
    Json j = Json::object();
    j.set("kernel", r.kernel);
    j.set("shape", r.shape);
    j.set("seconds", r.seconds);
    j.set("achieved", r.achieved);
    j.set("bound", r.bound);
    j.set("peak", r.peak);
    j.set("ratio", r.ratio);
    out.push(std::move(j));
  }
  return out;
}

}  // namespace quern::host
