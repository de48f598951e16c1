// Adapters that rows of one pass choose: each sequence of a batch has its own, several, or none, beside weights that are
// in memory once. A model that is to serve them hands out places for paths as it is packed (LowRank with a site); an
// adapter is the list of its factors at these sites, made by models/adapter_sites.h.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "quern/kernels/low_rank/low_rank.h"

namespace quern::nn {

struct AdapterPaths {
  uint64_t id = 0;                               // hash of the factors: the same for the same adapter, always
  std::vector<kernels::LowRankFactors> at = {};  // by site; undefined: no path there
  int64_t bytes = 0;
};

struct ChosenAdapter {
  std::shared_ptr<const AdapterPaths> paths;
  float scale = 1;  // times the adapter's own
};
using ChosenAdapters = std::vector<ChosenAdapter>;

// Names a choice: equal for equal adapters and scales, empty for none. What is remembered of a text is kept under it.
std::string choice_key(const ChosenAdapters& chosen);

struct RowAdapters {
  int64_t begin, end;  // rows of the pass
  const ChosenAdapters* chosen;
};

struct BatchAdapters {
  int64_t rows = 0;                     // of the pass
  std::vector<RowAdapters> parts = {};  // in order of rows; rows in none of them have no adapter

  // The next n rows; neighbors with the same choice are one part.
  void add(int64_t n, const ChosenAdapters& chosen);
};

}  // namespace quern::nn
