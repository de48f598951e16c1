// Reference OVQ attention in double: a dictionary of running means updated token by token, and a softmax written out
// per query with the logarithm of the counts. Shares with the fast form only the schedule and the order in which
// equally dissimilar tokens are taken.
#include <algorithm>
#include <cmath>
#include <vector>

#include "quern/mixers/ovq/ovq_plan.h"

namespace quern::mixers {
namespace {

using Vector = std::vector<double>;

struct Centroid {
  Vector key, value;
  double count = 0;
};

double inner(const Vector& a, const Vector& b) {
  double s = 0;
  for (size_t i = 0; i < a.size(); ++i) s += a[i] * b[i];
  return s;
}

Vector direction(const OvqOptions& o, const Vector& key) {
  Vector k = key;
  const double norm = std::sqrt(inner(k, k));
  if (o.normalize && norm > 0)
    for (double& x : k) x /= norm;
  return k;
}

Vector row(View<const double, 2> x, int64_t t) { return {x.row(t), x.row(t) + x.shape[1]}; }

struct Seen {
  Vector key, value;
  double bias;
};

Vector attend_to(const Vector& q, const std::vector<Seen>& all, double scale, size_t dv) {
  Vector logits, out(dv, 0.0);
  for (const Seen& s : all) logits.push_back(scale * inner(q, s.key) + s.bias);
  const double maximum = *std::max_element(logits.begin(), logits.end());
  double total = 0;
  for (double& x : logits) total += x = std::exp(x - maximum);
  for (size_t j = 0; j < all.size(); ++j)
    for (size_t c = 0; c < dv; ++c) out[c] += logits[j] / total * all[j].value[c];
  return out;
}

}  // namespace

void ovq_forward_ref(const OvqOptions& o, const OvqTokens<double>& x, View<double, 2> out, View<int32_t, 1> rows) {
  const int64_t n = x.q.shape[0];
  const auto d = static_cast<size_t>(x.q.shape[1]), dv = static_cast<size_t>(x.v.shape[1]);
  std::vector<Centroid> book;
  Arena scratch;
  for (int64_t begin = 0; begin < n; begin += o.chunk) {
    const int64_t end = std::min(n, begin + o.chunk), length = end - begin;
    std::vector<Seen> dictionary;
    for (const Centroid& c : book)
      dictionary.push_back({direction(o, c.key), c.value, o.count_bias ? std::log(c.count) : 0.0});
    std::vector<Seen> all = dictionary;
    for (int64_t t = begin; t < end; ++t) {
      all.push_back({row(x.k, t), row(x.v, t), 0.0});
      const Vector y = attend_to(row(x.q, t), all, x.scale, dv);
      std::copy(y.begin(), y.end(), out.row(t));
    }
    if (length < o.chunk) break;
    std::vector<int32_t> to(static_cast<size_t>(length), 0);
    Vector best(static_cast<size_t>(length));
    const int64_t old = static_cast<int64_t>(book.size()), live = std::max(old, ovq_rows_after(o, end));
    for (int64_t t = begin; t < end; ++t) {
      const auto i = static_cast<size_t>(t - begin);
      best[i] = old == 0 ? inner(row(x.k, t), row(x.k, begin)) : -INFINITY;
      for (int64_t j = 0; j < old; ++j)
        if (const double s = inner(row(x.k, t), dictionary[static_cast<size_t>(j)].key); s > best[i])
          best[i] = s, to[i] = static_cast<int32_t>(j);
    }
    if (old == 0 && live > 1)
      ovq_open_rows<double>(o,
                            {.seen = end,
                             .best = best.data() + 1,
                             .n = length - 1,
                             .fresh = live - 1,
                             .first = 1,
                             .rows = to.data() + 1},
                            scratch);
    if (old > 0 && live > old)
      ovq_open_rows<double>(
          o, {.seen = end, .best = best.data(), .n = length, .fresh = live - old, .first = old, .rows = to.data()},
          scratch);
    book.resize(static_cast<size_t>(live), {Vector(d, 0.0), Vector(dv, 0.0), 0});
    std::vector<Vector> lacking;
    for (int64_t i = 0; i < length; ++i) {
      lacking.push_back(row(x.v, begin + i));
      if (!o.delta_values || old == 0) continue;
      const Vector read = attend_to(row(x.k, begin + i), dictionary, x.scale, dv);
      for (size_t c = 0; c < dv; ++c) lacking.back()[c] -= read[c];
    }
    for (int32_t a : to) ++book[static_cast<size_t>(a)].count;
    const std::vector<Centroid> before = book;  // the old means, the new counts
    for (int64_t i = 0; i < length; ++i) {
      rows(begin + i) = to[static_cast<size_t>(i)];
      const auto a = static_cast<size_t>(to[static_cast<size_t>(i)]);
      const double rate = 1 / before[a].count;
      const Vector k = row(x.k, begin + i);
      for (size_t c = 0; c < d; ++c) book[a].key[c] += rate * (k[c] - before[a].key[c]);
      for (size_t c = 0; c < dv; ++c)
        book[a].value[c] += rate * (lacking[static_cast<size_t>(i)][c] - (o.delta_values ? 0.0 : before[a].value[c]));
    }
  }
}

}  // namespace quern::mixers
