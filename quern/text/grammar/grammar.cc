// Builds grammars and checks that they can be parsed.
#include "quern/text/grammar/grammar.h"

#include <algorithm>

#include "quern/base/error.h"
#include "quern/text/unicode/utf8.h"

namespace quern::text {
namespace {

constexpr char32_t kLastChar = 0x10FFFF;
using Kind = GrammarItem::Kind;

// Sequences of byte ranges that are exactly the UTF-8 of from-to, both of the same length in bytes.
void split_utf8(std::string_view from, std::string_view to, std::vector<std::pair<std::string, std::string>>& out) {
  size_t same = 0;
  while (same < from.size() && from[same] == to[same]) ++same;
  auto tail = [&](std::string_view s, char fill) {
    return std::string(s) + std::string(from.size() - s.size(), fill);
  };
  const auto at_edge = [&](std::string_view s, size_t n, char edge) {
    return s.find_first_not_of(edge, n) == s.npos;
  };
  if (same + 1 >= from.size() || (at_edge(from, same + 1, '\x80') && at_edge(to, same + 1, '\xBF'))) {
    out.emplace_back(from, to);
    return;
  }
  const std::string prefix(from.substr(0, same));
  char low = from[same], high = to[same];
  if (!at_edge(from, same + 1, '\x80')) {
    split_utf8(from, tail(prefix + low, '\xBF'), out);
    low = static_cast<char>(low + 1);
  }
  const bool rest = !at_edge(to, same + 1, '\xBF');
  if (rest) high = static_cast<char>(high - 1);
  if (static_cast<unsigned char>(low) <= static_cast<unsigned char>(high))
    out.emplace_back(tail(prefix + low, '\x80'), tail(prefix + high, '\xBF'));
  if (rest) split_utf8(tail(prefix + to[same], '\x80'), to, out);
}

}  // namespace

void CharRanges::normalize() {
  std::sort(ranges.begin(), ranges.end());
  std::vector<std::pair<char32_t, char32_t>> merged;
  for (const auto& [from, to] : ranges) {
    if (!merged.empty() && from <= merged.back().second + 1)
      merged.back().second = std::max(merged.back().second, to);
    else
      merged.emplace_back(from, to);
  }
  ranges = std::move(merged);
}

CharRanges CharRanges::negated() const {
  CharRanges sorted = *this, out;
  sorted.add(0xD800, 0xDFFF);
  sorted.normalize();
  char32_t at = 0;
  for (const auto& [from, to] : sorted.ranges) {
    if (from > at) out.add(at, from - 1);
    at = to + 1;
  }
  if (at <= kLastChar) out.add(at, kLastChar);
  return out;
}

bool CharRanges::has(char32_t c) const {
  return std::any_of(ranges.begin(), ranges.end(), [&](const auto& r) { return c >= r.first && c <= r.second; });
}

void GrammarBuilder::count(size_t elements) {
  elements_ += static_cast<int64_t>(elements);
  if (elements_ > kMaxElements) fail("the grammar has more than {} elements: repeat less", kMaxElements);
}

GrammarItem GrammarBuilder::declare(std::string name) {
  count(1);
  rules_.push_back({.name = std::move(name)});
  return {Kind::rule, static_cast<int32_t>(rules_.size()) - 1};
}

void GrammarBuilder::define(Item rule, std::vector<Sequence> choices) {
  for (const Sequence& s : choices) count(s.size() + 1);
  rules_[static_cast<size_t>(rule.index)].choices = std::move(choices);
}

GrammarItem GrammarBuilder::choice(std::vector<Sequence> choices) {
  if (choices.size() == 1 && choices[0].size() == 1) return choices[0][0];
  const Item rule = declare({});
  define(rule, std::move(choices));
  return rule;
}

GrammarItem GrammarBuilder::sequence(Sequence s) { return choice({std::move(s)}); }

GrammarItem GrammarBuilder::repeat(Item what, int64_t minimum, int64_t maximum) {
  if (minimum > kMaxRepeats || maximum > kMaxRepeats)
    fail("{} repetitions: at most {} can be counted", std::max(minimum, maximum), kMaxRepeats);
  if (maximum >= 0 && maximum < minimum) fail("repetition from {} to {}: the second is smaller", minimum, maximum);
  count(static_cast<size_t>(minimum));
  Sequence s(static_cast<size_t>(minimum), what);
  if (maximum < 0) {
    const Item rule = declare({});
    define(rule, {{what, rule}, {}});
    s.push_back(rule);
    return sequence(std::move(s));
  }
  Item rest{};
  for (int64_t i = minimum; i < maximum; ++i) {
    Sequence more{what};
    if (rest.kind != Kind::end) more.push_back(rest);
    rest = choice({std::move(more), {}});
  }
  if (rest.kind != Kind::end) s.push_back(rest);
  return sequence(std::move(s));
}

GrammarItem GrammarBuilder::bytes(const ByteSet& set) {
  const auto [it, fresh] = set_ids_.emplace(set.to_string(), static_cast<int32_t>(sets_.size()));
  if (fresh) sets_.push_back(set);
  return {Kind::bytes, it->second};
}

GrammarItem GrammarBuilder::chars(CharRanges c) {
  c.add(0xD800, 0xDFFF);  // no text has surrogates: take them out of whatever was asked for
  c = c.negated().negated();
  ByteSet ascii;
  std::vector<std::pair<std::string, std::string>> parts;
  static constexpr char32_t kLengths[] = {0x7F, 0x7FF, 0xFFFF, kLastChar};
  for (const auto& [from, to] : c.ranges) {
    for (char32_t b = from; b <= std::min<char32_t>(to, 0x7F); ++b) ascii.set(b);
    char32_t low = 0x80;
    for (int k = 1; k < 4; ++k) {
      const char32_t a = std::max(from, low), z = std::min(to, kLengths[k]);
      low = kLengths[k] + 1;
      if (a > z) continue;
      std::string first, last;
      utf8_append(first, a), utf8_append(last, z);
      split_utf8(first, last, parts);
    }
  }
  std::vector<Sequence> choices;
  if (ascii.any()) choices.push_back({bytes(ascii)});
  for (const auto& [first, last] : parts) {
    Sequence s;
    for (size_t i = 0; i < first.size(); ++i) {
      ByteSet set;
      for (int b = static_cast<unsigned char>(first[i]); b <= static_cast<unsigned char>(last[i]); ++b)
        set.set(static_cast<size_t>(b));
      s.push_back(bytes(set));
    }
    choices.push_back(std::move(s));
  }
  if (choices.empty()) fail("a set of characters is empty: nothing could ever match it");
  return choice(std::move(choices));
}

void GrammarBuilder::literal(Sequence& into, std::string_view text) {
  for (char c : text) into.push_back(bytes(ByteSet().set(static_cast<unsigned char>(c))));
}

GrammarItem GrammarBuilder::literal(std::string_view text) {
  Sequence s;
  literal(s, text);
  return sequence(std::move(s));
}

Grammar GrammarBuilder::finish(Item root) {
  Grammar g;
  const Item blank = bytes(ByteSet().set(' ').set('\n').set('\t').set('\r'));
  const Item whole = sequence({root}), spaced = declare({}), plain = declare({});
  define(spaced, {{repeat(blank, 0, 4), whole}});
  define(plain, {{whole}});
  g.root = plain.index, g.spaced_root = spaced.index;
  for (const Rule& r : rules_) {
    g.first.push_back(static_cast<int32_t>(g.starts.size()));
    for (const Sequence& s : r.choices) {
      g.starts.push_back(static_cast<int32_t>(g.items.size()));
      g.items.insert(g.items.end(), s.begin(), s.end());
      g.items.push_back({});
    }
  }
  g.first.push_back(static_cast<int32_t>(g.starts.size()));
  g.sets = sets_;
  check_ends(g);
  check_rules(g);
  return g;
}

// Which rules derive some finite text, or the empty one. A work list over "this sequence still waits
// for so many of its rules".
std::vector<bool> GrammarBuilder::derive(const Grammar& g, Derives what) const {
  const size_t n = rules_.size();
  std::vector<std::vector<int32_t>> users(n);  // rule → sequences that contain it, once per occurrence
  std::vector<int32_t> owner(g.starts.size()), waits(g.starts.size(), 0), ready;
  std::vector<bool> derived(n, false);
  auto done = [&](int32_t rule) {
    if (!derived[static_cast<size_t>(rule)]) derived[static_cast<size_t>(rule)] = true, ready.push_back(rule);
  };
  for (size_t r = 0; r < n; ++r)
    for (int32_t a = g.first[r]; a < g.first[r + 1]; ++a) {
      const auto seq = static_cast<size_t>(a);
      owner[seq] = static_cast<int32_t>(r);
      for (auto i = static_cast<size_t>(g.starts[seq]); g.items[i].kind != Kind::end; ++i) {
        if (g.items[i].kind == Kind::rule)
          ++waits[seq], users[static_cast<size_t>(g.items[i].index)].push_back(a);
        else if (what == Derives::empty)
          ++waits[seq];  // for ever
      }
      if (waits[seq] == 0) done(owner[seq]);
    }
  while (!ready.empty()) {
    const auto r = static_cast<size_t>(ready.back());
    ready.pop_back();
    for (int32_t a : users[r])
      if (--waits[static_cast<size_t>(a)] == 0) done(owner[static_cast<size_t>(a)]);
  }
  return derived;
}

void GrammarBuilder::check_ends(const Grammar& g) const {
  const size_t n = rules_.size();
  const std::vector<bool> ends = derive(g, Derives::finite);
  if (ends[static_cast<size_t>(g.root)]) return;
  for (size_t r = 0; r < n; ++r)
    if (!ends[r] && !rules_[r].name.empty())
      fail("rule '{}' can never end: every choice of it needs itself or another such rule", rules_[r].name);
  fail("the grammar can never end: every choice needs itself again");
}

// Left recursion: a cycle of calls before any byte is read. A call at the very end of its sequence keeps no place to
// return to, so a cycle of such calls alone ("a?" repeated, say) is harmless.
void GrammarBuilder::check_rules(const Grammar& g) const {
  const size_t n = rules_.size();
  const std::vector<bool> empty = derive(g, Derives::empty);
  struct Call {
    int32_t to;
    bool last;
  };
  std::vector<std::vector<Call>> calls(n);
  for (size_t r = 0; r < n; ++r)
    for (int32_t a = g.first[r]; a < g.first[r + 1]; ++a)
      for (auto i = static_cast<size_t>(g.starts[static_cast<size_t>(a)]); g.items[i].kind == Kind::rule; ++i) {
        calls[r].push_back({g.items[i].index, g.items[i + 1].kind == Kind::end});
        if (!empty[static_cast<size_t>(g.items[i].index)]) break;
      }
  // Tarjan's strongly connected components, without recursion.
  std::vector<int32_t> order(n, -1), low(n, 0), component(n, -1), open;
  std::vector<std::pair<size_t, size_t>> path;  // rule, next call
  int32_t next = 0, components = 0;
  for (size_t from = 0; from < n; ++from) {
    if (order[from] >= 0) continue;
    path.emplace_back(from, 0);
    while (!path.empty()) {
      auto& [r, at] = path.back();
      if (at == 0) order[r] = low[r] = next++, open.push_back(static_cast<int32_t>(r));
      if (at < calls[r].size()) {
        const auto to = static_cast<size_t>(calls[r][at++].to);
        if (order[to] < 0)
          path.emplace_back(to, 0);
        else if (component[to] < 0)
          low[r] = std::min(low[r], order[to]);
        continue;
      }
      const size_t done = r;
      path.pop_back();
      if (!path.empty()) low[path.back().first] = std::min(low[path.back().first], low[done]);
      if (low[done] != order[done]) continue;
      for (int32_t member = -1; member != static_cast<int32_t>(done);) {
        member = open.back();
        open.pop_back();
        component[static_cast<size_t>(member)] = components;
      }
      ++components;
    }
  }
  for (size_t r = 0; r < n; ++r)
    for (const Call& c : calls[r])
      if (component[r] == component[static_cast<size_t>(c.to)] && !c.last) {
        std::string name = rules_[r].name;
        for (size_t k = 0; name.empty() && k < n; ++k)
          if (component[k] == component[r]) name = rules_[k].name;
        fail(
            "rule '{}' is left-recursive: it calls itself before reading anything; write it with * or recurse on "
            "the right",
            name.empty() ? "(repetition)" : name);
      }
}

}  // namespace quern::text
