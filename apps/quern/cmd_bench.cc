// quern bench host|kernels [--json] [--only ROOM[/ROW]]… [--reps N]
//   host:    what this machine is and can do (bandwidth roofline, register-only compute peaks)
//   kernels: every kernel's bench case, each figure with its ratio to the peak measured beside it
#include <fmt/format.h>

#include <charconv>
#include <cstdio>
#include <span>
#include <string>

#include "quern/base/error.h"
#include "quern/host/bench.h"
#include "quern/host/host.h"

namespace quern {
namespace {

struct BenchArgs {
  std::string what;
  bool json = false;
  Bench::Options options;
};

BenchArgs parse(std::span<const std::string> args) {
  BenchArgs r;
  for (size_t i = 0; i < args.size(); ++i) {
    const std::string& a = args[i];
    auto value = [&]() -> const std::string& {
      if (i + 1 == args.size()) fail("quern bench {}: expected a value after it", a);
      return args[++i];
    };
    if (a == "--json") {
      r.json = true;
    } else if (a == "--only") {
      r.options.only.push_back(value());
    } else if (a == "--reps") {
      const std::string& v = value();
      auto [end, bad] = std::from_chars(v.data(), v.data() + v.size(), r.options.reps);
      if (bad != std::errc{} || end != v.data() + v.size() || r.options.reps < 1)
        fail("quern bench --reps {}: expected a whole number of at least 1", v);
    } else if (r.what.empty() && (a == "host" || a == "kernels")) {
      r.what = a;
    } else {
      fail("quern bench: '{}' is not known; expected host or kernels, then --json, --only ROOM[/ROW], --reps N", a);
    }
  }
  if (r.what.empty()) fail("quern bench: expected host or kernels");
  return r;
}

Json peaks(int reps) {
  Json j = Json::object();
  for (Bound b : {Bound::f32_flops, Bound::bf16_flops, Bound::read, Bound::write, Bound::copy}) {
    std::vector<double> v;
    for (int i = 0; i < reps; ++i) v.push_back(measure(b));
    j.set(bound_name(b), median(v));
  }
  return j;
}

void print_host(const Json& info, const Json& peak) {
  for (const auto& [key, value] : info.as_object())
    fmt::print("{:<16} {}\n", key, value.is_string() ? value.as_string() : value.dump());
  for (const auto& [key, value] : peak.as_object())
    fmt::print("{:<16} {:.1f} {}\n", key, value.as_double(), key.ends_with("peak") ? "GFLOP/s" : "GB/s");
}

}  // namespace

int cmd_bench(std::span<const std::string> args) {
  BenchArgs a = parse(args);
  Json info = to_json(host_info());
  if (a.what == "host") {
    Json peak = peaks(a.options.reps);
    if (!a.json) {
      print_host(info, peak);
      return 0;
    }
    info.set("peaks", std::move(peak));
    fmt::print("{}\n", info.dump(2));
    return 0;
  }
  Bench bench(a.options);
  run_all_benches(bench);
  if (!a.json) {
    fmt::print("{}", bench.table());
    return 0;
  }
  Json out = Json::object();
  out.set("host", std::move(info));
  out.set("rows", bench.json());
  fmt::print("{}\n", out.dump(2));
  return 0;
}

}  // namespace quern
