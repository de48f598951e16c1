// What was measured of this machine, the sections that were wanted, as JSON, as tables for a terminal, and as one HTML page
// with curves that needs no network.
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "quern/host/bench.h"
#include "quern/measure/memory_sweep.h"
#include "quern/measure/product_sweep.h"
#include "quern/measure/storage_sweep.h"

namespace quern::measure {

struct HostReport {
  host::HostInfo info;
  std::vector<std::pair<std::string, double>> peaks;  // of host::Bound; GB/s, GFLOP/s, GOP/s
  double wakeup_ns = 0;
  MemorySweep memory;
  std::vector<FormatProducts> products;
  std::vector<host::Bench::Row> operations;  // attention and small operations
  std::optional<StorageRates> storage;
};
std::string_view peak_unit(std::string_view name);
Json to_json(const HostReport& r);
std::string tables(const HostReport& r);
std::string page(const HostReport& r);

// "180 GB/s to 32 KiB, 31 beyond".
std::string plateaus_text(const std::vector<Plateau>& plateaus, std::string_view unit);

}  // namespace quern::measure
