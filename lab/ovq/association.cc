#include "lab/ovq/association.h"

#include <numeric>

#include "quern/base/error.h"
#include "quern/base/rng.h"

namespace quern::lab {
namespace {

// The first n of 0 … size − 1 in random order.
std::vector<int32_t> drawn(int64_t n, int64_t size, Rng& random) {
  std::vector<int32_t> all(static_cast<size_t>(size));
  std::iota(all.begin(), all.end(), 0);
  for (int64_t i = 0; i < n; ++i)
    std::swap(all[static_cast<size_t>(i)],
              all[static_cast<size_t>(i) + random.below(static_cast<uint64_t>(size - i))]);
  all.resize(static_cast<size_t>(n));
  return all;
}

}  // namespace

Association association(std::string_view name) {
  for (Association a : {Association::mqar, Association::copy, Association::order, Association::order_said})
    if (name == name_of(a)) return a;
  fail("task '{}', expected mqar, copy, order or order-said", name);
}

std::string_view name_of(Association a) {
  switch (a) {
    case Association::mqar:
      return "mqar";
    case Association::copy:
      return "copy";
    case Association::order:
      return "order";
    case Association::order_said:
      return "order-said";
  }
  QUERN_CHECK(false, "task {}", static_cast<int>(a));
}

int64_t association_length(Association task, int64_t n) {
  switch (task) {
    case Association::mqar:
      return 4 * n;
    case Association::copy:
      return 2 * n;
    case Association::order:
      return 5 * n;
    case Association::order_said:
      return 6 * n;
  }
  QUERN_CHECK(false, "task {}", static_cast<int>(task));
}

Associations make_associations(Association task, int64_t n, int64_t rows, uint64_t seed, uint64_t first) {
  if (n < 1 || n > kAssociationKeys) fail("{} things to remember, expected 1 … {}", n, kAssociationKeys);
  const bool ordered = task == Association::order || task == Association::order_said;
  if (ordered && n % kAssociationTimes)
    fail("{} things to remember, expected a multiple of {}: every key has so many values", n, kAssociationTimes);
  Associations a{rows, association_length(task, n), {}, {}};
  for (int64_t r = 0; r < rows; ++r) {
    Rng random(seed, first + static_cast<uint64_t>(r));
    const std::vector<int32_t> keys = ordered
                                          ? drawn(n / kAssociationTimes, kAssociationKeys - kAssociationTimes, random)
                                          : drawn(n, kAssociationKeys, random);
    auto put = [&](int32_t id, int32_t target) { a.ids.push_back(id), a.targets.push_back(target); };
    if (task == Association::copy) {
      for (int32_t k : keys) put(k, -1);
      for (size_t i = 0; i < keys.size(); ++i) put(keys[i], i + 1 < keys.size() ? keys[i + 1] : -1);
      continue;
    }
    std::vector<int32_t> values;
    for (int64_t i = 0; i < n; ++i)
      values.push_back(static_cast<int32_t>(kAssociationKeys + random.below(kAssociationVocab - kAssociationKeys)));
    if (ordered) {
      const auto time = [](int32_t i) { return static_cast<int32_t>(kAssociationKeys - kAssociationTimes) + i; };
      std::vector<int32_t> seen(keys.size(), 0);
      for (int32_t slot : drawn(n, n, random)) {  // pair i is written as its key's next
        const auto k = static_cast<size_t>(slot) % keys.size(),
                   i = k * kAssociationTimes + static_cast<size_t>(seen[k]);
        put(keys[k], -1);
        if (task == Association::order_said) put(time(seen[k]), -1);
        put(values[i], -1);
        ++seen[k];
      }
      for (int32_t i : drawn(n, n, random)) {
        put(keys[static_cast<size_t>(i / kAssociationTimes)], -1);
        put(time(i % static_cast<int32_t>(kAssociationTimes)), values[static_cast<size_t>(i)]);
        put(values[static_cast<size_t>(i)], -1);
      }
      continue;
    }
    for (size_t i = 0; i < keys.size(); ++i) put(keys[i], -1), put(values[i], -1);
    for (int32_t i : drawn(n, n, random)) {
      const auto at = static_cast<size_t>(i);
      put(keys[at], values[at]), put(values[at], -1);
    }
  }
  return a;
}

}  // namespace quern::lab
