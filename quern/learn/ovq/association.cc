#include "quern/learn/ovq/association.h"

#include <numeric>

#include "quern/base/error.h"
#include "quern/base/rng.h"

namespace quern {
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
  if (name == "mqar") return Association::mqar;
  if (name == "copy") return Association::copy;
  fail("task '{}', expected mqar or copy", name);
}

int64_t association_length(Association task, int64_t n) { return task == Association::mqar ? 4 * n : 2 * n; }

Associations make_associations(Association task, int64_t n, int64_t rows, uint64_t seed, uint64_t first) {
  if (n < 1 || n > kAssociationKeys) fail("{} things to remember, expected 1 … {}", n, kAssociationKeys);
  Associations a{rows, association_length(task, n), {}, {}};
  for (int64_t r = 0; r < rows; ++r) {
    Rng random(seed, first + static_cast<uint64_t>(r));
    const std::vector<int32_t> keys = drawn(n, kAssociationKeys, random);
    auto put = [&](int32_t id, int32_t target) { a.ids.push_back(id), a.targets.push_back(target); };
    if (task == Association::copy) {
      for (int32_t k : keys) put(k, -1);
      for (size_t i = 0; i < keys.size(); ++i) put(keys[i], i + 1 < keys.size() ? keys[i + 1] : -1);
      continue;
    }
    std::vector<int32_t> values;
    for (int64_t i = 0; i < n; ++i)
      values.push_back(static_cast<int32_t>(kAssociationKeys + random.below(kAssociationVocab - kAssociationKeys)));
    for (size_t i = 0; i < keys.size(); ++i) put(keys[i], -1), put(values[i], -1);
    for (int32_t i : drawn(n, n, random)) {
      const auto at = static_cast<size_t>(i);
      put(keys[at], values[at]), put(values[at], -1);
    }
  }
  return a;
}

}  // namespace quern
