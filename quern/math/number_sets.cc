#include "quern/math/number_sets.h"

#include <algorithm>
#include <cmath>

#include "quern/math/equal.h"
#include "quern/math/numeric.h"

namespace quern::math {
namespace {

using Kind = MathAnswer::Kind;

// An end, or the order of two, that is not known.
struct NotNumbers {};

struct End {
  const MathExpression* value;
  long double near = 0, error = 0;  // ±∞: without an error
};

End end_of(const MathExpression& e) {
  const bool minus = e.size() == 2 && e[1].op == MathOp::negate;
  constexpr long double kInfinity = HUGE_VALL;
  if (e[0].op == MathOp::infinity) {
    if (e.size() > 1 && !minus) throw NotNumbers();
    return {&e, minus ? -kInfinity : kInfinity, 0};
  }
  if (std::ranges::any_of(e, [](const MathNode& n) { return n.op == MathOp::variable; })) throw NotNumbers();
  const auto v = value_near(e, 1);
  if (!v || !v->is_real()) throw NotNumbers();
  return {&e, v->re, v->error};
}

struct Interval {
  End low, high;
  bool has_low = true, has_high = true;  // the ends themselves
};

class NumberSets {
 public:
  explicit NumberSets(uint64_t seed) : seed_(seed) {}

  // Disjoint, in order, none touches the next.
  std::vector<Interval> read(const MathAnswer& a) const {
    std::vector<Interval> all;
    collect(a, all);
    std::erase_if(all, [&](const Interval& i) { return is_empty(i); });
    std::ranges::sort(all, [&](const Interval& x, const Interval& y) {
      const int o = order(x.low, y.low);
      return o != 0 ? o < 0 : x.has_low && !y.has_low;
    });
    std::vector<Interval> out;
    for (const Interval& next : all) {
      const int o = out.empty() ? 1 : order(next.low, out.back().high);
      if (o > 0 || (o == 0 && !next.has_low && !out.back().has_high))
        out.push_back(next);
      else
        extend(out.back(), next);
    }
    return out;
  }

  bool same(const std::vector<Interval>& a, const std::vector<Interval>& b) const {
    return std::ranges::equal(a, b, [&](const Interval& x, const Interval& y) {
      return x.has_low == y.has_low && x.has_high == y.has_high && order(x.low, y.low) == 0 &&
             order(x.high, y.high) == 0;
    });
  }

 private:
  int order(const End& a, const End& b) const {
    if (a.near == b.near && std::isinf(a.near)) return 0;
    if (std::isinf(a.near) || std::isinf(b.near) || std::abs(a.near - b.near) > 4 * (a.error + b.error))
      return a.near < b.near ? -1 : 1;
    if (const auto& x = a.value->back().folded, &y = b.value->back().folded; x && y) {
      const int64_t left = x->first * y->second, right = y->first * x->second;  // each factor within 2^30
      return left == right ? 0 : left < right ? -1 : 1;
    }
    switch (equal_math(*a.value, *b.value, seed_)) {
      case MathEquality::same:
        return 0;
      case MathEquality::different:
        if (a.near != b.near) return a.near < b.near ? -1 : 1;
        [[fallthrough]];
      default:
        throw NotNumbers();
    }
  }

  bool is_empty(const Interval& i) const {
    const int o = order(i.low, i.high);
    if (o > 0) throw NotNumbers();  // [2, 1] is a mistake rather than the empty set
    return o == 0 && !(i.has_low && i.has_high);
  }

  void extend(Interval& i, const Interval& by) const {
    const int o = order(i.high, by.high);
    if (o == 0) i.has_high = i.has_high || by.has_high;
    if (o < 0) i.high = by.high, i.has_high = by.has_high;
  }

  void collect(const MathAnswer& a, std::vector<Interval>& out) const {
    if (a.kind == Kind::value) {
      const End point = end_of(a.value);
      if (std::isinf(point.near)) throw NotNumbers();
      out.push_back({point, point});
    } else if (a.kind == Kind::tuple) {
      const auto& p = a.parts;
      const bool is_interval = p.size() == 2 && p[0].kind == Kind::value && p[1].kind == Kind::value &&
                               p[0].name.empty() && p[1].name.empty() &&
                               (a.brackets[1] == ']' || a.brackets[1] == ')');
      if (!is_interval) throw NotNumbers();
      const Interval i{end_of(p[0].value), end_of(p[1].value), a.brackets[0] == '[', a.brackets[1] == ']'};
      if ((i.has_low && std::isinf(i.low.near)) || (i.has_high && std::isinf(i.high.near))) throw NotNumbers();
      out.push_back(i);
    } else {
      for (const MathAnswer& p : a.parts) {
        if (!p.name.empty()) throw NotNumbers();
        collect(p, out);
      }
    }
  }

  uint64_t seed_;
};

}  // namespace

std::optional<bool> same_numbers(const MathAnswer& a, const MathAnswer& b, uint64_t seed) {
  try {
    const NumberSets sets(seed);
    return sets.same(sets.read(a), sets.read(b));
  } catch (const NotNumbers&) {
    return {};
  }
}

}  // namespace quern::math
