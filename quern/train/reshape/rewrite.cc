// The operations of a rewrite: each reads its table strictly, replaces the tensors that its pattern names, and reports
// what it did not find.
#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "quern/base/config.h"
#include "quern/train/reshape/pattern.h"
#include "quern/train/reshape/reshape.h"

namespace quern::train {
namespace {

bool is_value(const LogicalTensor& t) { return t.role == "weight" || t.role == "master"; }

// Names whose parts of shape [1] stand for the whole tensor: some role of theirs has another shape.
class CarriedWhole {
 public:
  explicit CarriedWhole(const LogicalTensors& all) {
    for (const LogicalTensor& t : all)
      if (t.source->shape() != Shape{1}) larger_.insert(t.name);
  }
  bool operator()(const LogicalTensor& t) const {
    return !is_value(t) && t.source->shape() == Shape{1} && larger_.contains(t.name);
  }

 private:
  std::set<std::string> larger_;
};

std::string label(const LogicalTensor& t) {
  return fmt::format("tensor '{}' ({}) {}", t.name, t.role, to_string(t.source->shape()));
}

int checked_axis(const LogicalTensor& t, int64_t axis, const std::string& where) {
  const auto rank = static_cast<int64_t>(t.source->shape().size());
  if (axis < -rank || axis >= rank) fail("{}, axis: {} has no axis {}", where, label(t), axis);
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

int64_t extent(const LogicalTensor& t, int axis) { return t.source->shape()[static_cast<size_t>(axis)]; }

[[noreturn]] void no_match(const LogicalTensors& all, const NamePattern& p, const std::string& where) {
  std::vector<std::string> names;
  for (const LogicalTensor& t : all) names.push_back(t.name);
  fail("{}: no tensor is named '{}'{}", where, p.text(), did_you_mean(p.text(), names));
}

int64_t number(const std::string& s, const std::string& where) {
  int64_t n = -1;
  const auto [end, e] = std::from_chars(s.data(), s.data() + s.size(), n);
  if (e != std::errc() || end != s.data() + s.size() || n < 0) fail("{}: expected a number, found '{}'", where, s);
  return n;
}

// Replaces every tensor that matches by what f(tensor, captures) gives.
template <class F>
void replace(LogicalTensors& all, const NamePattern& from, const std::string& where, F&& f) {
  LogicalTensors out;
  bool any = false;
  for (LogicalTensor& t : all) {
    const auto c = from.match(t.name);
    if (!c) {
      out.push_back(std::move(t));
      continue;
    }
    any = true;
    for (LogicalTensor& made : f(t, *c)) out.push_back(std::move(made));
  }
  all = std::move(out);
  if (!any) no_match(all, from, where);
}

using Captures = NamePattern::Captures;

struct Rename {
  std::string from, to;
  template <class V>
  void visit(V& v) {
    v("from", from), v("to", to);
  }
  void apply(LogicalTensors& all, const std::string& where) const {
    const NamePattern p(from, where), q(to, where);
    replace(all, p, where, [&](LogicalTensor& t, const Captures& c) {
      return LogicalTensors{{q.fill(c), t.role, t.source}};
    });
  }
};

struct Drop {
  std::string from;
  template <class V>
  void visit(V& v) {
    v("from", from);
  }
  void apply(LogicalTensors& all, const std::string& where) const {
    replace(all, NamePattern(from, where), where, [](LogicalTensor&, const Captures&) { return LogicalTensors{}; });
  }
};

struct Split {
  std::string from;
  int64_t axis = 0;
  std::vector<std::string> to;
  std::vector<int64_t> sizes;  // empty: equal
  template <class V>
  void visit(V& v) {
    v("from", from), v("axis", axis), v("to", to), v("sizes", sizes);
  }
  void apply(LogicalTensors& all, const std::string& where) const {
    if (to.empty()) fail("{}, to: expected the names of the parts", where);
    if (!sizes.empty() && sizes.size() != to.size())
      fail("{}, sizes: {} sizes for {} parts", where, sizes.size(), to.size());
    const CarriedWhole whole(all);
    replace(all, NamePattern(from, where), where, [&](LogicalTensor& t, const Captures& c) {
      LogicalTensors out;
      const bool carried = whole(t);
      const int a = carried ? 0 : checked_axis(t, axis, where);
      const auto parts = static_cast<int64_t>(to.size());
      if (!carried && sizes.empty() && extent(t, a) % parts != 0)
        fail("{}: {} does not split into {} equal parts along axis {}", where, label(t), parts, axis);
      int64_t at = 0;
      for (size_t i = 0; i < to.size(); ++i) {
        const std::string name = NamePattern(to[i], where).fill(c);
        if (carried) {
          out.push_back({name, t.role, t.source});
          continue;
        }
        Shape offset(t.source->shape().size(), 0), shape = t.source->shape();
        const int64_t n = sizes.empty() ? extent(t, a) / parts : sizes[i];
        if (n < 0 || n > extent(t, a) - at) fail("{}, sizes: {} is too short along axis {}", where, label(t), axis);
        offset[static_cast<size_t>(a)] = at, shape[static_cast<size_t>(a)] = n;
        at += n;
        out.push_back({name, t.role, box_of(t.source, std::move(offset), std::move(shape))});
      }
      if (!carried && at != extent(t, a))
        fail("{}, sizes: their sum is {}, {} has {} along axis {}", where, at, label(t), extent(t, a), axis);
      return out;
    });
  }
};

// The one value of parts that were carried whole.
Source agreed(const LogicalTensors& parts, const std::string& where) {
  const Tensor first = read_all(*parts[0].source);
  for (const LogicalTensor& p : parts) {
    const Tensor t = read_all(*p.source);
    if (t.dtype() != first.dtype() || t.item() != first.item())
      fail("{}: {} and {} differ, but become one", where, label(parts[0]), label(p));
  }
  return parts[0].source;
}

void check_alike(const LogicalTensors& parts, int except, const std::string& where) {
  for (const LogicalTensor& p : parts) {
    Shape a = p.source->shape(), b = parts[0].source->shape();
    const bool ranks = a.size() == b.size();
    if (ranks && except >= 0) a[static_cast<size_t>(except)] = b[static_cast<size_t>(except)] = 0;
    if (!ranks || a != b || p.source->dtype() != parts[0].source->dtype())
      fail("{}: {} of {} and {} of {} do not fit together", where, label(parts[0]),
           dtype_name(parts[0].source->dtype()), label(p), dtype_name(p.source->dtype()));
  }
}

struct Concat {
  std::vector<std::string> from;
  int64_t axis = 0;
  std::string to;
  template <class V>
  void visit(V& v) {
    v("from", from), v("axis", axis), v("to", to);
  }
  void apply(LogicalTensors& all, const std::string& where) const {
    if (from.empty()) fail("{}, from: expected the names of the parts", where);
    const CarriedWhole whole(all);
    std::map<std::pair<std::string, std::string>, const LogicalTensor*> known;
    for (const LogicalTensor& t : all) known[{t.name, t.role}] = &t;
    std::set<std::pair<std::string, std::string>> used;
    LogicalTensors copy = all;
    replace(copy, NamePattern(from[0], where), where, [&](LogicalTensor& first, const Captures& c) {
      LogicalTensors parts;
      for (const std::string& f : from) {
        const std::string name = NamePattern(f, where).fill(c);
        const auto it = known.find({name, first.role});
        if (it == known.end()) fail("{}: '{}' has no matching tensor '{}' ({})", where, first.name, name, first.role);
        parts.push_back(*it->second);
        used.insert(it->first);
      }
      // Named apart for now: the result may take the name of one of its parts.
      const std::string name = '\0' + NamePattern(to, where).fill(c);
      if (whole(parts[0])) return LogicalTensors{{name, first.role, agreed(parts, where)}};
      const int a = checked_axis(parts[0], axis, where);
      check_alike(parts, a, where);
      std::vector<Source> sources;
      for (const LogicalTensor& p : parts) sources.push_back(p.source);
      return LogicalTensors{{name, first.role, concatenated(std::move(sources), a)}};
    });
    std::erase_if(copy, [&](const LogicalTensor& t) { return used.contains({t.name, t.role}); });
    for (LogicalTensor& t : copy)
      if (t.name[0] == '\0') t.name.erase(0, 1);
    all = std::move(copy);
  }
};

struct Permute {
  std::string from;
  std::vector<int64_t> axes;
  template <class V>
  void visit(V& v) {
    v("from", from), v("axes", axes);
  }
  void apply(LogicalTensors& all, const std::string& where) const {
    const CarriedWhole whole(all);
    replace(all, NamePattern(from, where), where, [&](LogicalTensor& t, const Captures&) {
      if (whole(t)) return LogicalTensors{t};
      std::vector<int64_t> sorted = axes;
      std::sort(sorted.begin(), sorted.end());
      bool good = sorted.size() == t.source->shape().size();
      for (size_t d = 0; good && d < sorted.size(); ++d) good = sorted[d] == static_cast<int64_t>(d);
      if (!good)
        fail("{}, axes: [{}] is not a permutation of the axes of {}", where, fmt::join(axes, ", "), label(t));
      return LogicalTensors{{t.name, t.role, permuted(t.source, axes)}};
    });
  }
};

struct Stack {
  std::string from, over, to;
  int64_t axis = 0;
  template <class V>
  void visit(V& v) {
    v("from", from), v("over", over), v("to", to), v("axis", axis);
  }
};
struct StackOp : Stack {
  void apply(LogicalTensors& all, const std::string& where) const { stack(all, from, over, to, axis, where); }
};
struct UnstackOp : Stack {
  void apply(LogicalTensors& all, const std::string& where) const { unstack(all, from, over, to, axis, where); }
};

struct Layers {
  std::string prefix;
  std::vector<int64_t> plan;
  template <class V>
  void visit(V& v) {
    v("prefix", prefix), v("plan", plan);
  }
  void apply(LogicalTensors& all, const std::string& where) const {
    const NamePattern p(prefix + "{*}", where);
    if (!p.has("i")) fail("{}, prefix: '{}' lacks {{i}}, the layer's number", where, prefix);
    std::map<int64_t, std::vector<std::pair<Captures, LogicalTensor>>> layers;
    LogicalTensors out;
    size_t place = 0;
    for (const LogicalTensor& t : all) {
      const auto c = p.match(t.name);
      if (!c) {
        out.push_back(t);
        continue;
      }
      if (layers.empty()) place = out.size();
      layers[number(c->at("i"), where + ", {i}")].emplace_back(*c, t);
    }
    if (layers.empty()) no_match(all, p, where);
    LogicalTensors made;
    for (size_t j = 0; j < plan.size(); ++j) {
      const auto from = layers.find(plan[j]);
      if (from == layers.end()) fail("{}, plan: there is no layer {}", where, plan[j]);
      for (auto [c, t] : from->second) {
        c["i"] = std::to_string(j);
        made.push_back({p.fill(c), t.role, t.source});
      }
    }
    out.insert(out.begin() + static_cast<std::ptrdiff_t>(place), made.begin(), made.end());
    all = std::move(out);
  }
};

struct Upcycle {
  std::string from;
  int64_t axis = 0, times = 0, seed = 0;
  std::vector<int64_t> index;
  double noise = 0;
  template <class V>
  void visit(V& v) {
    v("from", from), v("axis", axis), v("times", times), v("index", index), v("noise", noise), v("seed", seed);
  }
  void apply(LogicalTensors& all, const std::string& where) const {
    if (index.empty() == (times == 0)) fail("{}: expected either times or index", where);
    if (times < 0) fail("{}, times: expected 1 or more, found {}", where, times);
    const CarriedWhole whole(all);
    replace(all, NamePattern(from, where), where, [&](LogicalTensor& t, const Captures&) {
      if (whole(t)) return LogicalTensors{{t.name, t.role, zeros(t.source->shape(), t.source->dtype())}};
      const int a = checked_axis(t, axis, where);
      std::vector<int64_t> slices = index;
      for (int64_t i = 0; i < times * extent(t, a); ++i) slices.push_back(i % extent(t, a));
      std::set<int64_t> seen;
      std::vector<bool> clone;
      for (int64_t i : slices) {
        if (i < 0 || i >= extent(t, a)) fail("{}, index: {} has no slice {} along axis {}", where, label(t), i, axis);
        clone.push_back(!seen.insert(i).second);
      }
      uint64_t stream = static_cast<uint64_t>(seed);
      for (char c : t.name) stream = stream * 1099511628211ull + static_cast<uint8_t>(c);
      Source s = gathered(t.source, a, slices);
      if (!is_value(t))
        s = zeros(s->shape(), s->dtype());
      else if (noise != 0)
        s = noisy(s, a, clone, noise, stream);
      return LogicalTensors{{t.name, t.role, std::move(s)}};
    });
  }
};

struct Resize {
  std::string from, fill = "mean";
  int64_t axis = 0, size = -1;
  template <class V>
  void visit(V& v) {
    v("from", from), v("axis", axis), v("size", size), v("fill", fill);
  }
  void apply(LogicalTensors& all, const std::string& where) const {
    if (size < 0) fail("{}, size: expected the new extent", where);
    if (fill != "mean" && fill != "zero") fail("{}, fill: expected mean or zero, found '{}'", where, fill);
    const CarriedWhole whole(all);
    replace(all, NamePattern(from, where), where, [&](LogicalTensor& t, const Captures&) {
      if (whole(t)) return LogicalTensors{t};
      const int a = checked_axis(t, axis, where);
      Shape shape = t.source->shape();
      const int64_t more = size - extent(t, a);
      shape[static_cast<size_t>(a)] = more > 0 ? more : size;
      if (more <= 0) return LogicalTensors{{t.name, t.role, box_of(t.source, Shape(shape.size(), 0), shape)}};
      const Source added =
          fill == "mean" && is_value(t) ? mean_along(t.source, a, more) : zeros(shape, t.source->dtype());
      return LogicalTensors{{t.name, t.role, concatenated({t.source, added}, a)}};
    });
  }
};

template <class Op>
void run(LogicalTensors& all, const Json& fields, const std::string& where) {
  Op op;
  from_json(fields, op, where, UnknownKeys::refuse);
  op.apply(all, where);
}

using Apply = void (*)(LogicalTensors&, const Json&, const std::string&);
constexpr std::pair<const char*, Apply> kOperations[] = {
    {"rename", run<Rename>},   {"drop", run<Drop>},     {"split", run<Split>},       {"concat", run<Concat>},
    {"permute", run<Permute>}, {"stack", run<StackOp>}, {"unstack", run<UnstackOp>}, {"layers", run<Layers>},
    {"upcycle", run<Upcycle>}, {"resize", run<Resize>},
};

}  // namespace

void stack(LogicalTensors& all, const std::string& from, const std::string& over, const std::string& to, int64_t axis,
           const std::string& where) {
  const NamePattern p(from, where), q(to, where);
  if (!p.has(over)) fail("{}, from: '{}' lacks {{{}}}", where, from, over);
  const CarriedWhole whole(all);
  std::map<std::pair<std::string, std::string>, std::map<int64_t, LogicalTensor>> groups;
  replace(all, p, where, [&](LogicalTensor& t, const Captures& c) {
    auto& group = groups[{q.fill(c), t.role}];
    const bool first = group.empty();
    group.emplace(number(c.at(over), where + ", {" + over + "}"), t);
    return first ? LogicalTensors{{q.fill(c), t.role, nullptr}} : LogicalTensors{};
  });
  for (LogicalTensor& t : all) {
    if (t.source) continue;
    LogicalTensors parts;
    for (auto& [i, part] : groups.at({t.name, t.role})) {
      if (i != static_cast<int64_t>(parts.size()))
        fail("{}: '{}' ({}): part {} is missing", where, t.name, t.role, parts.size());
      parts.push_back(std::move(part));
    }
    check_alike(parts, -1, where);
    if (whole(parts[0])) {
      t.source = agreed(parts, where);
      continue;
    }
    const auto rank = static_cast<int64_t>(parts[0].source->shape().size());
    if (axis < 0 || axis > rank) fail("{}, axis: expected 0…{}, found {}", where, rank, axis);
    std::vector<Source> sources;
    for (const LogicalTensor& part : parts) sources.push_back(with_axis(part.source, static_cast<int>(axis)));
    t.source = concatenated(std::move(sources), static_cast<int>(axis));
  }
}

void unstack(LogicalTensors& all, const std::string& from, const std::string& over, const std::string& to,
             int64_t axis, const std::string& where) {
  const NamePattern p(from, where), q(to, where);
  if (!q.has(over)) fail("{}, to: '{}' lacks {{{}}}", where, to, over);
  const CarriedWhole whole(all);
  std::map<std::string, int64_t> extents;  // by name: carried parts follow the others
  for (const LogicalTensor& t : all)
    if (p.match(t.name) && !whole(t)) extents[t.name] = extent(t, checked_axis(t, axis, where));
  replace(all, p, where, [&](LogicalTensor& t, Captures c) {
    LogicalTensors out;
    const int a = whole(t) ? 0 : checked_axis(t, axis, where);
    if (!whole(t) && extent(t, a) != extents.at(t.name)) fail("{}: the roles of '{}' differ in shape", where, t.name);
    for (int64_t i = 0; i < extents.at(t.name); ++i) {
      c[over] = std::to_string(i);
      out.push_back({q.fill(c), t.role, whole(t) ? t.source : without_axis(t.source, a, i)});
    }
    return out;
  });
}

void rewrite(LogicalTensors& all, const Json& operations, const nn::Registry& registry, const std::string& where) {
  std::vector<std::string> names;
  for (const auto& [name, apply] : kOperations) names.push_back(name);
  for (const std::string& family : registry.layouts.names()) names.push_back(family);
  int64_t n = 0;
  for (const Json& table : operations.as_array(where + ", rewrite")) {
    const std::string place = fmt::format("{}, rewrite {}", where, ++n);
    const std::string op = table.at("op", place).as_string(place + ", op");
    const auto known = std::find(names.begin(), names.end(), op);
    if (known == names.end())
      fail("{}, op: expected one of {}, found '{}'{}", place, fmt::join(names, ", "), op, did_you_mean(op, names));
    const std::string what = fmt::format("{} ({})", place, op);
    Json fields = table;
    fields.erase("op");
    if (const auto i = static_cast<size_t>(known - names.begin()); i < std::size(kOperations))
      kOperations[i].second(all, fields, what);
    else
      change_layout(all, registry, op, fields, what);
    std::set<std::pair<std::string, std::string>> seen;
    for (const LogicalTensor& t : all)
      if (!seen.emplace(t.name, t.role).second)
        fail("{}: gives two tensors the name '{}' ({})", what, t.name, t.role);
  }
}

}  // namespace quern::train
