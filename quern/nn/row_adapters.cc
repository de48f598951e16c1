#include "quern/nn/row_adapters.h"

#include <algorithm>

#include <fmt/core.h>

namespace quern::nn {
namespace {

bool same_choice(const ChosenAdapters& a, const ChosenAdapters& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const ChosenAdapter& x, const ChosenAdapter& y) {
    return x.paths == y.paths && x.scale == y.scale;
  });
}

}  // namespace

std::string choice_key(const ChosenAdapters& chosen) {
  std::string key;
  for (const ChosenAdapter& c : chosen) key += fmt::format("{}*{:a} ", c.paths->id, c.scale);
  return key;
}

void BatchAdapters::add(int64_t n, const ChosenAdapters& chosen) {
  const int64_t begin = rows;
  rows += n;
  if (chosen.empty()) return;
  if (!parts.empty() && parts.back().end == begin && same_choice(*parts.back().chosen, chosen))
    parts.back().end = rows;
  else
    parts.push_back({begin, rows, &chosen});
}

}  // namespace quern::nn
